internal import FerrySQLite

/// What an app has set in the header of its store is the same in the migrated one.
struct HeaderNumbersCheck: Check {
    static let name = "header"
    static let isQuick = true
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        for name in ["user_version", "application_id"] {
            let old = try context.connection.pragma(name, in: "source")
            if try context.connection.pragma(name, in: "destination") != old {
                context.report(HeaderNumbersCheck.self, entity: nil, example: name)
            }
        }
    }
}
