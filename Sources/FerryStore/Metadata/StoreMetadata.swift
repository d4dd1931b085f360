internal import FerryBase
package import FerryModel
package import FerrySQLite

/// The metadata of a store: its UUID and the property list of `Z_METADATA`.
///
/// Keys that are not Core Data's belong to the app and stay unchanged.
package struct StoreMetadata: Sendable, Hashable {
    /// `Z_VERSION`, which is 1 in every known store.
    package var version: Int64 = 1
    /// `Z_UUID`, the first part of every object URI.
    package var uuid: String
    package var properties: [String: PropertyTree]

    private enum Key {
        static let storeType = "NSStoreType"
        static let hashes = "NSStoreModelVersionHashes"
        static let hashesVersion = "NSStoreModelVersionHashesVersion"
        static let identifiers = "NSStoreModelVersionIdentifiers"
        static let digest = "NSStoreModelVersionHashesDigest"
        static let checksum = "NSStoreModelVersionChecksumKey"
        static let frameworkVersion = "NSPersistenceFrameworkVersion"
        static let autoVacuum = "_NSAutoVacuumLevel"
    }

    // MARK: Core Data's keys

    /// Entity name to 32 bytes.
    package var hashes: [String: [UInt8]] {
        (properties[Key.hashes]?.dictionary ?? [:]).compactMapValues(\.data)
    }

    package var hashesVersion: Int64? { properties[Key.hashesVersion]?.integer }
    package var versionIdentifiers: [String] { (properties[Key.identifiers]?.array ?? []).compactMap(\.string) }
    package var frameworkVersion: Int64? { properties[Key.frameworkVersion]?.integer }
    package var digest: String? { properties[Key.digest]?.string }
    package var checksum: String? { properties[Key.checksum]?.string }

    /// Returns the metadata of a new store, as a recent framework writes them except for its version.
    package static func new(for version: ModelVersion, uuid: String) -> StoreMetadata {
        let properties: [String: PropertyTree] = [
            Key.storeType: .string("SQLite"), Key.autoVacuum: .string("2"),
            // The lowest framework whose stores have both digest and checksum.
            Key.frameworkVersion: .integer(1321), Key.digest: .string(""), Key.checksum: .string(""),
        ]
        return StoreMetadata(uuid: uuid, properties: properties).restamped(for: version)
    }

    /// Returns the metadata after a migration to a version, with its hashes and identifiers.
    ///
    /// Computes digest and checksum anew if the store has them. The UUID and the app's own keys stay.
    package func restamped(for version: ModelVersion) -> StoreMetadata {
        var stamped = self
        stamped.properties[Key.hashes] = .dictionary(version.hashes.mapValues { .data($0) })
        stamped.properties[Key.hashesVersion] = .integer(3)
        stamped.properties[Key.identifiers] = .array(version.model.versionIdentifiers.map { .string($0) })
        if properties[Key.digest] != nil {
            stamped.properties[Key.digest] = .string(VersionHash.digest(version.hashes))
        }
        if properties[Key.checksum] != nil {
            stamped.properties[Key.checksum] = .string(VersionHash.checksum(version.hashes))
        }
        return stamped
    }

    // MARK: Reading and writing

    /// The longest property list that is read; Core Data's own have some kilobytes.
    private static let longest = 2 << 20

    /// - Throws: `notADatabase`, `notACoreDataStore`, `damagedSource`; ``DatabaseError``.
    package static func read(from connection: Connection, schema: String = "main") throws -> StoreMetadata {
        let path = connection.path
        let found: [Value]?
        do {
            found = try row(of: connection, schema: schema)
        } catch {
            if error.isTooBig {
                throw FerryError(
                    .damagedSource, "The metadata of \(path) is larger than \(longest >> 20) MiB and was not read.",
                    remedy: "Restore the store from a backup, or remove the app's own large values from its metadata.",
                    cause: error)
            }
            guard error.isNotADatabase else { throw error }
            throw FerryError(
                .notADatabase, "\(path) is not an SQLite database but damaged, or encrypted.",
                remedy: "Restore the store from a backup; an encrypted one must be decrypted first.", cause: error)
        }
        var tree: PropertyTree?
        do {
            if case .blob(let bytes)? = found?[2] { tree = try PropertyTree(binary: bytes) }
        } catch {
            throw FerryError(
                .damagedSource, "The metadata of \(path) is damaged.", remedy: "Restore the store from a backup.",
                cause: error)
        }
        guard let row = found, let uuid = row[1].text, let properties = tree?.dictionary,
            properties[Key.hashes]?.dictionary != nil
        else {
            throw FerryError(
                .notACoreDataStore, "\(path) is a database, but not a Core Data store: it has no store metadata.",
                remedy: "Pass the store's main file, with its -wal next to it if it has one.")
        }
        return StoreMetadata(version: row[0].integer ?? 1, uuid: uuid, properties: properties)
    }

    private static func row(of connection: Connection, schema: String) throws(DatabaseError) -> [Value]? {
        let master = SQLName.quoted(schema, "sqlite_master")
        let exists = try connection.integer("SELECT count(*) FROM \(master) WHERE name = 'Z_METADATA'") ?? 0
        guard exists > 0 else { return nil }
        let table = SQLName.quoted(schema, "Z_METADATA")
        // SQLite refuses a longer value before it reads it.
        let limitBefore = connection.limit(.length, longest)
        defer { connection.limit(.length, limitBefore) }
        return try connection.rows("SELECT Z_VERSION, Z_UUID, Z_PLIST FROM \(table) ORDER BY Z_VERSION LIMIT 1").first
    }

    package func write(to connection: Connection) throws(DatabaseError) {
        try connection.run(Self.writing, [.integer(version), .text(uuid), .blob(encodedProperties)])
    }

    /// Writes the metadata of a store, bound with version, UUID and properties.
    package static let writing =
        "INSERT OR REPLACE INTO \(SQLName.quoted("main", "Z_METADATA")) (Z_VERSION, Z_UUID, Z_PLIST) VALUES (?, ?, ?)"

    /// The bytes of `Z_PLIST`; equal metadata give equal bytes.
    package var encodedProperties: [UInt8] { PropertyTree.dictionary(properties).binary }
}
