internal import FerrySQLite

/// SQLite's own check of the destination file: `PRAGMA quick_check`, or `integrity_check` for a thorough verification.
///
/// A page walk replaces `quick_check` where it checks as much, in one reading instead of two.
struct IntegrityCheck: Check {
    static let name = "integrity"
    static let isQuick = true
    static let scope = CheckScope.any

    func run(in context: VerificationContext) throws {
        let pragma = context.verification.isThorough ? "integrity_check" : "quick_check"
        try context.announce(pragma)
        if try !context.verification.isThorough && isShownByPageWalk(context) { return }
        let findings = try context.connection.rows("PRAGMA destination.\(pragma)(100)").compactMap { $0[0].text }
        if findings == ["ok"] { return }
        // SQLite's findings name tables, pages and rowids, but no values.
        context.report(
            IntegrityCheck.self, entity: nil, count: Int64(max(findings.count, 1)), example: findings.first)
        context.isUnreadable = true
    }

    /// Records what another check's walk over all pages has shown, if it shows as much.
    static func record(_ walk: PageWalk, in context: VerificationContext) throws {
        guard walk.isSound, try suffices(walkIn: context) else { return }
        context.progress.state.outcomes[name] = PartOutcome()
    }

    private func isShownByPageWalk(_ context: VerificationContext) throws -> Bool {
        guard try Self.suffices(walkIn: context) else { return false }
        let walk = try PageWalk(context.connection, schema: "destination", stop: context.verification.stop)
        return walk?.isSound == true
    }

    /// Whether a walk over pages checks as much as `quick_check` would.
    private static func suffices(walkIn context: VerificationContext) throws -> Bool {
        // quick_check also reads column constraints, which Core Data's tables do not have, and virtual tables.
        let needsPragma = try context.connection.integer(
            """
            SELECT 1 FROM destination.sqlite_master WHERE type = 'table' AND (sql LIKE '%NULL%' OR sql LIKE '%CHECK%'
                OR sql LIKE '%STRICT%' OR sql LIKE 'CREATE VIRTUAL%')
            """)
        return needsPragma == nil
    }
}
