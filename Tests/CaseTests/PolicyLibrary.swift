import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Twelve books on two shelves with tags, and a step that maps books to a model with authors.
struct PolicyLibrary {
    let store: StoreBuilder
    let target: ModelVersion

    private static func relationship(
        _ name: String, _ entity: String, _ inverse: String, many: Bool = false, ordered: Bool = false
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: entity, isOptional: true,
            isOrdered: ordered, maxCount: many ? 0 : 1)
    }

    private static func model(hasAuthors: Bool) -> ManagedObjectModel {
        let text = { Attribute(name: $0, type: .string, isOptional: true) }
        let shelf = Entity(
            name: "Shelf", attributes: [text("name")],
            relationships: [relationship("books", "Book", "shelf", many: true, ordered: true)])
        let tag = Entity(
            name: "Tag", attributes: [text("name")], relationships: [relationship("books", "Book", "tags", many: true)])
        var book = Entity(
            name: "Book",
            attributes: [
                text(hasAuthors ? "name" : "title"), Attribute(name: "pages", type: .integer32, isOptional: true),
            ],
            relationships: [
                relationship("shelf", "Shelf", "books"), relationship("tags", "Tag", "books", many: true),
            ])
        guard hasAuthors else {
            return ManagedObjectModel(versionIdentifiers: ["1"], entities: [book, shelf, tag])
        }
        book.attributes.append(Attribute(name: "code", type: .integer64, isOptional: true))
        book.relationships.append(relationship("author", "Author", "books"))
        let author = Entity(
            name: "Author", attributes: [text("name")],
            relationships: [relationship("books", "Book", "author", many: true)])
        return ManagedObjectModel(versionIdentifiers: ["2"], entities: [author, book, shelf, tag])
    }

    init() throws {
        store = try StoreBuilder(Self.model(hasAuthors: false), maximumKeys: ["Book": 20, "Shelf": 2, "Tag": 2])
        target = ModelVersion(of: Self.model(hasAuthors: true), name: "New")
        try store.execute(
            "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'upper'), (2, 2, 1, 'lower')",
            "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 3, 1, 'red'), (2, 3, 1, 'green')",
            """
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12)
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES, ZSHELF, Z_FOK_SHELF)
            SELECT n, 1, n, CASE WHEN n <> 7 THEN substr('abc', n % 3 + 1, 1) || n END, n * 10, 1 + n % 2, 50000 - n
            FROM c
            """)
        let join = try #require(store.layout.joinTables.first)
        try store.execute(
            """
            INSERT INTO \(join.name) (\(join.firstColumn), \(join.secondColumn))
            SELECT b.Z_PK, t.Z_PK FROM ZBOOK b, ZTAG t WHERE b.Z_PK % (t.Z_PK + 1) = 0
            """)
    }

    func mapping(
        policy: String? = "App.Split",
        attributes: [String: AttributeRule] = ["code": .value(.keyPath(.variable("source"), [.key("pages")]))]
    ) -> MappingModel {
        MappingModel(
            name: "Step", path: "", sourceVersion: store.version.name, destinationVersion: target.name,
            entityMappings: [
                EntityMapping(
                    name: "BookToBook", source: "Book", destination: "Book", attributes: attributes,
                    policyClassName: policy),
                EntityMapping(name: "ShelfToShelf", source: "Shelf", destination: "Shelf"),
                EntityMapping(name: "TagToTag", source: "Tag", destination: "Tag"),
            ])
    }

    func step(
        _ policies: [String: PolicyFactory], _ mapping: MappingModel? = nil, in folder: TemporaryFolder,
        chunkSize: ChunkSize = .rows(4), vfs: VFS? = nil
    ) throws -> StepRun {
        let registry = PolicyRegistry(policies)
        let plan = Planner(
            catalog: ModelCatalog(versions: [store.version, target]), mappingModels: [mapping ?? self.mapping()],
            policies: registry.known
        ).plan(from: store.version, to: target, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: store.path, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: chunkSize, now: 0, vfs: vfs), policies: registry)
    }

    /// Runs and verifies a step.
    func complete(_ run: StepRun) throws -> StepReport {
        let report = try run.run()
        let verification = try Verification(
            mode: .full, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 0,
            policies: report.policies
        ).run()
        #expect(verification.differences.isEmpty, "\(verification.differences)")
        try run.finish()
        return report
    }
}
