import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("Model cache")
struct ModelCacheTests {
    @Test(
        "Ferry's archive of a cached model has the same objects as Core Data's",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func graphs() throws {
        let folder = try TemporaryFolder()
        var compared = 0
        for (number, store) in Fixtures.stores.enumerated() {
            let connection = try Connection(
                path: Fixtures.copyStore(store, into: folder, as: "\(number).sqlite"), mode: .readWrite)
            guard let model = try ModelCache.model(in: connection), let archive = try ModelCache.archive(in: connection)
            else { continue }
            let own = try ArchivedModel.encode(model)
            let differences = try ArchiveGraph(archive).differences(from: ArchiveGraph(own))
            if !differences.isEmpty { Issue.record("\(store): \(differences.count) \(differences.prefix(6))") }
            #expect(try ArchivedModel.decode(KeyedArchive(own)) == model, "\(store)")
            compared += 1
        }
        #expect(compared >= 54)
    }

    @Test("A model that was written into a store is read unchanged")
    func written() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: ["1"],
            entities: [
                Entity(
                    name: "Book",
                    attributes: [
                        Attribute(name: "price", type: .decimal, defaultValue: .real(-12.5)),
                        Attribute(name: "title", type: .string, isOptional: true, userInfo: ["note": "x"]),
                        Attribute(name: "count", type: .integer64, derivationExpression: "pages.@count"),
                        Attribute(name: "uuid", type: .uuid, defaultValue: .blob(Array(0..<16))),
                    ],
                    relationships: [
                        Relationship(
                            name: "pages", destinationEntity: "Page", inverseName: "book", inverseEntity: "Page",
                            isOrdered: true, maxCount: 0)
                    ], uniquenessConstraints: [["title", "price"]],
                    fetchIndexes: [FetchIndex(name: "byTitle", elements: [.init(property: "title")])]),
                Entity(name: "Novel", superentity: "Book"),
                Entity(
                    name: "Page",
                    relationships: [
                        Relationship(
                            name: "book", destinationEntity: "Book", inverseName: "pages", inverseEntity: "Book")
                    ]),
            ], configurations: ["Main": ["Book", "Novel", "Page"]])
        let store = try StoreBuilder(model)
        for _ in 0..<2 { try ModelCache.write(model, on: store.connection) }
        #expect(try store.connection.integer("SELECT count(*) FROM Z_MODELCACHE") == 1)
        let read = try #require(try ModelCache.version(in: store.connection))
        #expect(read.hashes == VersionHash.hashes(of: model))
        #expect(read.model.attribute("price", of: "Book")?.defaultValue == .real(-12.5))
        #expect(read.model.configurations == model.configurations)
        #expect(read.model.entities["Book"]?.fetchIndexes == model.entities["Book"]?.fetchIndexes)
        #expect(read.model.entities["Book"]?.uniquenessConstraints == [["title", "price"]])
        #expect(read.model.attribute("title", of: "Novel")?.userInfo == ["note": "x"])
    }
}
