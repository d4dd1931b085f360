internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerrySQLite

/// The program in place of the step that begins at the store, found once, since it is the slowest part of a plan through
/// many versions; opens a connection only to find it.
final class ProgramInPlace {
    private var step: StepPlan
    private let dropping: Set<String>
    private let connection: () throws -> Connection
    private var found: Result<(program: StepProgram, isWhole: Bool), any Error>?

    /// Requires that no other connection changes the store's schema meanwhile.
    init(_ step: StepPlan, dropping: Set<String>, on connection: @escaping () throws -> Connection) {
        (self.step, self.dropping, self.connection) = (step, dropping, connection)
    }

    private func planning() throws -> InPlacePlanning {
        try InPlacePlanning(step, on: connection(), dropping: dropping)
    }

    /// - Throws: ``FerryError`` when the store holds objects that cannot go through the step.
    func program() throws -> StepProgram {
        let result = found ?? Result { try planning().find() }
        found = result
        // The parts of a step through many versions hold some MiB.
        if whole != nil { step.parts = [] }
        return try result.get().program
    }

    /// The program, or the refusal of the step in place.
    func attempt() throws -> Result<StepProgram, FerryError> {
        do {
            return .success(try program())
        } catch let error as FerryError where error.code.consequence == .refused {
            return .failure(error)
        }
    }

    /// The program found, if it is the one that runs; nil if none was planned.
    var whole: StepProgram? {
        guard case .success(let found)? = found, found.isWhole else { return nil }
        return found.program
    }

    /// The reason why rows of unknown entities cannot stay in their table; nil if they can, or if there are none.
    func refusalToKeepUnknownEntities() throws -> FerryError? {
        try planning().refusalToKeepUnknownEntities(by: program())
    }
}
