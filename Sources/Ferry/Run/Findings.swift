internal import FerryBase
internal import FerryPlan
internal import FerryPreflight
internal import FerryStore

/// The findings of preflight in a store: the run needs some of them, and the final report contains all.
package struct Findings: Codable, Sendable {
    var damage: [StoreDamage] = []
    /// Healed damage that the run's steps do not count themselves.
    var healed: [MigrationReport.Healed] = []
    var kept: [MigrationReport.Kept] = []
    var leftovers: [MigrationReport.Leftover] = []
    var droppedObjects: [String] = []
    var warnings: [FerryWarning] = []
    /// Absent in records of earlier tools.
    var losses: [Loss]?
    /// Absent in records of earlier tools.
    var transformed: [Transformation]?

    /// The losses with the counts of a run, without those that lost nothing.
    func losses(countedBy mappings: [MigrationReport.EntityMappingReport]) -> [Loss] {
        (losses ?? []).map { $0.counted(by: mappings) }.filter { $0.rows != 0 }
    }
}
