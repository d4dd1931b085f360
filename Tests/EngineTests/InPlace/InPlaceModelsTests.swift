import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Every pair of neighbouring versions of the real models, on stores with a few rows of each entity.
@Suite("Real models in place", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct InPlaceModelsTests {
    static let families: [String] = {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.root)) ?? []
        let lone = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.path("models-only"))) ?? []
        return (folders.filter { !["models-only", "field"].contains($0) } + lone.map { "models-only/\($0)" }).sorted()
    }()

    /// Copies take most of the time: each pair runs in place, with the checks before COMMIT, and one in so many pairs
    /// is also copied.
    static let copiedEvery = 12
    /// The sweep runs every pair.
    static let runEvery = Sweep.isFull ? 1 : 4

    @Test("Each inferable pair has the same result in place and copied")
    func neighbours() throws {
        var (done, copies, mandatory) = (0, [String](), [String]())
        for family in Self.families {
            let catalog = ModelCatalog(versions: try FixtureModels.sources(below: family))
            for (place, (old, new)) in zip(catalog.versions, catalog.versions.dropFirst()).enumerated()
            where old.hashes != new.hashes && place % Self.runEvery == Self.runEvery - 1 {
                let name = "\(family): \(old.name) to \(new.name)"
                let plan = Planner(
                    catalog: ModelCatalog(versions: [named(old, "Model"), named(new, "Model 2")]), mappingModels: []
                ).plan(
                    from: named(old, "Model"), to: named(new, "Model 2"), rows: [:], areRowsEstimated: true)
                // Other tests cover pairs that cannot be inferred.
                guard plan.refusals.isEmpty, let step = plan.steps.first else { continue }
                if step.mode == .copy { copies.append(name) }
                do {
                    let store = try StoreBuilder(old.model)
                    try SampleRows(store).insert()
                    let taken = InPlaceStep(store: store, step: step)
                    if done.isMultiple(of: Self.copiedEvery) {
                        try taken.compare()
                    } else {
                        _ = try taken.inPlace()
                    }
                    done += 1
                } catch let error as FerryError where error.code == .mandatoryValue {
                    mandatory.append(name)
                } catch {
                    Issue.record("\(name): \(error)")
                }
            }
        }
        // A pair whose identifiers say that it leads backwards is refused.
        #expect(done >= (Sweep.isFull ? 285 : 50))
        // Relationships get another form, or entities leave their hierarchy.
        #expect(copies.count < done / 10, "\(copies)")
        let knownMandatory = [
            "models-only/openemu: OEDatabase 1.3 to OEDatabase", "practical-core-data: Chapter9 5 to Chapter9",
        ]
        #expect(
            Sweep.isFull ? mandatory == knownMandatory : mandatory.allSatisfy(knownMandatory.contains), "\(mandatory)")
    }

    private func named(_ version: ModelVersion, _ name: String) -> ModelVersion {
        var version = version
        (version.name, version.bundle) = (name, nil)
        return version
    }
}

/// Three objects of every concrete entity, each related to the objects with the same index.
private struct SampleRows {
    let store: StoreBuilder

    init(_ store: StoreBuilder) { self.store = store }

    func insert() throws {
        let layout = store.layout
        try store.connection.execute("BEGIN")
        var keys: [String: [Int64]] = [:]
        var last: [String: Int64] = [:]
        let concrete = layout.model.sortedEntityNames.filter { layout.model.entities[$0]?.isAbstract == false }
        for entity in concrete {
            let root = layout.model.root(of: entity)
            keys[entity] = (1...3).map { (last[root] ?? 0) + $0 }
            last[root] = (last[root] ?? 0) + 3
        }
        for entity in concrete { try insert(entity, keys, layout) }
        for join in layout.joinTables {
            let owners = family(of: join.relationship.entity, keys, layout)
            let others = family(of: join.inverse.entity, keys, layout)
            for (place, (owner, other)) in zip(owners, others).enumerated() {
                let orders = [join.firstOrderColumn, join.secondOrderColumn].compactMap { $0 }
                let names = ([join.firstColumn, join.secondColumn] + orders).joined(separator: ", ")
                let values = [owner.key, other.key] + orders.map { _ in Int64(2048 + 1024 * place) }
                try store.connection.execute(
                    "INSERT OR IGNORE INTO \(join.name) (\(names)) VALUES (\(values.map(String.init).joined(separator: ", ")))"
                )
            }
        }
        try store.connection.execute("COMMIT")
    }

    private func family(
        of entity: String, _ keys: [String: [Int64]], _ layout: StoreLayout
    ) -> [(entity: String, key: Int64)] {
        layout.model.family(of: entity).sorted().flatMap { name in (keys[name] ?? []).map { (name, $0) } }
    }

    private func insert(_ entity: String, _ keys: [String: [Int64]], _ layout: StoreLayout) throws {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return }
        for (place, key) in (keys[entity] ?? []).enumerated() {
            var columns = ["Z_PK": "\(key)", "Z_ENT": "\(number)", "Z_OPT": "\(place + 1)"]
            for (property, column) in layout.attributeColumns(of: entity) {
                guard let attribute = layout.attribute(property) else { continue }
                if place == 2, attribute.isOptional { continue }
                columns[column.name] = value(attribute, key)
            }
            // Both sides of a one-to-one relationship lead to the object with the same index.
            for relationship in layout.model.relationships(of: entity) {
                guard
                    case .foreignKey(_, let column, let entityColumn, let order)? = layout.storage(
                        of: relationship.name, in: entity)
                else { continue }
                let targets = family(of: relationship.destinationEntity, keys, layout)
                let inverse = layout.model.inverse(of: relationship)
                // Several entities that share a destination could not agree with its inverse relationship.
                let isOneToOne = inverse.map { !$0.isToMany } ?? false
                guard !isOneToOne, let target = targets.dropFirst(place).first else { continue }
                columns[column] = "\(target.key)"
                if let entityColumn { columns[entityColumn] = "\(layout.number(of: target.entity) ?? 0)" }
                if let order { columns[order] = "\(2048 + 1024 * Int(key))" }
            }
            let names = columns.keys.sorted()
            try store.connection.execute(
                "INSERT INTO \(table.name) (\(names.joined(separator: ", "))) "
                    + "VALUES (\(names.map { columns[$0] ?? "NULL" }.joined(separator: ", ")))")
        }
    }

    private func value(_ attribute: Attribute, _ key: Int64) -> String {
        switch attribute.type {
        case .boolean: "\(key % 2)"
        case .integer16, .integer32, .integer64: "\(key * 3)"
        case .double, .float, .decimal, .date: "\(key).5"
        case .string: "'\(attribute.name) \(key)'"
        case .uri: "'https://example.org/\(key)'"
        case .uuid: "x'000102030405060708090a0b0c0d0e0\(key % 10)'"
        default: "x'01\(key % 10)0'"
        }
    }
}
