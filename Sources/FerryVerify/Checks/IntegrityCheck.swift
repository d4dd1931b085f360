internal import FerrySQLite

/// SQLite's own check of the destination file: `PRAGMA quick_check`.
struct IntegrityCheck: Check {
    static let name = "integrity"
    static let isQuick = true

    func run(in context: VerificationContext) throws {
        try context.announce("quick_check")
        let findings = try context.connection.rows("PRAGMA destination.quick_check(100)").compactMap { $0[0].text }
        if findings == ["ok"] { return }
        // What SQLite says names tables, pages and row ids, no values.
        context.report(
            IntegrityCheck.self, entity: nil, count: Int64(max(findings.count, 1)), example: findings.first)
        context.isUnreadable = true
    }
}
