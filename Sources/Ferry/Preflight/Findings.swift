internal import FerryBase
internal import FerryStore

/// What preflight has found in a store: the run needs some of it, and the final report tells all of it.
package struct Findings: Codable, Sendable {
    /// Everything that is wrong with the store.
    var damage: [StoreDamage] = []
    /// What becomes of it, as far as the run's steps do not count it themselves.
    var healed: [MigrationReport.Healed] = []
    var kept: [MigrationReport.Kept] = []
    var leftovers: [MigrationReport.Leftover] = []
    var droppedObjects: [String] = []
    var warnings: [FerryWarning] = []
    /// Absent in records of earlier tools.
    var losses: [Loss]?

    package init() {}
}
