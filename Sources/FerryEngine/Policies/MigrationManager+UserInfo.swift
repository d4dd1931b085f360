internal import FerryBase
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

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
