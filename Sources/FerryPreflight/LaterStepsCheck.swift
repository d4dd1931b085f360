internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The refusals of the steps after the first that follow from the store's own rows.
///
/// Preflight knows what follows from an object's own attributes: values, filters, and the elements of the first step.
/// The step itself checks requirements that depend on related objects, a found object or code, when it begins.
struct LaterStepsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    private var plan: MigrationPlan { input.plan }

    mutating func check() throws {
        guard plan.steps.count > 1, plan.refusedSteps.isEmpty else { return }
        var refusals = try refusalsOfObjects() + refusalsOfTriggers()
        for (index, step) in plan.steps.enumerated().dropFirst() {
            refusals += try refusalsOfCounts(of: index)
            guard let first = plan.steps.first?.sourceRows else { break }
            let checks = input.rowChecks(ofStep: index, rows: first)
            refusals += try unfitValues(of: index, checks)
            refusals += try checks.duplicates(step.needsUniqueValues.compactMap { traced($0, index) })
        }
        findings.refusals += refusals
    }

    /// The refusals that counts of rows tell, where the store's rows show how many a step reads.
    func refusalsOfCounts() throws -> [FerryError] {
        plan.refusedSteps.isEmpty ? try plan.steps.indices.dropFirst().flatMap(refusalsOfCounts) : []
    }

    private func refusalsOfCounts(of index: Int) throws -> [FerryError] {
        guard let rows = plan.steps[index].sourceRows else { return [] }
        return try input.rowChecks(ofStep: index, rows: rows).refusalsOfCounts(withKeys: false)
    }

    /// The triggers that the first step carries over unchanged and a later step cannot lay out.
    private func refusalsOfTriggers() -> [FerryError] {
        let refusals = plan.steps.map {
            StoreLayout.refusals(for: $0.resolved.destination.model, foundTriggers: .of(layout))
        }
        // The first step's own preflight reports its refusals.
        guard refusals.first?.isEmpty == true else { return [] }
        return refusals.first { !$0.isEmpty } ?? []
    }

    /// Objects of the app, and records in CloudKit, that the first step carries and a later one cannot.
    private func refusalsOfObjects() throws -> [FerryError] {
        guard let first = plan.steps.first,
            plan.steps.allSatisfy({
                StoreLayout.refusals(for: $0.resolved.destination.model, foundTriggers: .assumed).isEmpty
            })
        else { return [] }
        let appObjects = try AppObjects(
            of: layout, into: StoreLayout.canonical(for: first.resolved.destination.model, foundTriggers: .assumed),
            on: connection, dropping: options.dropping, inPlace: first.mode == .inPlace)
        guard appObjects.refusals.isEmpty else { return [] }
        return try plan.steps.dropFirst().flatMap { step in
            let mirroring = appObjects.mirroring.flatMap { MirroringRefusal.find($0, step.resolved) }
            return [mirroring, input.refusalOfChangedFields(appObjects, by: step.resolved)].compactMap { $0 }
                + appObjects.refusals(
                    from: try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed),
                    into: try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed))
        }
    }

    /// The check on the store's own rows; nil if they do not show the values.
    private func traced(
        _ check: MappingResolution.UniquenessCheck, _ index: Int
    ) -> MappingResolution.UniquenessCheck? {
        guard check.isKnown else { return nil }
        var traced = check
        traced.mappings = []
        for mapping in check.mappings {
            for way in waysBack(of: mapping, before: index) {
                guard let way else { return nil }
                traced.mappings.append(way)
            }
        }
        return traced.isKnown ? traced : nil
    }

    /// The new uniqueness constraints that the store's own rows do not prove.
    func untoldConstraints() -> [String] {
        plan.steps.enumerated().flatMap { index, step in
            step.needsUniqueValues.filter { index == 0 ? !$0.isKnown : traced($0, index) == nil }
                .flatMap { check in check.names.map { "\(check.entity).\($0)" } }
        }
    }

    // MARK: Values

    /// The values of a later step that its version does not take, by the store's own objects.
    private func unfitValues(of index: Int, _ checks: RowChecks) throws -> [FerryError] {
        let step = plan.steps[index]
        let model = step.resolved.destination.model
        var refusals: [FerryError] = []
        for mapping in step.resolved.entityMappings where mapping.policy == nil {
            // What was mandatory before, the earlier steps have required.
            let known = Set(step.resolved.values(neededBy: mapping).map(\.destination))
            for case let origin? in waysBack(of: mapping, before: index)
            where !origin.fetches && checks.rows[origin.source, default: 0] > 0
                && layout.table(of: origin.source) != nil
            {
                var questions = try ValueChecks(of: origin, in: layout, now: options.now)
                for rule in origin.attributes {
                    guard let attribute = model.attribute(rule.name, of: mapping.destination) else { continue }
                    let isCounted = mapping.readsEveryObject && rule.leavesEmpty(attribute)
                    try questions.ask(
                        about: rule, attribute, emptiness: !isCounted && !known.contains(rule.name))
                }
                refusals += try checks.answers(of: questions).compactMap { checks.refusal(of: $0, $1, in: origin) }
            }
        }
        return refusals
    }

    /// The mapping, as if it read the objects of the store, by each way of the earlier steps, without attributes that the
    /// store does not tell; nil for each way whose objects it does not tell.
    private func waysBack(of mapping: ResolvedEntityMapping, before index: Int) -> [ResolvedEntityMapping?] {
        guard index > 0 else { return [mapping] }
        let step = plan.steps[index - 1].resolved
        return step.entityMappings.filter { $0.destination == mapping.source }.flatMap { earlier in
            guard earlier.policy == nil, earlier.unique.isEmpty,
                let origin = OriginOfValues(
                    earlier: earlier, source: step.source.model, model: step.destination.model
                ).origin(of: mapping)
            else { return [ResolvedEntityMapping?.none] }
            return waysBack(of: origin, before: index - 1)
        }
    }

    /// The attributes of later steps that may lack a mandatory value, or not take one, and that the store does not tell.
    func untoldValues() -> [String] {
        plan.steps.indices.dropFirst().flatMap { index in
            let step = plan.steps[index].resolved
            return step.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
                let names = step.uncertainValues(of: mapping).filter(mapping.isGivenByEach)
                guard !names.isEmpty else { return [String]() }
                let ways = waysBack(of: mapping, before: index)
                return names.filter { name in
                    ways.contains { way in
                        way?.fetches != false
                            || way?.attributes.contains { $0.name == name && $0.expression?.fetches != true } != true
                    }
                }.map { "\(mapping.destination).\($0)" }
            }
        }
    }
}
