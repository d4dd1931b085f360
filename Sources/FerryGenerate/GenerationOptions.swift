package import FerryStore

/// What a generated store holds.
package struct GenerationOptions: Sendable {
    /// Rows of an entity that ``rowsOfEntity`` does not name; abstract entities have none.
    package var rows: Int64
    package var rowsOfEntity: [String: Int64]
    /// The same seed gives the same store.
    package var seed: UInt64
    /// How many of a hundred optional values and relationships are left empty.
    package var emptyPercent: Int64
    /// How many external values of the whole store become files; the others stand in their rows.
    package var externalFiles: Int
    /// The sizes of external files.
    package var externalFileBytes: ClosedRange<Int>
    /// Declaring entity and attribute to how its values are made; the others are plausible.
    package var values: [PropertyKey: ValueMaker]
    /// Declaring entity and many-to-many relationship, of the side that names the table, to related objects per object.
    package var links: [PropertyKey: ClosedRange<Int64>]
    /// Whether the store is left in WAL mode, as Core Data's default is.
    package var usesWriteAheadLog: Bool
    /// The store's UUID; nil for one made from the seed.
    package var uuid: String?

    package init(
        rows: Int64 = 1_000, rowsOfEntity: [String: Int64] = [:], seed: UInt64 = 1, emptyPercent: Int64 = 10,
        externalFiles: Int = 8, externalFileBytes: ClosedRange<Int> = 100_000...5_000_000,
        values: [PropertyKey: ValueMaker] = [:], links: [PropertyKey: ClosedRange<Int64>] = [:],
        usesWriteAheadLog: Bool = true, uuid: String? = nil
    ) {
        self.rows = rows
        self.rowsOfEntity = rowsOfEntity
        self.seed = seed
        self.emptyPercent = emptyPercent
        self.externalFiles = externalFiles
        self.externalFileBytes = externalFileBytes
        self.values = values
        self.links = links
        self.usesWriteAheadLog = usesWriteAheadLog
        self.uuid = uuid
    }
}
