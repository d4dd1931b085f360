package import FerryModel
package import FerrySQLite

extension StoreLayout {
    /// The layout that an existing store of a model really has.
    ///
    /// Names are the store's own: migrations in place leave old suffixes, old naming sides of join tables and columns
    /// of earlier versions behind. What the model does not know is left out of the maps but stays among
    /// ``EntityTable/columns``; ``indexes`` are those that the store has.
    ///
    /// - Parameters:
    ///   - model: The model that the store was written with.
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    ///   - known: What the store has, where it has been read already.
    ///   - computed: The layout of a new store of the model, where it is at hand.
    /// - Returns: The layout.
    /// - Throws: `damagedSource` naming the table and the property that cannot be found; ``DatabaseError``.
    package static func actual(
        for model: ManagedObjectModel, on connection: Connection, schema: String = "main",
        catalog known: StoreCatalog? = nil, like computed: StoreLayout? = nil
    ) throws -> StoreLayout {
        let catalog = try known ?? StoreCatalog(connection, schema: schema)
        let numbers = try EntityNumberReader(model, on: connection, schema: schema).numbers()
        // Most stores have the numbers that a new one gets.
        let fits = computed.map { $0.entityNumbers == numbers && $0.model == model } == true
        let expected = fits ? computed : nil
        var finder = LayoutFinder(
            expected: expected ?? LayoutBuilder(model, numbers: numbers).layout, catalog: catalog)
        return try finder.find()
    }
}
