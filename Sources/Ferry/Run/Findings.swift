internal import FerryBase
internal import FerryMapping
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
    var losses: [Loss] = []
    var transformed: [Transformation] = []

    /// The losses with the counts of a run, without those that lost nothing.
    func losses(countedBy mappings: [MigrationReport.EntityMappingReport]) -> [Loss] {
        losses.map { $0.counted(by: mappings) }.filter { $0.rows != 0 }
    }

    /// The losses of the chain, those of later steps marked so.
    var toldLosses: [ToldLoss] {
        losses.filter { !$0.isOrder }.map { loss in
            var told = ToldLoss(
                entity: loss.entity, property: loss.property, number: loss.isEstimated ? nil : loss.rows)
            told.isOfLaterStep = loss.step > 1
            return told
        }
    }
}

extension Findings {
    init(_ found: PreflightFindings, isInPlace: Bool) {
        (damage, kept, droppedObjects, warnings) = (found.damage, found.kept, found.droppedObjects, found.warnings)
        healed = found.healed.map { .init(step: 1, kind: $0.kind, entity: $0.entity, rows: $0.rows) }
        leftovers = found.leftovers.map { leftover, rows in
            .init(
                kind: .init(rawValue: leftover.kind.rawValue), name: leftover.name, rows: rows, isKept: isInPlace)
        }
        losses = found.losses.map(Loss.init)
    }
}
