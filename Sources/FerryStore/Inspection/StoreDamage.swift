package import FerryBase
internal import FerryModel
package import FerrySQLite

/// One kind of damage in one entity, with how many rows have it.
package struct StoreDamage: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
        /// A foreign key or a row of a join table that leads to no row, or to one of another entity than is declared.
        case danglingKey
        /// A one-to-one relationship whose other side does not lead back.
        case oneSidedInverse
        /// The number of an entity beside a key that is not the one of the row to which the key leads.
        case wrongEntity
        /// No position in an ordered relationship.
        case missingOrder
        /// NULL in a mandatory attribute.
        case missingValue
        /// A `Z_ENT` that is no entity of the table.
        case unknownEntity
        /// A `Z_MAX` below the highest key.
        case lowMaximumKey
        /// A value that names an external file which is not there.
        case missingFile
    }

    package var kind: Kind
    package var entity: String
    package var property: String?
    package var rows: Int64

    /// Looks for damage in every row of a store; takes one scan of each table and a look-up per key.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    ///   - missingValues: Whether mandatory attributes are looked at; not where another check does.
    ///   - soundTables: Tables whose rows are known to be all of entities that belong there.
    ///   - walk: A walk over the pages of the store as they are now, where there was one.
    /// - Returns: What was found, by kind, entity and property; kinds without a row are left out.
    /// - Throws: ``DatabaseError``.
    package static func scan(
        _ layout: StoreLayout, on connection: Connection, schema: String = "main", missingValues: Bool = true,
        soundTables: Set<String> = [], walk: PageWalk? = nil
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: schema)
        scan.looksForMissingValues = missingValues
        scan.soundTables = soundTables
        scan.walk = walk
        try scan.run()
        return scan.found
    }

    /// Looks only at relationships: what must be known before keys are copied as they are.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - connection: An open connection.
    ///   - schema: The name under which the store is attached.
    /// - Returns: What was found, by entity and property.
    /// - Throws: ``DatabaseError``.
    package static func brokenLinks(
        in layout: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws(DatabaseError) -> [StoreDamage] {
        var scan = DamageScan(layout: layout, connection: connection, schema: schema)
        try scan.findBrokenLinks()
        return scan.found
    }

    /// Looks for values that name a file which the store does not have.
    ///
    /// - Parameters:
    ///   - layout: The store's actual layout.
    ///   - store: The path of the store's main file, beside which the files are.
    ///   - connection: An open connection to it.
    ///   - files: The file layer.
    /// - Returns: One per attribute, by entity and property; attributes without such a value are left out.
    /// - Throws: ``DatabaseError``, ``FerryError``.
    package static func missingFiles(
        in layout: StoreLayout, of store: String, on connection: Connection, files: FileLayer
    ) throws -> [StoreDamage] {
        let folder = ExternalData.folder(forStore: store)
        var found: [StoreDamage] = []
        for (key, _) in ExternalData.attributes(of: layout) {
            var missing: Int64 = 0
            try ExternalData.forEachReference(of: key, in: layout, on: connection) { name in
                if try !files.exists(folder + "/" + name) { missing += 1 }
            }
            if missing > 0 {
                found.append(
                    StoreDamage(kind: .missingFile, entity: key.entity, property: key.property, rows: missing))
            }
        }
        return found
    }
}
