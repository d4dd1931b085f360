internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What the newer model asks of rows that the older one did not.
extension Preflight {
    // MARK: Later steps

    /// What stands in the way of the steps after the first, as far as rows are known before these have run.
    static func refusals(ofLaterSteps plan: MigrationPlan) -> [FerryError] {
        plan.steps.dropFirst().flatMap { step -> [FerryError] in
            guard let rows = step.sourceRows else { return [] }
            let values = step.needsRowCheck.filter { rows[$0.source, default: 0] > 0 }
            return values.map(\.problem)
                + step.needsEmptySource.compactMap { check in
                    rows[check.source].flatMap { $0 > 0 ? check.problem(rows: $0) : nil }
                }
        }
    }

    // MARK: Versions on the way

    /// Rows without a value that a version between the store's and the next one asks for.
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
            // One scan for all of them.
            let sums = columns.map { "sum(\(Connection.quoted($0.1)) IS NULL)" }.joined(separator: ", ")
            let counts = try store.sourceGuard.connection.rows(
                "SELECT \(sums) FROM \(Connection.quoted(table.name)) WHERE Z_ENT = ?", [.integer(number)])
            for ((check, _), count) in zip(columns, counts.first ?? []) {
                if let count = count.integer, count > 0 { refusals.append(check.problem(rows: count)) }
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

    // MARK: Mandatory relationships

    /// Tells of mandatory to-one relationships that are filled from one that is empty in some row.
    ///
    /// Core Data lets them pass in a migration, and refuses them when the object is saved next.
    func emptyMandatoryRelationships() throws -> [String] {
        var warnings: [String] = []
        for mapping in step.resolved.entityMappings where mapping.filter == nil && mapping.iteration == nil {
            guard rows[mapping.source, default: 0] > 0, let table = layout.table(of: mapping.source),
                let number = layout.number(of: mapping.source)
            else { continue }
            for value in mapping.relationships {
                guard case .keyPath(.variable("source"), let path) = value.from, path.count == 1,
                    case .key(let name) = path[0],
                    let source = layout.model.relationship(name, of: mapping.source), source.isOptional,
                    let destination = step.resolved.destination.model.relationship(value.name, of: mapping.destination),
                    !destination.isOptional, !destination.isTransient,
                    case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: mapping.source)
                else { continue }
                let count = try store.sourceGuard.connection.integer(
                    "SELECT count(*) FROM \(Connection.quoted(table.name)) WHERE Z_ENT = ? AND "
                        + "\(Connection.quoted(column)) IS NULL", [.integer(number)])
                guard let count, count > 0 else { continue }
                warnings.append(
                    "\(mapping.source).\(name) leads to no object in \(count) rows, but \(mapping.destination)."
                        + "\(value.name) is mandatory: the app must relate them before it saves them.")
            }
        }
        return warnings
    }

    // MARK: Uniqueness

    /// Rows that a new uniqueness constraint would not allow side by side; nil is never a duplicate.
    func duplicates() throws -> [FerryError] {
        var refusals: [FerryError] = []
        for check in step.needsUniqueValues {
            var parameters: [Value] = []
            let selects = check.sources.compactMap { select($0, &parameters) }
            guard selects.count == check.sources.count else { continue }
            let names = check.attributes.indices.map { "c\($0)" }
            let present = names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
            let counts = try store.sourceGuard.connection.rows(
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

extension Value {
    fileprivate init(_ value: DefaultValue) {
        switch value {
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(text)
        case .blob(let bytes): self = .blob(bytes)
        }
    }
}
