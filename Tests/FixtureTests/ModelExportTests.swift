import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// The XML of every model of the fixtures gives the version hashes from which it was written.
@Suite("Models written as XML", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct ModelExportTests {
    /// Writes a model and reads it again: nothing but what the notes tell may differ.
    private func check(_ model: ManagedObjectModel, _ hashes: [String: [UInt8]], _ name: String) throws -> [String] {
        let writer = try SourceModelWriter(model, hashes: hashes)
        let again = try SourceModel.readUnchecked(writer.bytes, path: name)
        #expect(VersionHash.hashes(of: again) == hashes, "\(name)")
        for entity in model.sortedEntityNames {
            let (written, read) = (try #require(model.entities[entity]), try #require(again.entities[entity]))
            #expect(comparable(written) == comparable(read), "\(name): \(entity)")
        }
        // What is read is written in the same bytes.
        #expect(try SourceModelWriter(again, hashes: hashes).bytes == writer.bytes, "\(name)")
        return writer.notes
    }

    /// The entity without what only an archive has.
    private func comparable(_ entity: Entity) -> Entity {
        var entity = entity
        entity.fetchedProperties = []
        for index in entity.attributes.indices {
            entity.attributes[index].archived = [:]
            entity.attributes[index].compositeName = nil
            // An archive names the usual class of a type too.
            if entity.attributes[index].type != .transformable { entity.attributes[index].valueClassName = nil }
            if [.binary, .transformable].contains(entity.attributes[index].type) {
                entity.attributes[index].defaultValue = nil
            }
        }
        for index in entity.fetchIndexes.indices { entity.fetchIndexes[index].archivedPredicate = nil }
        return entity
    }

    @Test("Every source model")
    func sources() throws {
        let versions = try FixtureModels.sources(below: "")
        for version in versions {
            let notes = try check(version.model, version.hashes, version.path)
            let fetched = version.model.entities.values.flatMap(\.fetchedProperties)
            #expect(notes.isEmpty == fetched.isEmpty, "\(version.path): \(notes)")
        }
        #expect(versions.count > 200)
    }

    @Test("Every compiled model")
    func compiled() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Fixtures.path("")))
        let paths = files.compactMap { $0 as? String }.filter { $0.hasSuffix(".mom") }.sorted()
        var count = 0
        for path in paths {
            let version = try #require(try ModelCatalog(paths: [Fixtures.path(path)]).versions.first)
            _ = try check(version.model, version.hashes, path)
            count += 1
        }
        #expect(count == paths.count && count > 0)
    }

    @Test("Every model that a store holds")
    func cached() throws {
        var count = 0
        for store in Fixtures.stores {
            let folder = try TemporaryFolder()
            let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readOnly)
            guard let version = try ModelCache.version(in: connection) else { continue }
            _ = try check(version.model, version.hashes, store)
            count += 1
        }
        #expect(count > 40)
    }
}
