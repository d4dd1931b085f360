internal import FerrySQLite

/// What an app has set in the header of its store is the same in the migrated one.
struct HeaderNumbersCheck: Check {
    static let name = "header"
    static let isQuick = true
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        let old = try context.surroundings().headerNumbers
        let new = try SourceSurroundings.headerNumbers(on: context.connection, schema: "destination")
        for (name, number) in new.sorted(by: { $0.key < $1.key }) where old[name] != number {
            context.report(HeaderNumbersCheck.self, entity: nil, example: name)
        }
    }
}
