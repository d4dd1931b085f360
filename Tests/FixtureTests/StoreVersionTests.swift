import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// The model version of every real store.
@Suite("Versions of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct StoreVersionTests {
    /// Store and version, from a text file.
    ///
    /// After `cached`: the model is the one cached in the store, because no model file has the version; after `merged`:
    /// the store is of several models; after `none`: there is no such model, and the nearest version follows.
    private static let expected: [String] = {
        let path = Fixtures.packageRoot + "/Tests/FixtureTests/Versions.txt"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }()

    @Test("The version of each store is found in its folder or in the store, or is correctly missing")
    func versions() throws {
        #expect(try Fixtures.stores.map { "\($0): \(try version(of: $0))" } == Self.expected)
    }

    private func version(of store: String) throws -> String {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readOnly)
        let hashes = try StoreMetadata.read(from: connection).hashes
        let catalog = try self.catalog(of: String(store.prefix { $0 != "/" }))
        let cached = try ModelCache.version(in: connection)
        // A cached model always has its store's hashes.
        #expect(cached == nil || cached?.hashes == hashes, "\(store)")
        let matching = catalog.versions(matching: hashes)
        guard matching.isEmpty else { return matching.map(catalog.displayName).joined(separator: " = ") }
        let nearest = catalog.nearest(to: hashes)
        let parts = catalog.versions.filter { part in part.hashes.allSatisfy { hashes[$0.key] == $0.value } }
        if Set(parts.flatMap(\.hashes.keys)) == Set(hashes.keys) {
            return "merged \(parts.map(catalog.displayName).joined(separator: " + "))"
        }
        let differs = nearest.map {
            ", nearest \(catalog.displayName(of: $0.version)), other \($0.differs.joined(separator: " "))"
        }
        return (cached == nil ? "none" : "cached") + (differs ?? "")
    }

    /// Returns all models of a folder, those of its history included; empty if none is readable.
    private func catalog(of family: String) throws -> ModelCatalog {
        let versions = try ["", "/from-history"].flatMap { place -> [ModelVersion] in
            do throws(FerryError) {
                return try ModelCatalog(paths: [Fixtures.path(family + place)]).versions
            } catch {
                guard [.notFound, .badModel].contains(error.code) else { throw error }
                return []
            }
        }
        return ModelCatalog(versions: versions)
    }
}
