internal import FerryBase
package import FerryPlan
package import FerrySQLite

/// Brings a copy of a step's source to the state in which ``StepRun`` fills the tables that do not stay.
package enum PartInPlace {
    /// Runs the statements of a step's kept part, in one transaction.
    ///
    /// - Parameters:
    ///   - part: The kept part, as a step of its own.
    ///   - connection: The copy, as the main database.
    ///   - options: The settings of the run.
    /// - Throws: ``FerryError``, after a rollback.
    package static func run(_ part: StepPlan, on connection: Connection, options: EngineOptions) throws {
        // Verification looks at the whole step.
        try InPlaceRun.run([part], on: connection, options: options, checks: { _ in { _, _ in } })
    }

    /// Plans the operations that follow when all tables are filled.
    ///
    /// - Parameters:
    ///   - part: The kept part, as a step of its own.
    ///   - source: The step's source.
    ///   - dropping: The names of the app's objects that the run drops.
    /// - Returns: Those that make the app's views and triggers.
    /// - Throws: ``FerryError`` if the part cannot be done in place on this source.
    package static func closing(
        of part: StepPlan, on source: Connection, dropping: Set<String>
    ) throws -> [StepOperation] {
        try InPlacePlanning(part, on: source, dropping: dropping).program(leaving: nil).closing
    }
}
