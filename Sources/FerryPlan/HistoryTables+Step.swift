package import FerryMapping
internal import FerryModel
package import FerryStore

extension HistoryTables {
    /// How the changes of a mapping's source entity read in the new store.
    ///
    /// What a version on the way would have lost is lost, too.
    package static func translation(
        by mapping: ResolvedEntityMapping, of step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> Translation? {
        guard var translation = translation(of: mapping.source, into: mapping.destination, source, destination) else {
            return nil
        }
        let places = Array(zip(mapping.entities, step.versions.map(\.model)))
        for ((entity, model), (nextEntity, nextModel)) in zip(places, places.dropFirst()) {
            let keeps = keeps(entity, of: model, as: nextEntity, of: nextModel)
            translation.keepsColumns = translation.keepsColumns && keeps.columns
            translation.keepsTombstones = translation.keepsTombstones && keeps.tombstones
        }
        return translation
    }

    /// Columns that the changes table lacks for any of a step's versions.
    package func missingTombstones(for step: ResolvedStep) -> [String] {
        step.versions.dropFirst().map { missingTombstones(for: $0.model) }.max { $0.count < $1.count } ?? []
    }
}
