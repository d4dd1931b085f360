internal import FerryBase
internal import FerrySQLite

/// A dictionary from values to destination objects, which is on disk and committed with the rows.
///
/// It serves policies that find an object or create it. All policies of a step share the lookups, by their names.
public final class PolicyLookup {
    public let name: String
    private let manager: MigrationManager
    private let search: Statement
    private let record: Statement

    init(_ name: String, _ manager: MigrationManager) throws {
        self.name = name
        self.manager = manager
        search = try manager.prepare(
            "SELECT entity, destination FROM \(ScratchDatabase.policyLookup) WHERE name = ?1 AND key = ?2")
        record = try manager.prepare("REPLACE INTO \(ScratchDatabase.policyLookup) VALUES (?1, ?2, ?3, ?4)")
    }

    /// The object under a key, or nil.
    public func object(forKey key: MigrationValue) throws -> DestinationObject? {
        try search.bind(name, at: 1)
        try search.bind(key.plain, at: 2)
        defer { search.reset() }
        guard try search.step() else { return nil }
        return try manager.destinationObject(number: search.integer(0), key: search.integer(1))
    }

    /// Puts an object under a key, in the place of the one that was there.
    public func setObject(_ object: DestinationObject, forKey key: MigrationValue) throws {
        guard !key.isNull else {
            throw FerryError(
                .rowFailed, "The lookup \(name) was given nil as a key.", remedy: "Look up values only.")
        }
        try record.bind([.text(name), key.plain, .integer(object.writer.number), .integer(object.primaryKey)])
        try record.run()
    }
}
