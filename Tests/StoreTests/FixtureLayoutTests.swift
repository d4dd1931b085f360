import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// The computed layout against every real store.
@Suite(.enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct FixtureLayoutTests {
    /// Stores without a source model of their version: it is compiled, or in an editor's old binary form.
    static let withoutModel: Set = [
        "digitalorder-hotel/CoreData.sqlite", "magicalrecord-recipes/Recipes.sqlite",
        "restkit-twitter/RKSeedDatabase.sqlite",
    ]

    /// Stores whose join table has the name of the other side of a self-relationship; the format note counts 12 such
    /// tables against 153.
    static let otherSideNames: Set = [
        "wire-zmessaging/store1-28.wiredatabase", "wire-zmessaging/store2-3.wiredatabase",
        "wire-zmessaging/store2-101-0.wiredatabase",
    ]

    /// Tables with another order of columns: migrations in place append new columns.
    static let otherOrder: [String: Set<String>] = [
        "wire-zmessaging/store2-101-0.wiredatabase": ["ZMESSAGE", "ZCONVERSATION", "ZUSER"]
    ]

    struct Opened {
        let folder: TemporaryFolder
        let connection: Connection
        let metadata: StoreMetadata
        let version: ModelVersion?
    }

    func open(_ store: String) throws -> Opened {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readOnly)
        let metadata = try StoreMetadata.read(from: connection)
        let version = try FixtureModels.version(of: store, on: connection, metadata: metadata)
        return Opened(folder: folder, connection: connection, metadata: metadata, version: version)
    }

    @Test("The collection has the fixture stores of these tests")
    func storesAreThere() {
        #expect(Fixtures.stores.count >= 60)
    }

    @Test("The model of a store has the hashes of its metadata", arguments: Fixtures.stores)
    func modelFits(_ store: String) throws {
        let opened = try open(store)
        #expect((opened.version == nil) == Self.withoutModel.contains(store))
        if let version = opened.version { #expect(version.hashes == opened.metadata.hashes) }
    }

    @Test("Digest and checksum are recomputed as in the store", arguments: Fixtures.stores)
    func digests(_ store: String) throws {
        let opened = try open(store)
        guard let version = opened.version else { return }
        let restamped = opened.metadata.restamped(for: version)
        #expect(restamped.digest == opened.metadata.digest)
        #expect(restamped.checksum == opened.metadata.checksum)
        #expect(restamped.hashes == opened.metadata.hashes)
    }

    @Test("The computed layout of a model is the layout of its store", arguments: Fixtures.stores)
    func canonicalIsActual(_ store: String) throws {
        let opened = try open(store)
        guard let version = opened.version else { return }
        let actual = try StoreLayout.actual(for: version.model, on: opened.connection)
        let canonical = try StoreLayout.canonical(for: version.model)
        #expect(canonical.entityNumbers == actual.entityNumbers)
        #expect(Set(canonical.tables.values.map(\.name)) == Set(actual.tables.values.map(\.name)))
        for (root, table) in canonical.tables {
            let columns = try #require(actual.tables[root]).columns
            if Self.otherOrder[store]?.contains(table.name) == true {
                #expect(Set(table.columns) == Set(columns), "\(table.name)")
                #expect(table.columns != columns, "\(table.name) is no exception any more")
            } else {
                #expect(table.columns == columns, "\(table.name)")
            }
        }
        #expect(canonical.attributeColumns == actual.attributeColumns)
        #expect(canonical.triggers == actual.triggers)
        if !Self.otherSideNames.contains(store) {
            #expect(Set(canonical.joinTables) == Set(actual.joinTables))
            #expect(canonical.relationshipStorage == actual.relationshipStorage)
        } else {
            #expect(canonical.joinTables.count == actual.joinTables.count)
            #expect(Set(canonical.joinTables) != Set(actual.joinTables), "no exception any more")
        }
    }

    @Test("The computed indexes of a model are those of its store", arguments: Fixtures.stores)
    func canonicalIndexes(_ store: String) throws {
        let opened = try open(store)
        // Before framework 836 indexed attributes had indexes of another form, which newer systems keep.
        guard let version = opened.version, !Self.otherSideNames.contains(store),
            (opened.metadata.frameworkVersion ?? 0) >= 836
        else { return }
        let canonical = try StoreLayout.canonical(for: version.model)
        let actual = try StoreLayout.actual(for: version.model, on: opened.connection)
        let missing = Set(canonical.indexes).subtracting(actual.indexes)
        #expect(missing.isEmpty)
        let extra = Set(actual.indexes).subtracting(canonical.indexes).map(\.name)
        // One app's stores kept an index of the old form through their migrations in place.
        #expect(Set(extra).isSubset(of: ["ZADDRESSBOOKENTRY_ZLOCALIDENTIFIER_INDEX"]))
    }

    @Test("A model's source and its cached form have the same layout", arguments: Fixtures.stores)
    func sourcesAgree(_ store: String) throws {
        let opened = try open(store)
        guard let version = opened.version else { return }
        let folder = String(store.prefix { $0 != "/" })
        let canonical = try StoreLayout.canonical(for: version.model)
        for source in try FixtureModels.sources(below: folder) where source.hashes == opened.metadata.hashes {
            let other = try StoreLayout.canonical(for: source.model)
            #expect(other.tables == canonical.tables)
            #expect(other.joinTables == canonical.joinTables)
            #expect(other.relationshipStorage == canonical.relationshipStorage)
            #expect(other.attributeColumns == canonical.attributeColumns)
        }
    }

    @Test("No part of a store counts as an app's object or as a leftover", arguments: Fixtures.stores)
    func objectsAreKnown(_ store: String) throws {
        let opened = try open(store)
        guard let version = opened.version else { return }
        let layout = try StoreLayout.actual(for: version.model, on: opened.connection)
        let inspection = try StoreInspection(of: layout, on: opened.connection)
        #expect(inspection.objects.unknownObjects.isEmpty)
        #expect(inspection.objects.leftoverTables.isEmpty)
        #expect(try StoreDamage.scan(layout, on: opened.connection).isEmpty)
        let rows = inspection.entities.reduce(0) { $0 + ($1.rows ?? 0) }
        let expected = try layout.tables.values.reduce(0) {
            $0 + (try opened.connection.integer("SELECT count(*) FROM \($1.name)") ?? 0)
        }
        #expect(rows == expected)
        #expect(inspection.features.contains("history") == !inspection.objects.historyTables.isEmpty)
    }
}
