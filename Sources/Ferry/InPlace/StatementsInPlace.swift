internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerrySQLite

/// The statements of the step that begins at the store, found once: of a step that stands for many versions that takes
/// longest of all that a plan asks for.
final class StatementsInPlace {
    private let step: StepPlan
    private let connection: Connection
    private let dropping: Set<String>
    private var found: Result<(planned: InPlacePlanning, statements: InPlacePlan, isWhole: Bool), any Error>?

    /// - Parameters:
    ///   - step: A step in place.
    ///   - connection: The store, whose schema no other connection changes meanwhile.
    ///   - dropping: Names of objects that are to be left out.
    init(_ step: StepPlan, on connection: Connection, dropping: Set<String>) {
        self.step = step
        self.connection = connection
        self.dropping = dropping
    }

    /// - Throws: ``FerryError`` when the store holds what cannot go through the step.
    func plan() throws -> InPlacePlan { try find().statements }

    /// What was found, if the run takes it as it is; nil where nothing was looked for.
    var whole: InPlacePlan? {
        guard case .success(let found)? = found, found.isWhole else { return nil }
        return found.statements
    }

    /// Why rows of no known entity cannot stay where they are; nil when they can, or when there are none.
    func refusalToKeepUnknownEntities() throws -> FerryError? {
        let found = try find()
        return try found.planned.refusalToKeepUnknownEntities(by: found.statements)
    }

    private func find() throws -> (planned: InPlacePlanning, statements: InPlacePlan, isWhole: Bool) {
        let result =
            found
            ?? Result {
                let planned = try InPlacePlanning(step, on: connection, dropping: dropping)
                let (statements, isWhole) = try planned.find()
                return (planned, statements, isWhole)
            }
        found = result
        return try result.get()
    }
}
