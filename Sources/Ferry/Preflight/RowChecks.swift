internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What a step requires of the rows that it reads; only a look at them decides.
struct RowChecks {
    /// The store that the step reads, as `main`.
    let connection: Connection
    let layout: StoreLayout
    /// Rows of exactly each entity, counted.
    let rows: [String: Int64]
    let step: StepPlan
    /// Has counted rows without a value, where the store's pages were walked over.
    var walk: PageWalk?

    /// Whether a step requires anything of its rows.
    static func areAsked(by step: StepPlan) -> Bool {
        !step.needsRowCheck.isEmpty || !step.needsEmptySource.isEmpty || !step.needsUniqueValues.isEmpty
            || !step.needsValues.isEmpty
            || step.resolved.entityMappings.contains { mapping in
                mapping.readsEveryObject
                    && step.resolved.mandatoryValues(of: mapping).contains(where: \.wasOptional)
            }
    }

    // MARK: Mandatory values

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
                        .mandatoryValue, "\(check.problem.message) The first object that it makes will stop the run.",
                        about: .init(
                            entity: place.entity, property: place.property, entityMapping: place.entityMapping)))
            } else {
                refusals.append(check.problem)
            }
        }
        return (refusals, warnings)
    }

    /// Optional attributes that a mandatory one takes over and that are empty in some row.
    ///
    /// - Parameter count: Counts the rows of an entity in which an attribute is empty.
    /// - Returns: The refusals.
    /// - Throws: What counting throws.
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

    /// Rows of exactly one entity in which an attribute is empty.
    func emptyRows(_ attribute: String, of entity: String) throws -> Int64 {
        guard rows[entity, default: 0] > 0, let table = layout.table(of: entity),
            let number = layout.number(of: entity),
            let column = layout.column(of: attribute, in: entity)
        else { return 0 }
        if let empty = walk?.emptyRows(column.name, of: number, in: table.name) { return empty }
        return try EmptyValues(in: table.name, of: number, on: connection).rows(without: column.name)
    }

    /// Rows of one entity in which columns are empty, and last those in which some of them are.
    ///
    /// - Parameters:
    ///   - columns: The columns.
    ///   - together: Places in `columns`: of these the rows are counted in which any is empty.
    ///   - entity: The entity's number.
    ///   - table: Its table.
    /// - Returns: A number for each column, and one more.
    /// - Throws: ``DatabaseError``.
    func emptyRows(
        _ columns: [String], _ together: [Int], of entity: Int64, in table: String
    ) throws -> [Int64] {
        let counted = columns.compactMap { walk?.emptyRows($0, of: entity, in: table) }
        if counted.count == columns.count {
            let some = together.map { counted[$0] }.filter { $0 > 0 }
            if some.count < 2 { return counted + [some.first ?? 0] }
        }
        return try EmptyValues(in: table, of: entity, on: connection)
            .rows(without: columns, together: together.map { columns[$0] })
    }

    // MARK: Versions on the way

    /// Rows without a value that a version between the store's and the next one requires.
    func valuesMissingOnTheWay() throws -> [FerryError] {
        var refusals: [FerryError] = []
        for (entity, checks) in Dictionary(grouping: step.needsValues, by: \.source).sorted(by: { $0.key < $1.key }) {
            guard rows[entity, default: 0] > 0, let table = layout.table(of: entity),
                let number = layout.number(of: entity)
            else { continue }
            let columns = checks.compactMap { check in
                layout.column(of: check.sourceAttribute, in: entity).map { (check, $0.name) }
            }
            guard !columns.isEmpty else { continue }
            let counts = try emptyRows(columns.map(\.1), [], of: number, in: table.name)
            for ((check, _), count) in zip(columns, counts) where count > 0 {
                refusals.append(check.problem(rows: count))
            }
        }
        return refusals
    }

    // MARK: Abstract entities

    func rowsOfAbstractEntities() -> [FerryError] {
        step.needsEmptySource.compactMap { check in
            rows[check.source].flatMap { $0 > 0 ? check.problem(rows: $0) : nil }
        }
    }

    // MARK: Uniqueness

    /// Rows that a new uniqueness constraint would not allow side by side; nil is never a duplicate.
    func duplicates() throws -> [FerryError] { try duplicates(step.needsUniqueValues) }

    func duplicates(_ checks: [MappingResolution.UniquenessCheck]) throws -> [FerryError] {
        var refusals: [FerryError] = []
        for check in checks {
            var parameters: [Value] = []
            let selects = check.sources.compactMap { select($0, &parameters) }
            guard selects.count == check.sources.count else { continue }
            let names = check.attributes.indices.map { "c\($0)" }
            let present = names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
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

    /// The constrained values of one entity's rows; nil when one has no column.
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
    /// The refusal of rows in which what a mandatory attribute takes over is empty.
    func problem(in mapping: ResolvedEntityMapping, rows: Int64) -> FerryError {
        let destination = "\(mapping.destination).\(self.destination)"
        return FerryError(
            .mandatoryValue,
            "\(mapping.source).\(source) has no value in \(rows.counting("row")), and \(destination), which is filled from it, is "
                + "mandatory.",
            remedy: "Give \(destination) an expression that stands in, or make it optional in the model.",
            place: .init(entityMapping: mapping.name, entity: mapping.destination, property: self.destination))
    }
}
