import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// An empty store, generated for the model of each real store, compared with the real store.
@Suite(.enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct FixtureGenerationTests {
    /// Stores that Core Data itself migrated in place, some through dozens of versions.
    private static let migratedInPlace = ["wire-zmessaging/store2-"]

    /// The differences from real stores, with the reasons.
    static let exceptions: [String: String] = {
        // Stores with equal models and framework versions differ in this, so no rule of the model decides it.
        let otherSide = "the other one of two relationships between an entity and itself names the join table"
        var exceptions = [
            "wire-zmessaging/store2-101-0.wiredatabase columnOrder": "migrations in place append new columns"
        ]
        for store in ["store1-28", "store2-3", "store2-101-0"] {
            exceptions["wire-zmessaging/\(store).wiredatabase joinTable"] = otherSide
        }
        return exceptions
    }()

    struct Comparison {
        var same: [String: Int] = [:]
        var all: [String: Int] = [:]
        /// The differences by `store kind`.
        var different: [String: [String]] = [:]

        mutating func note(_ kind: String, in store: String, _ what: String, isSame: Bool) {
            all[kind, default: 0] += 1
            if isSame {
                same[kind, default: 0] += 1
            } else {
                different["\(store) \(kind)", default: []].append(what)
            }
        }
    }

    @Test("An empty generated store has the tables, columns, numbers and indexes of the real store")
    func generated() throws {
        var comparison = Comparison()
        for store in Fixtures.stores {
            let folder = try TemporaryFolder()
            let connection = try Connection(path: Fixtures.copyStore(store, into: folder), mode: .readOnly)
            let metadata = try StoreMetadata.read(from: connection)
            guard let version = try FixtureModels.version(of: store, on: connection, metadata: metadata) else {
                continue
            }
            let path = folder.file("Generated.sqlite")
            try StoreGenerator(version, options: GenerationOptions(rows: 0)).generate(at: path, files: FileLayer())
            let generated = try Connection(path: path, mode: .readOnly)
            try compare(generated, connection, version, metadata, store, &comparison)
        }
        for kinds in [["columnOrder", "joinTable"], ["columns"], ["entityNumber"], ["index"], ["trigger"]] {
            let count = kinds.reduce(0) { $0 + (comparison.all[$1] ?? 0) }
            let same = kinds.reduce(0) { $0 + (comparison.same[$1] ?? 0) }
            #expect(count > 0)
            #expect(Double(same) >= 0.97 * Double(count), "\(kinds): \(same) of \(count)")
        }
        #expect(Set(comparison.different.keys) == Set(Self.exceptions.keys), "\(comparison.different)")
    }

    private func compare(
        _ generated: Connection, _ real: Connection, _ version: ModelVersion, _ metadata: StoreMetadata,
        _ store: String, _ comparison: inout Comparison
    ) throws {
        let layout = try StoreLayout.canonical(for: version.model)
        let (new, old) = (try StoreCatalog(generated), try StoreCatalog(real))
        let numbers = "SELECT Z_ENT, Z_SUPER, Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_ENT"
        let pairs = zip(try generated.rows(numbers), try real.rows(numbers))
        for (entity, other) in pairs {
            // A real store can still have the name from before an entity was renamed.
            comparison.note("entityNumber", in: store, entity[2].text ?? "", isSame: entity[0...1] == other[0...1])
        }
        for table in layout.tablesInOrder {
            let columns = (new.table(table.name)?.columns, old.table(table.name)?.columns)
            comparison.note(
                "columns", in: store, table.name, isSame: columns.0.map(Set.init) == columns.1.map(Set.init))
            comparison.note("columnOrder", in: store, table.name, isSame: columns.0 == columns.1)
        }
        for table in layout.joinTables {
            let same = new.table(table.name)?.columns == old.table(table.name)?.columns
            comparison.note("joinTable", in: store, table.name, isSame: same)
        }
        let isMigrated = Self.migratedInPlace.contains { store.hasPrefix($0) }
        // Before framework 836 indexed attributes had indexes of another form.
        guard !isMigrated, (metadata.frameworkVersion ?? 0) >= 836 else { return }
        let names = Set(layout.tables.values.map(\.name) + layout.joinTables.map(\.name))
        let (made, found) = (new.indexes, old.indexes.filter { names.contains($0.table) })
        for index in Set(made + found) {
            comparison.note("index", in: store, index.name, isSame: made.contains(index) && found.contains(index))
        }
        let triggers = (Set(new.triggers.map(\.sql)), Set(old.triggers.map(\.sql)))
        for trigger in triggers.0.union(triggers.1) {
            comparison.note(
                "trigger", in: store, trigger, isSame: triggers.0.contains(trigger) && triggers.1.contains(trigger))
        }
    }
}
