internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The scans of a store that show, before anything is written, that a migration would fail on its rows.
package struct Preflight {
    package let input: PreflightInput
    package private(set) var findings = PreflightFindings()

    /// In the order in which their refusals are told.
    private static var checks: [any PreflightCheck.Type] {
        [
            PagesCheck.self, ValuesCheck.self, LargeTextsCheck.self, AppObjectsCheck.self, ForbiddenRowsCheck.self,
            RelationshipsCheck.self, DamageCheck.self, LaterStepsCheck.self,
        ]
    }

    package init(_ input: PreflightInput) { self.input = input }

    /// Finds every reason to refuse the migration, and the findings that the run and its report need.
    package mutating func check() throws {
        let checks = Self.checks.map { $0.init(input: input, findings: findings) }
        // The first answer about a table answers all that was asked.
        for check in checks { try check.ask() }
        for var check in checks {
            check.findings = findings
            try check.check()
            findings = check.findings
            // Rows of damaged pages cannot be read.
            if findings.refusals.contains(where: { $0.code == .storeDamaged }) { return }
        }
    }

    /// Finds what models, mapping models, the schema and counts of rows tell; reads no values.
    package mutating func checkWithoutScans() throws {
        var objects = AppObjectsCheck(input: input, findings: findings)
        objects.findings.refusals += try objects.refusals() + refusalsOfCounts()
        objects.findings.refusals += try LaterStepsCheck(input: input).refusalsOfCounts()
        try objects.findLeftoversInTheWay()
        try objects.findLostHistory()
        findings = objects.findings
    }

    private func refusalsOfCounts() throws -> [FerryError] {
        var checks = input.rowChecks
        let needing = Set(input.step.needsRowCheck.map(\.source) + input.step.needsEmptySource.map(\.source))
        // An estimate may count rows of an entity that has none.
        let present = try needing.filter { entity in
            guard let place = checks.rows(of: entity) else { return false }
            let first = try input.connection.integer(
                "SELECT EXISTS (SELECT 1 FROM \(Connection.quoted(place.table)) WHERE Z_ENT = ?)",
                [.integer(place.number)])
            return first == 1
        }
        checks.rows = checks.rows.filter { present.contains($0.key) }
        return try checks.refusalsOfCounts()
    }
}
