package import FerryBase
internal import FerryEngine
package import FerryPlan
package import FerrySQLite

/// The program in place of the step that begins at the store, found once; opens a connection only to find it.
package final class ProgramInPlace {
    private let step: StepPlan
    private let dropping: Set<String>
    private let connection: () throws -> Connection
    private var result: Result<StepProgram, any Error>?

    /// Requires that no other connection changes the store's schema meanwhile.
    package init(_ step: StepPlan, dropping: Set<String>, on connection: @escaping () throws -> Connection) {
        (self.step, self.dropping, self.connection) = (step, dropping, connection)
    }

    private func planning() throws -> StepPlanning {
        try StepPlanning(step, on: connection(), dropping: dropping)
    }

    /// - Throws: ``FerryError`` when the store holds objects that cannot go through the step.
    package func program() throws -> StepProgram {
        let result = result ?? Result { try planning().program() }
        self.result = result
        return try result.get()
    }

    /// The program, or the refusal of the step in place.
    package func attempt() throws -> Result<StepProgram, FerryError> {
        do {
            return .success(try program())
        } catch let error as FerryError where error.code.consequence == .refused {
            return .failure(error)
        }
    }

    /// The program, if it was found and is the one that runs: none is, while objects are still to be dropped.
    package var found: StepProgram? {
        guard case .success(let program)? = result, dropping.isEmpty else { return nil }
        return program
    }

    /// The reason why rows of unknown entities cannot stay in their table; nil if they can, or if there are none.
    func refusalToKeepUnknownEntities() throws -> FerryError? {
        try planning().refusalToKeepUnknownEntities(by: program())
    }
}
