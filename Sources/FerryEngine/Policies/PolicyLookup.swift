internal import FerryBase
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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

/// The user info of Core Data's migration manager; on disk, so that a run which goes on finds it again.
extension MigrationManager {
    /// Keeps a value under a key, in the place of the one that was there; nil takes it out.
    public func setUserInfo(_ value: (some Encodable)?, forKey key: String) throws {
        guard let value else {
            return try run("DELETE FROM \(ScratchDatabase.userInfo) WHERE key = ?1", [.text(key)])
        }
        // In an array, since not every decoder takes a bare number.
        let bytes = Array(try JSONEncoder().encode([value]))
        try run("REPLACE INTO \(ScratchDatabase.userInfo) VALUES (?1, ?2)", [.text(key), .blob(bytes)])
    }

    /// The value under a key, or nil.
    public func userInfo<Info: Decodable>(_ type: Info.Type = Info.self, forKey key: String) throws -> Info? {
        guard
            case .blob(let bytes) = try single(
                "SELECT value FROM \(ScratchDatabase.userInfo) WHERE key = ?1", [.text(key)])
        else { return nil }
        return try JSONDecoder().decode([Info].self, from: Data(bytes)).first
    }
}
