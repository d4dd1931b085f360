package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryPlan
internal import FerrySQLite
package import FerryStore

/// The requirements of a step on the rows that it reads.
package struct RowChecks {
    /// Of the store that the step reads, as `main`.
    let scans: TableScans
    let layout: StoreLayout
    /// The counted rows of exactly each entity.
    let rows: [String: Int64]
    let step: StepPlan
    let named: NamedStep

    package init(scans: TableScans, layout: StoreLayout, rows: [String: Int64], step: StepPlan, named: NamedStep) {
        (self.scans, self.layout, self.rows, self.step, self.named) = (scans, layout, rows, step, named)
    }

    private var connection: Connection { scans.connection }

    /// Whether a step requires something of its rows that ``UnfitValues`` does not ask for.
    package static func areNeeded(by step: StepPlan) -> Bool {
        !step.needsRowCheck.isEmpty || !step.needsEmptySource.isEmpty || !step.needsUniqueValues.isEmpty
    }

    /// Mandatory attributes that an entity mapping gives no value at all; `withKeys`: the store has the step's rows.
    package func valuesWithoutSource(withKeys: Bool = true) throws -> (refusals: [FerryError], warnings: [FerryWarning])
    {
        var refusals: [FerryError] = []
        var warnings: [FerryWarning] = []
        for check in step.needsRowCheck {
            guard rows[check.source, default: 0] > 0 else { continue }
            if check.isConditional {
                // The values of the step's own mappings are asked about (``UnfitValues``).
                if step.resolved.entityMapping(named: check.entityMapping)?.destination == check.entity { continue }
                let problem = check.problem(named.place, key: nil)
                warnings.append(
                    FerryWarning(
                        .mandatoryValue,
                        "\(problem.message) The first object that it creates will stop the migration.",
                        about: .init(
                            entity: check.entity, property: check.attribute, entityMapping: check.entityMapping)))
            } else {
                let key = withKeys ? try firstRow(of: check.source) : nil
                refusals.append(check.problem(named.place, key: key))
            }
        }
        return (refusals, warnings)
    }

    /// The key of a row of an entity.
    private func firstRow(of entity: String) throws -> Int64? {
        guard let place = rows(of: entity) else { return nil }
        return try connection.integer(
            "SELECT Z_PK FROM \(Connection.quoted(place.table)) WHERE Z_ENT = ? LIMIT 1", [.integer(place.number)])
    }

    /// The table and the entity number of an entity's rows; nil if it has none.
    func rows(of entity: String) -> TableScans.Place? {
        guard rows[entity, default: 0] > 0, let table = layout.table(of: entity),
            let number = layout.number(of: entity)
        else { return nil }
        return (table.name, number)
    }

    package func rowsOfAbstractEntities() -> [FerryError] {
        step.needsEmptySource.compactMap { check in
            rows[check.source].flatMap { $0 > 0 ? check.problem(rows: $0) : nil }
        }
    }

    /// The rows that a new uniqueness constraint forbids; nil is never a duplicate.
    package func duplicates(_ checks: [MappingResolution.UniquenessCheck]) throws -> [FerryError] {
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

/// Mandatory attributes that an entity mapping gives no value at all, though it has rows.
struct MissingSourcesCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    mutating func check() throws {
        let values = try input.rowChecks(input.rows).valuesWithoutSource()
        findings.refusals += values.refusals
        findings.warnings += values.warnings
    }
}

/// Rows of entities that become abstract, and rows that a new uniqueness constraint forbids.
struct ForbiddenRowsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    mutating func check() throws {
        let checks = input.rowChecks(input.rows)
        findings.refusals += try checks.rowsOfAbstractEntities() + checks.duplicates(step.needsUniqueValues)
    }
}
