internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The requirements of a step on the rows that it reads.
struct RowChecks {
    /// The store that the step reads, as `main`.
    let connection: Connection
    let layout: StoreLayout
    /// The counted rows of exactly each entity.
    let rows: [String: Int64]
    let step: StepPlan
    var walk: PageWalk?

    static func areNeeded(by step: StepPlan) -> Bool {
        !step.needsRowCheck.isEmpty || !step.needsEmptySource.isEmpty || !step.needsUniqueValues.isEmpty
            || !step.needsValues.isEmpty
            || step.resolved.entityMappings.contains { mapping in
                mapping.readsEveryObject
                    && step.resolved.mandatoryValues(of: mapping).contains(where: \.wasOptional)
            }
    }

    /// Mandatory attributes that an entity mapping gives no value at all.
    func valuesWithoutSource() -> (refusals: [FerryError], warnings: [FerryWarning]) {
        var refusals: [FerryError] = []
        var warnings: [FerryWarning] = []
        for check in step.needsRowCheck {
            guard rows[check.source, default: 0] > 0 else { continue }
            if check.isConditional {
                let place = check.problem.place
                warnings.append(
                    FerryWarning(
                        .mandatoryValue,
                        "\(check.problem.message) The first object that it creates will stop the migration.",
                        about: .init(
                            entity: place.entity, property: place.property, entityMapping: place.entityMapping)))
            } else {
                refusals.append(check.problem)
            }
        }
        return (refusals, warnings)
    }

    /// Optional attributes that a mandatory attribute takes over and that are empty in some row, counted by a function.
    func emptyValues(_ count: (_ attribute: String, _ entity: String) throws -> Int64) rethrows -> [FerryError] {
        var refusals: [FerryError] = []
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            for value in step.resolved.mandatoryValues(of: mapping) where value.wasOptional {
                let empty = try count(value.source, mapping.source)
                if empty > 0 { refusals.append(value.problem(in: mapping, rows: empty)) }
            }
        }
        return refusals
    }

    /// The number of rows of exactly one entity in which an attribute is empty.
    func emptyRows(_ attribute: String, of entity: String) throws -> Int64 {
        guard let place = rows(of: entity), let column = layout.column(of: attribute, in: entity) else { return 0 }
        if let empty = walk?.emptyRows(column.name, of: place.number, in: place.table) { return empty }
        return try EmptyValues.rows(without: column.name, in: place, on: connection)
    }

    /// The table and the entity number of an entity's rows; nil if it has none.
    func rows(of entity: String) -> (table: String, number: Int64)? {
        guard rows[entity, default: 0] > 0, let table = layout.table(of: entity),
            let number = layout.number(of: entity)
        else { return nil }
        return (table.name, number)
    }

    /// Counts an entity's rows in which each column is empty, and last those with any empty column at `together`.
    func emptyRows(
        _ columns: [String], _ together: [Int], in place: (table: String, number: Int64)
    ) throws -> [Int64] {
        let counted = columns.compactMap { walk?.emptyRows($0, of: place.number, in: place.table) }
        if counted.count == columns.count {
            let some = together.map { counted[$0] }.filter { $0 > 0 }
            if some.count < 2 { return counted + [some.first ?? 0] }
        }
        return try EmptyValues.rows(without: columns, together: together.map { columns[$0] }, in: place, on: connection)
    }

    /// Rows without a value that a version between the store's and the next one requires.
    func missingInPassedVersions() throws -> [FerryError] {
        var refusals: [FerryError] = []
        for (entity, checks) in Dictionary(grouping: step.needsValues, by: \.source).inOrder(by: { $0.key < $1.key }) {
            guard let place = rows(of: entity) else { continue }
            let columns = checks.compactMap { check in
                layout.column(of: check.sourceAttribute, in: entity).map { (check, $0.name) }
            }
            guard !columns.isEmpty else { continue }
            let counts = try emptyRows(columns.map(\.1), [], in: place)
            for ((check, _), count) in zip(columns, counts) where count > 0 {
                refusals.append(check.problem(rows: count))
            }
        }
        return refusals
    }

    func rowsOfAbstractEntities() -> [FerryError] {
        step.needsEmptySource.compactMap { check in
            rows[check.source].flatMap { $0 > 0 ? check.problem(rows: $0) : nil }
        }
    }

    /// The rows that a new uniqueness constraint forbids; nil is never a duplicate.
    func duplicates(_ checks: [MappingResolution.UniquenessCheck]) throws -> [FerryError] {
        var refusals: [FerryError] = []
        for check in checks {
            var parameters: [Value] = []
            let selects = check.sources.compactMap { select($0, &parameters) }
            guard selects.count == check.sources.count else { continue }
            let names = check.attributes.indices.map { "c\($0)" }
            let present = names.map { "\($0) IS NOT NULL" }.balanced(by: "AND")
            let counts = try connection.rows(
                """
                SELECT count(*), sum(n) FROM (
                    SELECT count(*) AS n FROM (\(selects.joined(separator: " UNION ALL "))) WHERE \(present)
                    GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1)
                """, parameters)
            guard let row = counts.first, let values = row[0].integer, values > 0 else { continue }
            refusals.append(check.problem(values: values, rows: row[1].integer ?? 0))
        }
        return refusals
    }

    /// The SELECT of the constrained values of one entity's rows; nil if a value has no column.
    private func select(
        _ source: MappingResolution.UniquenessCheck.Source, _ parameters: inout [Value]
    ) -> String? {
        guard let table = layout.table(of: source.entity), let number = layout.number(of: source.entity) else {
            return nil
        }
        var values: [String] = []
        for (index, value) in source.values.enumerated() {
            var text = "?"
            if let attribute = value.attribute {
                guard let column = layout.column(of: attribute, in: source.entity) else { return nil }
                let name = Connection.quoted(column.name)
                text = value.defaultValue == nil ? name : "ifnull(\(name), ?)"
                if let substitute = value.defaultValue { parameters.append(Value(substitute)) }
            } else {
                parameters.append(value.defaultValue.map { Value($0) } ?? .null)
            }
            values.append("\(text) AS c\(index)")
        }
        parameters.append(.integer(number))
        return "SELECT \(values.joined(separator: ", ")) FROM \(Connection.quoted(table.name)) WHERE Z_ENT = ?"
    }
}

