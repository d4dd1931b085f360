package import FerryBase
package import FerryModel

extension StoreLayout {
    /// The layout that Core Data gives a new store of a model: names, columns, numbers, indexes; where a store of it is
    /// known (``ManagedObjectModel/knownSchema``), that of this store.
    ///
    /// - Parameters:
    ///   - model: The model, whole: all its entities get tables, whatever its configurations say.
    ///   - found: What is known of triggers that only Core Data can write.
    /// - Returns: The layout.
    /// - Throws: `unsupported` for the first thing, in entity order, that the known rules do not cover; `damagedSource`
    ///   where the known store is not of the model.
    package static func canonical(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) throws(FerryError) -> StoreLayout {
        let builder = try builder(for: model, found)
        if let refusal = builder.refusals.first { throw refusal }
        return builder.layout
    }

    private static func builder(
        for model: ManagedObjectModel, _ found: FoundTriggers
    ) throws(FerryError) -> LayoutBuilder {
        var builder = LayoutBuilder(model)
        if let known = model.knownSchema { try builder.take(known) }
        builder.addFoundTriggers(found)
        return builder
    }

    /// Everything that keeps ``canonical(for:foundTriggers:)`` from laying out a model; empty when it can.
    package static func refusals(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) -> [FerryError] {
        do throws(FerryError) {
            return try builder(for: model, found).refusals
        } catch {
            return [error]
        }
    }
}
