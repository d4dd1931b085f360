internal import FerrySQLite

/// SQLite's own check of the destination file: `PRAGMA quick_check`, or `integrity_check` where that was asked for.
///
/// Where a walk over the pages vouches for all that `quick_check` would look at, in one reading instead of two, SQLite is
/// not asked.
struct IntegrityCheck: Check {
    static let name = "integrity"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        let pragma = context.verification.isThorough ? "integrity_check" : "quick_check"
        try context.announce(pragma)
        if try !context.verification.isThorough && isVouchedFor(context) { return }
        let findings = try context.connection.rows("PRAGMA destination.\(pragma)(100)").compactMap { $0[0].text }
        if findings == ["ok"] { return }
        // What SQLite says names tables, pages and row ids, no values.
        context.report(
            IntegrityCheck.self, entity: nil, count: Int64(max(findings.count, 1)), example: findings.first)
        context.isUnreadable = true
    }

    private func isVouchedFor(_ context: VerificationContext) throws -> Bool {
        let connection = context.connection
        // What else quick_check looks at: constraints on values, and virtual tables in their own way. Core Data's tables
        // have none of the first.
        let asksForMore = try connection.integer(
            """
            SELECT 1 FROM destination.sqlite_master WHERE type = 'table' AND (sql LIKE '%NULL%' OR sql LIKE '%CHECK%'
                OR sql LIKE '%STRICT%' OR sql LIKE 'CREATE VIRTUAL%')
            """)
        guard asksForMore == nil else { return false }
        let walk = { try PageWalk(connection, schema: "destination", stop: context.verification.stop) }
        return try (connection.isInTransaction ? walk() : connection.transaction("BEGIN", walk))?.isSound == true
    }
}
