internal import FerrySQLite

/// SQLite's own check of the destination file: `PRAGMA quick_check`, or `integrity_check` where that was asked for.
struct IntegrityCheck: Check {
    static let name = "integrity"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        let pragma = context.verification.isThorough ? "integrity_check" : "quick_check"
        try context.announce(pragma)
        let findings = try context.connection.rows("PRAGMA destination.\(pragma)(100)").compactMap { $0[0].text }
        if findings == ["ok"] { return }
        // What SQLite says names tables, pages and row ids, no values.
        context.report(
            IntegrityCheck.self, entity: nil, count: Int64(max(findings.count, 1)), example: findings.first)
        context.isUnreadable = true
    }
}
