package import FerryBase
package import FerryModel

extension StoreLayout {
    /// The layout that Core Data gives a new store of a model: names, columns, numbers, indexes.
    ///
    /// - Parameters:
    ///   - model: The model, whole: all its entities get tables, whatever its configurations say.
    ///   - found: What is known of triggers that only Core Data can write.
    /// - Returns: The layout.
    /// - Throws: `unsupported` for the first thing, in entity order, that the known rules do not cover.
    package static func canonical(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) throws(FerryError) -> StoreLayout {
        var builder = LayoutBuilder(model)
        builder.addFoundTriggers(found)
        if let refusal = builder.refusals.first { throw refusal }
        return builder.layout
    }

    /// Everything that keeps ``canonical(for:foundTriggers:)`` from laying out a model; empty when it can.
    package static func refusals(
        for model: ManagedObjectModel, foundTriggers found: FoundTriggers = .none
    ) -> [FerryError] {
        var builder = LayoutBuilder(model)
        builder.addFoundTriggers(found)
        return builder.refusals
    }
}
