/// Counts what other checks ask of the rows, once for all of them (``TableTally``); finds nothing itself.
struct TallyCheck: Check {
    static let name = "tally"
    static let isQuick = true
    static let scope = CheckScope.any

    func parts(in context: VerificationContext) throws -> [CheckPart] { try TableTally.parts(in: context) }
}