extension ResolvedStep.MandatoryValue {
    /// The refusal of rows in which the source attribute of a mandatory attribute is empty.
    func problem(in mapping: ResolvedEntityMapping, rows: Int64) -> FerryError {
        let destination = "\(mapping.destination).\(self.destination)"
        return FerryError(
            .mandatoryValue,
            "\(mapping.source).\(source) has no value in \(rows.counting("row")), and \(destination), which takes its value from it, is "
                + "mandatory.",
            remedy: "Give \(destination) an expression that covers this case, or make it optional in the model.",
            place: .init(entityMapping: mapping.name, entity: mapping.destination, property: self.destination))
    }
}

/// The refusals of the steps after the first that follow from the store's own rows.
///
/// Preflight knows rows that every earlier step carries one to one, and attributes that every step copies, unchanged or
/// with a constant in place of nil. The step itself checks requirements that depend on another expression, a filter or
/// a found object, when it begins.
struct LaterStepsPreflight {
    let planned: Planned
    let connection: Connection
    let configuration: Configuration

    private var plan: MigrationPlan { planned.plan }
    private var layout: StoreLayout { planned.layout }

    private typealias Value = MappingResolution.UniquenessCheck.Value
    private typealias Path = [(step: Int, mapping: ResolvedEntityMapping)]
    private typealias Source = MappingResolution.UniquenessCheck.Source

    func refusals() throws -> [FerryError] {
        guard plan.steps.count > 1 else { return [] }
        var refusals = try refusalsOfObjects() + refusalsOfTriggers()
        for (index, step) in plan.steps.enumerated().dropFirst() {
            refusals += refusalsOfCounts(of: step)
            guard let first = plan.steps.first?.sourceRows else { break }
            let checks = checks(of: step, first)
            refusals += try checks.emptyValues { try emptyRows($0, of: $1, before: index, checks) }
            refusals += try missingInPassedVersions(step, index, checks)
            refusals += try checks.duplicates(step.needsUniqueValues.compactMap { traced($0, index) })
        }
        return refusals
    }

    /// The refusals that counts of rows tell, where the store's rows show how many a step reads.
    func refusalsOfCounts() -> [FerryError] { plan.steps.dropFirst().flatMap(refusalsOfCounts) }

    private func refusalsOfCounts(of step: StepPlan) -> [FerryError] {
        guard let rows = step.sourceRows else { return [] }
        let known = checks(of: step, rows)
        return known.valuesWithoutSource().refusals + known.rowsOfAbstractEntities()
    }

    private func checks(of step: StepPlan, _ rows: [String: Int64]) -> RowChecks {
        RowChecks(connection: connection, layout: layout, rows: rows, step: step, walk: planned.walk)
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
            on: connection, dropping: configuration.dropping, inPlace: first.mode == .inPlace)
        guard appObjects.refusals.isEmpty else { return [] }
        return try plan.steps.dropFirst().flatMap { step in
            let mirroring = appObjects.mirroring.flatMap { MirroringRefusal.find($0, step.resolved) }
            return [mirroring, configuration.refusalOfChangedFields(appObjects, by: step.resolved)].compactMap { $0 }
                + appObjects.refusals(
                    from: try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed),
                    into: try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .assumed))
        }
    }

    /// Rows of the store in which an attribute is empty before a later step, as far as the store shows that.
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

    /// Rows without a value that a version passed by a composed step requires.
    private func missingInPassedVersions(_ step: StepPlan, _ index: Int, _ checks: RowChecks) throws -> [FerryError] {
        try step.needsValues.compactMap { check in
            let empty = try emptyRows(check.sourceAttribute, of: check.source, before: index, checks)
            return empty > 0 ? check.problem(rows: empty) : nil
        }
    }

    /// The check on the store's own rows; nil if they do not show the values.
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
        // An entity that an earlier step adds has no rows yet.
        return traced.sources.isEmpty ? nil : traced
    }

    // MARK: Tracing

    /// The mappings, one per step, that turn the store's objects into those of an entity; nil if some objects of the
    /// entity are left out or merged on the way.
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

    /// The store's attribute or the default value that an attribute has after a path's steps; nil if it is computed.
    private func trace(_ attribute: String, along path: Path) -> Value? {
        var name = attribute
        var substitute: DefaultValue?
        for (index, mapping) in path.reversed() {
            guard let resolved = mapping.attributes.first(where: { $0.name == name }) else { return nil }
            switch resolved.expression {
            case nil:
                let model = plan.steps[index].resolved.destination.model
                let attribute = model.attribute(name, of: mapping.destination)
                return Value(
                    attribute: nil, defaultValue: attribute.flatMap(resolved.defaultValue(of:)) ?? substitute)
            case .ifNil(let value, .constant(let constant))?:
                guard let source = value.sourceKey else { return nil }
                name = source
                // A row that an earlier step fills is not empty in a later one.
                substitute = constant.stored ?? substitute
            case let expression?:
                guard let source = expression.sourceKey else { return nil }
                name = source
            }
        }
        return Value(attribute: name, defaultValue: substitute)
    }
}
