import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Join tables that are copied as they are, and join tables whose links must be looked up one by one.
@Suite("The links of a join table")
struct LinkCopyTests {
    /// The way in which links are written into the new table.
    enum Form: String, Sendable { case read, lookedUp }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var destination: ManagedObjectModel
        var form: Form
        var damage: [String] = []
        var count: Int64 = 3
        var testDescription: String { name }
    }

    /// Returns a model of articles with tags in an order, topics among the tags, and similar articles.
    private static func model(
        article: String = "Article", tags: Bool = true, topics: Bool = true, extra: Bool = true
    ) -> ManagedObjectModel {
        let id = article == "Article" ? nil : "Article"
        return ManagedObjectModel(
            versionIdentifiers: [""],
            entities: [
                .made(
                    article, id: id, extra ? [.text("title"), .text("note")] : [.text("title")],
                    [
                        .many("similar", article, inverse: "similar"),
                        .many("tags", "Tag", inverse: "articles", ordered: tags),
                    ]),
                .made("Tag", [.text("name")], [.many("articles", article, inverse: "tags")]),
            ] + (topics ? [.made("Topic", parent: "Tag")] : []))
    }

    private static let source = model(extra: false)

    private static let rows = [
        "INSERT INTO ZARTICLE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (4, 1, 1, 'd')",
        "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'x'), (2, 3, 1, 'y'), (3, 2, 1, 'z')",
        "INSERT INTO Z_1TAGS (Z_1ARTICLES, Z_2TAGS, Z_FOK_2TAGS) VALUES (4, 1, 2048), (1, 3, 3072), (1, 2, 2048)",
        "INSERT INTO Z_1SIMILAR (Z_1SIMILAR, REFLEXIVE) VALUES (2, 4), (2, 1)",
    ]

    static let cases = [
        Case(name: "same columns", destination: model(), form: .read),
        Case(name: "sides change places", destination: model(article: "Zine"), form: .read),
        Case(name: "order is given up", destination: model(tags: false), form: .read),
        Case(name: "some tags are removed", destination: model(topics: false), form: .lookedUp, count: 2),
        Case(
            name: "the source lacks the index", destination: model(), form: .read,
            damage: ["DROP INDEX Z_1TAGS_Z_2TAGS_INDEX"]),
        Case(
            name: "a position is missing", destination: model(), form: .read,
            damage: ["UPDATE Z_1TAGS SET Z_FOK_2TAGS = NULL WHERE Z_2TAGS = 3"]),
        Case(
            name: "a link from a missing row", destination: model(), form: .lookedUp,
            damage: ["INSERT INTO Z_1TAGS VALUES (9, 1, 1024)"]),
        Case(
            name: "a dangling link", destination: model(article: "Zine"), form: .lookedUp,
            damage: ["INSERT INTO Z_1TAGS VALUES (1, 9, 1024)"]),
        Case(
            name: "a link without an end", destination: model(), form: .lookedUp,
            damage: ["INSERT INTO Z_1TAGS VALUES (NULL, 1, 1024), (2, NULL, 1024), (2, NULL, 1024)"]),
        Case(
            name: "a link to a row of no tag", destination: model(), form: .lookedUp,
            damage: ["UPDATE ZTAG SET Z_ENT = 1 WHERE Z_PK = 1"], count: 2),
        Case(
            name: "a key that is no number", destination: model(), form: .lookedUp,
            damage: ["INSERT INTO Z_1TAGS VALUES ('1x', 1, 1024), (1, 1.5, 1024)"]),
    ]

    @Test("are the same whether copied as they are or looked up one by one", arguments: cases)
    func agree(_ test: Case) throws {
        let store = try StoreBuilder(Self.source, maximumKeys: ["Article": 4, "Tag": 3])
        for sql in Self.rows + test.damage { try store.connection.execute(sql) }
        let step = try InPlaceStep.plan(Self.source, test.destination)
        let (copied, statements) = try run(step, store, damage: nil)
        // With reported damage, the run looks up each link of both tables.
        let suspects = try JSONDecoder().decode(
            [StoreDamage].self,
            from: Data(
                """
                [{"kind": "danglingKey", "entity": "Article", "property": "tags", "rows": 0},
                 {"kind": "danglingKey", "entity": "Article", "property": "similar", "rows": 0}]
                """.utf8))
        var damage = try StoreDamage.brokenLinks(in: store.layout, on: store.connection)
        damage += suspects.filter { suspect in
            !damage.contains { $0.kind == suspect.kind && $0.property == suspect.property }
        }
        let (careful, others) = try run(step, store, damage: damage)
        #expect(try DatabaseDump.text(copied) == DatabaseDump.text(careful))
        let table = try #require(
            StoreLayout.canonical(for: test.destination).joinTables.first { !$0.isReflexive }?.name)
        #expect(try #require(form(of: table, in: statements)) == test.form)
        #expect(form(of: table, in: others) == .lookedUp)
        let connection = try Connection(path: copied, mode: .readOnly)
        #expect(try connection.integer("SELECT count(*) FROM \(table)") == test.count)
        #expect(try connection.value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A join table that is filled by a mapping with a condition holds only the objects that meet it")
    func filtered() throws {
        let store = try StoreBuilder(Self.source, maximumKeys: ["Article": 4, "Tag": 3])
        for sql in Self.rows { try store.connection.execute(sql) }
        let file = store.folder.file("Map.json")
        try FileLayer().replace(
            file,
            with: Array(
                """
                { "source": "Model", "destination": "Model 2", "entityMappings": [
                    { "name": "A", "source": "Article", "destination": "Article" },
                    { "name": "T", "source": "Tag", "destination": "Tag", "where": "name != 'x'" },
                    { "name": "O", "source": "Topic", "destination": "Topic" } ] }
                """.utf8))
        let versions = [ModelVersion(of: Self.source, name: "Model"), ModelVersion(of: Self.model(), name: "Model 2")]
        let plan = Planner(catalog: ModelCatalog(versions: versions), mappingModels: [try MappingFile.load(path: file)])
            .plan(from: versions[0], to: versions[1], rows: [:], areRowsEstimated: true)
        let (path, statements) = try run(#require(plan.steps.first), store, damage: nil)
        #expect(form(of: "Z_1TAGS", in: statements) == .lookedUp && form(of: "Z_1SIMILAR", in: statements) == .read)
        #expect(
            try Connection(path: path, mode: .readOnly).rows("SELECT Z_2TAGS FROM Z_1TAGS ORDER BY 1")
                == [[.integer(2)], [.integer(3)]])
    }

    @Test("A join table is copied with its index into a file that begins as the store, too")
    func inCopyOfStore() throws {
        let store = try StoreBuilder(Self.source, maximumKeys: ["Article": 4, "Tag": 3])
        for sql in Self.rows { try store.connection.execute(sql) }
        let step = try InPlaceStep.plan(Self.source, Self.model())
        let (empty, _) = try run(step, store, damage: nil)
        let (copy, statements) = try run(step.filled(), store, damage: nil, inCopy: true)
        #expect(statements.contains { $0.hasSuffix("INTO main.Z_1TAGS SELECT * FROM source.Z_1TAGS") })
        let connections = try [empty, copy].map { try Connection(path: $0, mode: .readOnly) }
        #expect(try StoreRows.text(connections[0]) == StoreRows.text(connections[1]))
        #expect(try connections[1].value("PRAGMA integrity_check") == .text("ok"))
    }

    // MARK: Running

    /// Runs and verifies a step; returns the new store and the statements.
    private func run(
        _ step: StepPlan, _ store: StoreBuilder, damage: [StoreDamage]?, inCopy: Bool = false
    ) throws -> (path: String, statements: [String]) {
        let statements = Locked<[String]>([])
        let folder = store.folder.file("run-\(UUID().uuidString)")
        try FileLayer().createDirectory(folder)
        var options = EngineOptions(chunkSize: .rows(2), now: 700_000_000)
        options.trace = { event in statements.withLock { $0.append(event.text) } }
        options.sourceDamage = damage
        let run = StepRun(
            step: step, sourcePath: store.path, isSourcePrivate: true, folder: folder, options: options,
            keepsTables: inCopy)
        if inCopy { try FileLayer().copy(store.path, to: run.destinationPath) }
        let report = try run.run()
        let verification = Verification(
            mode: .full, step: step.resolved, sourcePath: store.path, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: folder, counts: report.counts, now: options.now)
        #expect(try verification.run().differences.isEmpty)
        try run.finish()
        return (run.destinationPath, statements.withLock { $0 })
    }

    private func form(of table: String, in statements: [String]) -> Form? {
        let inserts = statements.filter {
            $0.hasPrefix("INSERT OR IGNORE INTO main.\(table) ") || $0.hasPrefix("INSERT INTO main.\(table) ")
        }
        if inserts.isEmpty { return nil }
        return inserts.contains { $0.contains("JOIN") || $0.contains("scratch.") } ? .lookedUp : .read
    }
}
