internal import FerrySQLite
internal import FerryStore

/// SQLite's own check of the destination file: `PRAGMA quick_check`, or `integrity_check` for a thorough verification.
///
/// Of a store in the transaction that alters it, the tables that were written are checked.
struct IntegrityCheck: Check {
    static let name = "integrity"

    func run(in context: VerificationContext) throws {
        let pragma: String
        switch context.verification.fileCheck {
        case .none: return
        case .quick: pragma = "quick_check"
        case .integrity: pragma = "integrity_check"
        }
        try context.announce(pragma)
        let findings = try Self.tables(in: context).flatMap { table in
            try context.connection.rows("PRAGMA destination.\(pragma)(\(table))").compactMap { $0[0].text }
        }.filter { $0 != "ok" }
        guard let first = findings.first else { return }
        // SQLite's findings name tables, pages and rowids, but no values.
        context.report(IntegrityCheck.self, entity: nil, count: Int64(findings.count), example: first)
        context.isUnreadable = true
    }

    /// The argument of each call of the pragma: the most findings for the whole file, or a table.
    private static func tables(in context: VerificationContext) throws -> [String] {
        guard context.isInTransaction, !context.verification.kept.isEmpty else { return ["100"] }
        let tables = try context.connection.rows(
            "SELECT name FROM destination.sqlite_master WHERE type = 'table' AND rootpage > 0")
        return tables.compactMap { $0[0].text }.filter { !context.verification.kept.contains($0) }
            .map(Connection.quoted)
    }
}
