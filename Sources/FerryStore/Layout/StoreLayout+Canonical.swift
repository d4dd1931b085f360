package import FerryBase
package import FerryModel

extension StoreLayout {
    /// The layout that Core Data gives a new store of a model: names, columns, numbers, indexes.
    ///
    /// - Parameter model: The model, whole: all its entities get tables, whatever its configurations say.
    /// - Returns: The layout.
    /// - Throws: `unsupported` for the first thing, in entity order, that the known rules do not cover.
    package static func canonical(for model: ManagedObjectModel) throws(FerryError) -> StoreLayout {
        let builder = LayoutBuilder(model)
        if let refusal = builder.refusals.first { throw refusal }
        return builder.layout
    }

    /// Everything that keeps ``canonical(for:)`` from laying out a model; empty when it can.
    package static func refusals(for model: ManagedObjectModel) -> [FerryError] {
        LayoutBuilder(model).refusals
    }
}
