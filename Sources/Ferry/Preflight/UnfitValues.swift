internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The values that attributes and relationships of a step's newer version need and do not get, or cannot take.
struct UnfitValues {
    typealias Finding = (question: ValueChecks.Question, count: ReadValues.Count)

    /// The store that the step reads, as `main`, and its layout.
    let connection: Connection
    let layout: StoreLayout
    let step: StepPlan
    let named: NamedStep
    /// Longer values are not read.
    let longestValue: Int
    /// The time for expressions that ask for it.
    let now: Double

    private var model: ManagedObjectModel { step.resolved.destination.model }

    /// What an entity mapping finds; plain columns of all rows are counted elsewhere.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if a filter or an iteration fails; ``DatabaseError``.
    func findings(of mapping: ResolvedEntityMapping, validity: Bool) throws -> [Finding] {
        var checks = try ValueChecks(of: mapping, in: layout, now: now)
        for rule in mapping.attributes {
            guard let attribute = model.attribute(rule.name, of: mapping.destination) else { continue }
            let isCounted =
                mapping.readsEveryObject && (rule.expression?.sourceKeys != nil || rule.leavesEmpty(attribute))
            try checks.ask(about: rule, attribute, emptiness: !isCounted, validity: validity)
        }
        try askAboutRelationships(of: mapping, &checks)
        return try answers(of: checks)
    }

    /// The answers; none if a value is too large to be read.
    func answers(of checks: ValueChecks) throws -> [Finding] {
        do {
            return try checks.findings(on: connection, longestValue: longestValue)
        } catch let error as DatabaseError where error.isTooBig {
            return []
        }
    }

    /// A mapping that Core Data infers leaves such objects to the app's next save.
    private func askAboutRelationships(
        of mapping: ResolvedEntityMapping, _ checks: inout ValueChecks
    ) throws(FerryError) {
        guard !step.resolved.mappingModels[mapping.mappingModel].isInferred, mapping.unique.isEmpty else { return }
        for relationship in model.relationships(of: mapping.destination)
        where !relationship.isToMany && !relationship.isOptional && !relationship.isTransient {
            let rule = mapping.relationships.first { $0.name == relationship.name }
            if rule == nil, isSetByInverse(relationship, of: mapping) { continue }
            let old = rule?.isAutomatic == true ? rule?.sourceRelationship : nil
            // What the older version requires, too, is damage that stays.
            let wasMandatory = old.flatMap { layout.model.relationship($0, of: mapping.source) }?.isOptional == false
            try checks.ask(
                about: relationship.name, rule,
                to: (rule?.mappings ?? []).compactMap { step.resolved.entityMapping(named: $0) },
                linked: wasMandatory && mapping.keepsPrimaryKey)
        }
    }

    private func isSetByInverse(_ relationship: Relationship, of mapping: ResolvedEntityMapping) -> Bool {
        guard let inverse = model.inverse(of: relationship) else { return false }
        return step.resolved.entityMappings.contains { $0.rule(inverse.name, to: mapping) != nil }
    }

    /// The refusals of the objects that get no mandatory value, at the beginning of a step.
    func refusals() throws -> [FerryError] {
        try step.resolved.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
            try findings(of: mapping, validity: false).compactMap { question, count in
                isDamage(question, mapping) ? nil : named.refusal(of: question, count, in: mapping)
            }
        }
    }

    /// Whether the older version requires the value, too.
    func isDamage(_ question: ValueChecks.Question, _ mapping: ResolvedEntityMapping) -> Bool {
        question.problem == .empty && damagedValue(question, mapping) != nil
    }

    func damagedValue(
        _ question: ValueChecks.Question, _ mapping: ResolvedEntityMapping
    ) -> ResolvedStep.MandatoryValue? {
        guard question.problem == .empty, mapping.iteration == nil, let source = question.source else { return nil }
        return step.resolved.values(neededBy: mapping).first { $0.source == source }
    }
}

extension Preflight {
    /// Finds values that attributes and relationships of the next version need and do not get, or cannot take.
    mutating func findUnfitValues() throws {
        let values = UnfitValues(
            connection: connection, layout: layout, step: step, named: named,
            longestValue: EngineOptions(limitsOf: configuration).wholeValueBytes, now: now)
        for mapping in step.resolved.entityMappings where mapping.policy == nil {
            guard planned.rows[mapping.source, default: 0] > 0, let table = layout.table(of: mapping.source) else {
                continue
            }
            do {
                for finding in try values.findings(of: mapping, validity: true) {
                    treat(finding, of: mapping, in: table.name, values)
                }
            } catch let error as FerryError where error.code == .rowFailed {
                refusals.append(failure(error, of: mapping))
            }
        }
    }

    private mutating func treat(
        _ finding: UnfitValues.Finding, of mapping: ResolvedEntityMapping, in table: String, _ values: UnfitValues
    ) {
        let (question, count) = finding
        if question.problem == .leftEmpty { return noteLeftEmpty(question.property, of: mapping, rows: count.rows) }
        if let value = values.damagedValue(question, mapping) {
            // Objects that are left out are counted there.
            if planned.checks(table), configuration.damaged != .drop {
                treat(value, of: mapping, rows: count.rows, key: count.keys.first)
            }
            return
        }
        if let refusal = values.named.refusal(of: question, count, in: mapping) { refusals.append(refusal) }
    }

    /// Notes the loss of values that `onInvalid` leaves out.
    private mutating func noteLeftEmpty(_ attribute: String, of mapping: ResolvedEntityMapping, rows: Int64) {
        let type = step.resolved.destination.model.attribute(attribute, of: mapping.destination)?.type.sourceName
        noteLoss(
            mapping.source, step.sourceAttribute(of: attribute, in: mapping), rows: rows,
            because: "not a value of \(mapping.destination).\(attribute)\(type.map { " (\($0))" } ?? "")")
    }

    /// The refusal of a filter or an iteration that fails.
    private func failure(_ error: FerryError, of mapping: ResolvedEntityMapping) -> FerryError {
        let part = mapping.iteration == nil ? "`where`" : "`forEach` or `where`"
        return FerryError(
            .invalidValue,
            "The \(part) of entity mapping \"\(mapping.name)\" fails on an object of \(mapping.source): \(error.message)",
            remedy: error.remedy, place: .init(entityMapping: mapping.name, entity: mapping.destination))
    }
}

extension StepPlan {
    /// The only source attribute that the expression of an attribute reads; nil if it reads others.
    fileprivate func sourceAttribute(of attribute: String, in mapping: ResolvedEntityMapping) -> String? {
        var names: Set<String> = []
        func add(_ expression: Expression) {
            if let name = expression.fromSource.sourceKeys { names.insert(name) } else { expression.parts.forEach(add) }
        }
        mapping.attributes.first { $0.name == attribute }?.expression.map(add)
        let known = names.filter { resolved.source.model.attribute($0, of: mapping.source) != nil }
        return known.count == 1 ? known.first : nil
    }
}
