import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import TestSupport
import Testing

/// Objects related by a value: an index gives exactly what a scan of all objects gives.
@Suite("Relating by value")
struct ByValueTests {
    private static let source = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Kind",
                attributes: [
                    number("id", .integer64), number("weight", .double), number("name", .string),
                    number("since", .date), number("uid", .uuid), number("link", .uri), number("price", .decimal),
                    number("flag", .boolean),
                ],
                relationships: [
                    Relationship(
                        name: "posts", destinationEntity: "Post", inverseName: "kind", inverseEntity: "Post",
                        isOptional: true, maxCount: 0)
                ]),
            Entity(name: "Kindly", superentity: "Kind"),
            Entity(
                name: "Post",
                attributes: [
                    number("typeid", .integer64), number("code", .double), number("title", .string),
                    number("made", .date), number("uid", .uuid), number("price", .decimal), number("flag", .boolean),
                ],
                relationships: [
                    Relationship(
                        name: "kind", destinationEntity: "Kind", inverseName: "posts", inverseEntity: "Kind",
                        isOptional: true)
                ]),
        ])

    private static func number(_ name: String, _ type: AttributeType) -> Attribute {
        Attribute(name: name, type: type, isOptional: true)
    }

    /// Conditions on `$t`, a kind; each is also written in a form of equal meaning for which there is no index.
    private static let conditions = [
        "$t.id == $source.typeid", "$t.id == $source.code", "$t.weight == $source.typeid",
        "$t.weight == $source.code", "$t.price == $source.price", "$t.price == $source.typeid",
        "$t.id == $source.flag", "$t.flag == $source.typeid", "$t.since == $source.made", "$t.since == $source.code",
        "$t.uid == $source.uid", "$t.name == $source.title", "$source.title == $t.link", "$t.name == $source.kind.link",
        "$t.id == $source.kind.id AND $t.name == $source.title", "$t.weight > 0 AND $t.id == $source.typeid",
        "$t.id == 1 AND $t.name == $source.title", "$t.name == uppercase($source.title)",
        "$t.id == $source.typeid + 1", "$t.posts.@count > 0 AND $t.id == $source.typeid",
        "$t == $source.kind AND $t.id == $source.typeid",
    ]

    private static let kinds =
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Kind', 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)"

    /// The values of a condition's members, in the form with an index or without.
    private static func values(_ condition: String, isIndexed: Bool) -> [String] {
        let members = "SUBQUERY(\(kinds), $t, \(isIndexed ? condition : "(\(condition)) OR FALSEPREDICATE"))"
        return ["\(members).@count", "ifnil:then:(\(members)[FIRST].id, 7)", "\(members).@sum.weight"]
    }

    private static let destination = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Kind",
                relationships: [
                    Relationship(
                        name: "related", destinationEntity: "Post", inverseName: "related", inverseEntity: "Post",
                        isOptional: true, maxCount: 0)
                ]),
            Entity(
                name: "Post",
                attributes: conditions.indices.flatMap { place in
                    ["i", "s"].flatMap { form in
                        [
                            number("\(form)\(place)count", .integer32), number("\(form)\(place)first", .integer64),
                            number("\(form)\(place)sum", .double),
                        ]
                    }
                },
                relationships: [
                    Relationship(
                        name: "related", destinationEntity: "Kind", inverseName: "related", inverseEntity: "Kind",
                        isOptional: true, maxCount: 0)
                ]),
        ])

    private static var mapping: String {
        var attributes: [String] = []
        for (place, condition) in conditions.enumerated() {
            for form in ["i", "s"] {
                for (name, value) in zip(["count", "first", "sum"], values(condition, isIndexed: form == "i")) {
                    attributes.append("\"\(form)\(place)\(name)\": \"\(value)\"")
                }
            }
        }
        return """
            { "source": "Model", "destination": "Model 2", "entityMappings": [
                { "name": "KindToKind", "source": "Kind", "destination": "Kind" },
                { "name": "PostToPost", "source": "Post", "destination": "Post",
                  "attributes": { \(attributes.joined(separator: ", ")) },
                  "relationships": { "related": { "mapping": "KindToKind",
                    "from": "SUBQUERY(\(kinds), $t, $t.id == $source.typeid)" } } } ] }
            """
    }

    /// Values that meet in several types: equal numbers of different types, both zeros, limits of exact numbers, nil.
    private static let numbers = [
        "NULL", "0", "1", "2", "-1", "9007199254740992", "9007199254740993", "-9223372036854775808",
    ]
    private static let reals = [
        "NULL", "0.0", "-0.0", "1.0", "0.5", "9007199254740992.0", "-9223372036854775808.0", "9e999", "-9e999",
    ]
    // Verification compares decimals beyond exact doubles as doubles.
    private static let prices = ["NULL", "0", "1", "1.0", "2.5", "-1", "0.1"]
    private static let texts = ["NULL", "''", "'a'", "'A'", "'ä'", "'a' || char(776)", "'1'", "'B'"]
    private static let identifiers = ["NULL", "X''", "X'00112233445566778899AABBCCDDEEFF'", "X'00'"]

    private func makeStore(seed: Int) throws -> StoreBuilder {
        var random = SplitMix(seed: UInt64(seed))
        func any(_ values: [String]) -> String { values[Int(random.next() % UInt64(values.count))] }
        let store = try StoreBuilder(Self.source, maximumKeys: ["Kind": 40, "Post": 40])
        // Seed 0 has no kinds at all.
        for key in (0..<(seed == 0 ? 0 : 30)).map({ $0 + 1 }) {
            try store.execute(
                """
                INSERT INTO ZKIND (Z_PK, Z_ENT, Z_OPT, ZID, ZWEIGHT, ZNAME, ZSINCE, ZUID, ZLINK, ZPRICE, ZFLAG)
                VALUES (\(key), \(key % 5 == 0 ? 2 : 1), 1, \(any(Self.numbers)), \(any(Self.reals)), \(any(Self.texts)),
                    \(any(Self.reals)), \(any(Self.identifiers)), \(any(Self.texts)), \(any(Self.prices)),
                    \(any(["NULL", "0", "1"])))
                """)
        }
        for key in 1...30 {
            try store.execute(
                """
                INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT, ZTYPEID, ZCODE, ZTITLE, ZMADE, ZUID, ZPRICE, ZFLAG, ZKIND)
                VALUES (\(key), 3, 1, \(any(["NULL", "0", "1", "2", "9007199254740992"])), \(any(Self.reals)),
                    \(any(Self.texts)), \(any(Self.reals)), \(any(Self.identifiers)),
                    \(any(Self.prices)), \(any(["NULL", "0", "1"])),
                    \(seed == 0 ? "NULL" : any(["NULL", "\(key)", "3"])))
                """)
        }
        return store
    }

    private func run(
        _ store: StoreBuilder, chunk: ChunkSize = .automatic,
        mapping: String = mapping, dropping: Set<String> = []
    ) throws -> (run: StepRun, statements: [String]) {
        let file = store.folder.file("Map.json")
        try FileLayer().replace(file, with: Array(mapping.utf8))
        let versions = [
            ModelVersion(of: Self.source, name: "Model"), ModelVersion(of: Self.destination, name: "Model 2"),
        ]
        let plan = Planner(
            catalog: ModelCatalog(versions: versions), mappingModels: [try MappingFile.load(path: file)],
            executor: .set
        ).plan(from: versions[0], to: versions[1], rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        let folder = store.folder.file("run-\(chunk)")
        try FileLayer().createDirectory(folder)
        let trace = Locked<[String]>([])
        var options = EngineOptions(chunkSize: chunk, now: 0)
        options.sourceDamage = []
        options.dropping = dropping
        options.trace = { event in
            if event.kind == .statement { trace.withLock { $0.append(event.text) } }
        }
        let run = StepRun(
            step: try #require(plan.steps.first), sourcePath: store.path, isSourcePrivate: true, folder: folder,
            options: options)
        let report = try run.run()
        var check = Verification(
            mode: .full, step: run.step.resolved, sourcePath: store.path, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: folder, counts: report.counts, now: 0)
        check.dropping = dropping
        let verification = try check.run()
        #expect(verification.differences.isEmpty, "\(verification.differences)")
        return (run, trace.withLock { $0 })
    }

    @Test("An index gives what a scan gives, with any chunk size", arguments: 0..<6)
    func sameAsScan(seed: Int) throws {
        let store = try makeStore(seed: seed)
        var texts: Set<String> = []
        for chunk in [ChunkSize.automatic, .rows(7)] {
            let run = try run(store, chunk: chunk).run
            try run.finish()
            texts.insert(try DatabaseDump.text(run.destinationPath, leavingOut: ["Z_METADATA"]))
            let connection = try Connection(path: run.destinationPath, mode: .readOnly)
            for (place, condition) in Self.conditions.enumerated() {
                for name in ["COUNT", "FIRST", "SUM"] {
                    let wrong = try connection.integer(
                        "SELECT count(*) FROM ZPOST WHERE ZI\(place)\(name) IS NOT ZS\(place)\(name)")
                    #expect(wrong == 0, "\(condition) \(name)")
                }
            }
            if seed > 0 {
                let found = try connection.integer("SELECT count(*) FROM ZPOST WHERE ZI0COUNT > 0")
                #expect(found ?? 0 > 0)
            }
        }
        #expect(texts.count == 1)
    }

    @Test("Statements find the objects by an index, and never scan them")
    func searches() throws {
        let store = try makeStore(seed: 1)
        let (run, statements) = try run(store)
        let made = statements.filter { $0.hasPrefix("CREATE INDEX scratch.") && $0.contains("members_of_Kind") }
        #expect(made.count > 5 && Set(made).count == made.count, "\(made)")
        let connection = try Connection(path: run.destinationPath, mode: .create)
        try connection.attach(path: run.scratchPath, as: "scratch")
        try connection.attach(path: store.path, as: "source", mode: .readOnly)
        try FunctionRegistry.register(on: connection)
        let related = try #require(statements.first { $0.contains("IN (SELECT") && $0.contains("members_of_Kind,id") })
        let steps = try connection.rows("EXPLAIN QUERY PLAN " + related).compactMap { $0.last?.text }
        #expect(steps.contains { $0.hasPrefix("SEARCH v") && $0.contains("COVERING INDEX") }, "\(steps)")
        #expect(!steps.contains { $0.hasPrefix("SCAN t") || $0.hasPrefix("SCAN v") }, "\(steps)")
    }

    @Test("A value that cannot be computed fails only where there is an object to compare")
    func failingValue() throws {
        let members = "SUBQUERY(\(Self.kinds), $t, $t.id == $source.typeid + 9223372036854775807)"
        let mapping = """
            { "source": "Model", "destination": "Model 2", "entityMappings": [
                { "name": "PostToPost", "source": "Post", "destination": "Post",
                  "attributes": { "i0count": "\(members).@count" } } ] }
            """
        _ = try run(makeStore(seed: 0), mapping: mapping)
        let error = #expect(throws: FerryError.self) { try run(makeStore(seed: 1), mapping: mapping) }
        #expect(error?.code == .rowFailed)
    }
}
