package import FerryBase
internal import FerryEngine
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
    /// The counted rows of exactly each entity, which ``unfitValues()`` does not need.
    package var rows: [String: Int64]
    let step: StepPlan
    /// For messages: the step's number and their number, of several.
    let place: String
    /// Longer values are not read.
    let longestValue: Int
    /// The time for expressions that ask for it.
    let now: Double

    package init(
        ofStep index: Int, of plan: MigrationPlan, scans: TableScans, layout: StoreLayout, rows: [String: Int64] = [:],
        longestValue: Int, now: Double
    ) {
        (self.scans, self.layout, self.rows, step) = (scans, layout, rows, plan.steps[index])
        (self.longestValue, self.now) = (longestValue, now)
        place = plan.steps.count > 1 ? " (step \(index + 1) of \(plan.steps.count))" : ""
    }

    private var connection: Connection { scans.connection }

    /// Whether the step requires something of its rows that ``unfitValues()`` does not ask for.
    package var needCounts: Bool {
        !step.needsRowCheck.isEmpty || !step.needsEmptySource.isEmpty || !step.needsUniqueValues.isEmpty
    }

    /// Mandatory attributes that an entity mapping gives no value at all; `withKeys`: the store has the step's rows.
    func valuesWithoutSource(withKeys: Bool = true) throws -> (refusals: [FerryError], warnings: [FerryWarning]) {
        var refusals: [FerryError] = []
        var warnings: [FerryWarning] = []
        for check in step.needsRowCheck {
            guard rows[check.source, default: 0] > 0 else { continue }
            if check.isConditional {
                // The values of the step's own mappings are asked about (``findings(of:validity:)``).
                if step.resolved.entityMapping(named: check.entityMapping)?.destination == check.entity { continue }
                let problem = check.problem(place, key: nil)
                warnings.append(
                    FerryWarning(
                        .mandatoryValue,
                        "\(problem.message) The first object that it creates will stop the migration.",
                        about: .init(
                            entity: check.entity, property: check.attribute, entityMapping: check.entityMapping)))
            } else {
                let key = withKeys ? try firstRow(of: check.source) : nil
                refusals.append(check.problem(place, key: key))
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

    /// What counts of rows tell: mandatory attributes without a value, and rows of entities that become abstract.
    package func refusalsOfCounts(withKeys: Bool = true) throws -> [FerryError] {
        try valuesWithoutSource(withKeys: withKeys).refusals + rowsOfAbstractEntities()
    }

    func rowsOfAbstractEntities() -> [FerryError] {
        step.needsEmptySource.compactMap { check in
            rows[check.source].flatMap { $0 > 0 ? check.problem(rows: $0) : nil }
        }
    }

    /// The objects that a new uniqueness constraint forbids; nil is never a duplicate.
    package func duplicates(_ checks: [MappingResolution.UniquenessCheck]) throws -> [FerryError] {
        try checks.filter(\.isKnown).compactMap { check in
            var objects = ReadObjects(in: layout, now: now)
            let names = check.attributes.indices.map { "c\($0)" }
            let present = names.map { "\($0) IS NOT NULL" }.balanced(by: "AND")
            var values: [String] = []
            for (_, mappings) in Dictionary(grouping: check.mappings, by: \.destination) {
                let selects = try mappings.filter { rows[$0.source, default: 0] > 0 }.map { mapping in
                    (sql: try objects.values(of: check.attributes, by: mapping), isMerged: !mapping.unique.isEmpty)
                }
                let each = selects.filter { !$0.isMerged }.map(\.sql)
                let merged = selects.filter(\.isMerged).map(\.sql).joined(separator: " UNION ALL ")
                values += each
                // Merged objects are those with other values than the objects of the entity.
                let known = each.isEmpty ? "" : " EXCEPT SELECT * FROM (\(each.joined(separator: " UNION ALL ")))"
                if !merged.isEmpty { values.append("SELECT * FROM (SELECT DISTINCT * FROM (\(merged))\(known))") }
            }
            guard !values.isEmpty else { return nil }
            do {
                let counts = try objects.integers(
                    """
                    SELECT count(*), ifnull(sum(n), 0) FROM (
                        SELECT count(*) AS n FROM (\(values.joined(separator: " UNION ALL "))) WHERE \(present)
                        GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1)
                    """, on: connection)
                return counts[0] > 0 ? check.problem(values: counts[0], rows: counts[1]) : nil
            } catch let error as DatabaseError where !error.isInterrupted {
                // A filter that fails on some value is refused by the check of values.
                guard connection.takeFunctionError() != nil else { throw error }
                return nil
            }
        }
    }
}

extension MappingResolution.UniquenessCheck {
    /// Whether the source's rows show the values: not what a policy or a query gives, nor which of several objects that
    /// become one gives its own.
    var isKnown: Bool {
        mappings.allSatisfy { mapping in
            mapping.policy == nil && !mapping.fetches
                && names.allSatisfy { name in
                    mapping.isGivenByEach(name)
                        && mapping.attributes.contains { $0.name == name && $0.expression?.fetches != true }
                }
        }
    }
}

/// Rows of entities that become abstract, and rows that a new uniqueness constraint forbids.
struct ForbiddenRowsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    mutating func check() throws {
        let checks = input.rowChecks
        findings.refusals += try checks.rowsOfAbstractEntities() + checks.duplicates(step.needsUniqueValues)
    }
}
