internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What stands in the way of the steps after the first, as far as the store's own rows tell.
///
/// Rows that every earlier step takes over one by one are known beforehand, and so are attributes that are taken over as
/// they are. What only an expression, a filter or a found object can tell is asked when the step begins.
struct LaterStepsPreflight {
    let plan: MigrationPlan
    /// The store's actual layout.
    let layout: StoreLayout
    let connection: Connection
    /// Names of objects that the first step leaves out.
    let dropping: Set<String>
    /// Has counted rows without a value.
    let walk: PageWalk?

    private typealias Value = MappingResolution.UniquenessCheck.Value
    private typealias Path = [(step: Int, mapping: ResolvedEntityMapping)]
    private typealias Source = MappingResolution.UniquenessCheck.Source

    func refusals() throws -> [FerryError] {
        guard plan.steps.count > 1 else { return [] }
        var refusals = try refusalsOfObjects() + refusalsOfTriggers()
        for (index, step) in plan.steps.enumerated().dropFirst() {
            // What only counts of rows decide.
            if let rows = step.sourceRows {
                let known = RowChecks(connection: connection, layout: layout, rows: rows, step: step, walk: walk)
                refusals += known.valuesWithoutSource().refusals + known.rowsOfAbstractEntities()
            }
            guard let first = plan.steps.first?.sourceRows else { break }
            let checks = RowChecks(connection: connection, layout: layout, rows: first, step: step, walk: walk)
            refusals += try checks.emptyValues { try emptyRows($0, of: $1, before: index, checks) }
            refusals += try valuesMissingOnTheWay(step, index, checks)
            refusals += try checks.duplicates(step.needsUniqueValues.compactMap { traced($0, index) })
        }
        return refusals
    }

    /// What a later step cannot lay out with the triggers that the first one carries over as they are.
    private func refusalsOfTriggers() -> [FerryError] {
        let refusals = plan.steps.map {
            StoreLayout.refusals(for: $0.resolved.destination.model, foundTriggers: .of(layout))
        }
        // The first step that is refused says it; for the first of all others look.
        guard refusals.first?.isEmpty == true else { return [] }
        return refusals.first { !$0.isEmpty } ?? []
    }

    /// Objects of the app's, and records in CloudKit, that come through the first step and through no later one.
    private func refusalsOfObjects() throws -> [FerryError] {
        guard let first = plan.steps.first,
            plan.steps.allSatisfy({
                StoreLayout.refusals(for: $0.resolved.destination.model, foundTriggers: .assumed).isEmpty
            })
        else { return [] }
        let appObjects = try AppObjects(
            of: layout, into: StoreLayout.canonical(for: first.resolved.destination.model, foundTriggers: .assumed),
            on: connection,
            dropping: dropping, inPlace: first.mode == .inPlace)
        guard appObjects.refusals.isEmpty else { return [] }
        return try plan.steps.dropFirst().flatMap { step in
            let mirroring = appObjects.mirroring.flatMap { MirroringRefusal.find($0, step.resolved) }
            return [mirroring].compactMap { $0 }
                + appObjects.refusals(
                    from: try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed),
                    into: try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed))
        }
    }

    /// Rows of the store in which what becomes an attribute is empty, as far as they tell.
    private func emptyRows(
        _ attribute: String, of entity: String, before index: Int, _ checks: RowChecks
    ) throws -> Int64 {
        try (paths(to: entity, before: index) ?? []).reduce(0) { sum, path in
            guard let origin = trace(attribute, along: path), origin.defaultValue == nil else { return sum }
            let first = path.first?.mapping.source ?? entity
            guard let attribute = origin.attribute else { return sum + (checks.rows[first] ?? 0) }
            return try sum + checks.emptyRows(attribute, of: first)
        }
    }

    /// What versions ask for that a composed step passes over.
    private func valuesMissingOnTheWay(_ step: StepPlan, _ index: Int, _ checks: RowChecks) throws -> [FerryError] {
        try step.needsValues.compactMap { check in
            let empty = try emptyRows(check.sourceAttribute, of: check.source, before: index, checks)
            return empty > 0 ? check.problem(rows: empty) : nil
        }
    }

    /// The same constraint over the store's own rows; nil where they do not tell.
    private func traced(
        _ check: MappingResolution.UniquenessCheck, _ index: Int
    ) -> MappingResolution.UniquenessCheck? {
        var traced = check
        traced.sources = []
        for source in check.sources {
            guard let paths = paths(to: source.entity, before: index) else { return nil }
            for path in paths {
                var values: [Value] = []
                for value in source.values {
                    guard let attribute = value.attribute else {
                        values.append(value)
                        continue
                    }
                    guard var origin = trace(attribute, along: path) else { return nil }
                    origin.defaultValue = origin.defaultValue ?? value.defaultValue
                    values.append(origin)
                }
                traced.sources.append(Source(entity: path.first?.mapping.source ?? source.entity, values: values))
            }
        }
        // An entity that is new on the way has no rows yet.
        return traced.sources.isEmpty ? nil : traced
    }

    // MARK: Tracing

    /// The mappings, one per step, over which the store's objects become those of an entity; nil where not all of an
    /// entity's objects go along.
    private func paths(to entity: String, before index: Int) -> [Path]? {
        guard index > 0 else { return [[]] }
        var found: [Path] = []
        for mapping in plan.steps[index - 1].resolved.entityMappings where mapping.destination == entity {
            guard mapping.filter == nil, mapping.iteration == nil, mapping.unique.isEmpty, mapping.policy == nil,
                let before = paths(to: mapping.source, before: index - 1)
            else { return nil }
            found += before.map { $0 + [(index - 1, mapping)] }
        }
        return found
    }

    /// The store's attribute, or the default value, that an attribute has after the steps of a path; nil where it is
    /// computed.
    private func trace(_ attribute: String, along path: Path) -> Value? {
        var name = attribute
        var substitute: DefaultValue?
        for (index, mapping) in path.reversed() {
            guard let resolved = mapping.attributes.first(where: { $0.name == name }) else { return nil }
            switch resolved.expression {
            case nil:
                let model = plan.steps[index].resolved.destination.model
                return Value(
                    attribute: nil,
                    defaultValue: substitute ?? model.attribute(name, of: mapping.destination)?.defaultValue)
            case .predefined("ifnil:then:", let operands)?:
                guard operands.count == 2, let source = operands[0].sourceKey,
                    case .constant(let constant) = operands[1]
                else { return nil }
                name = source
                substitute = substitute ?? DefaultValue(constant)
            case let expression?:
                guard let source = expression.sourceKey else { return nil }
                name = source
            }
        }
        return Value(attribute: name, defaultValue: substitute)
    }
}

extension DefaultValue {
    fileprivate init?(_ constant: Expression.Constant) {
        switch constant {
        case .null: return nil
        case .boolean(let flag): self = .integer(flag ? 1 : 0)
        case .integer(let integer): self = .integer(integer)
        case .double(let double): self = .real(double)
        case .string(let string): self = .text(string)
        }
    }
}
