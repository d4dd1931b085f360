import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import TestSupport
import Testing

@Suite("The statements of a step in place")
struct InPlaceStatementsTests {
    private static let before = ManagedObjectModel(
        .made("Book", [.text("title"), .number("pages")], [.one("author", "Author", inverse: "books")]),
        .made("Author", [.text("name")], [.many("books", "Book", inverse: "author")]))
    private static let after = ManagedObjectModel(
        .made(
            "Book", [.text("heading", id: "title"), .number("pages"), .text("note")],
            [.one("author", "Author", inverse: "books")]),
        .made("Author", [.text("name")], [.many("books", "Book", inverse: "author")]))

    private func step(rows: Int) throws -> InPlaceStep {
        try InPlaceStep(
            Self.before, Self.after,
            rows: [
                """
                INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR)
                WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < \(rows))
                SELECT k, 2, 1, 'Book ' || k, NULL FROM n
                """
            ])
    }

    @Test("A rename and a new attribute write no row, for any number of rows")
    func renames() throws {
        var traces: [[String]] = []
        var changes: [Int64] = []
        for rows in [200, 20_000] {
            var step = try step(rows: rows)
            let path = step.store.path
            let trace = Locked<[String]>([])
            let connection = try Connection(path: path, mode: .readWrite) { event in
                trace.withLock { $0.append(event.text) }
            }
            // The step as the planner passes it on after the rows were counted.
            step = InPlaceStep(store: step.store, step: step.step.knowing(["Book": Int64(rows), "Author": 0]))
            let report = try StepRun.inStore(step.step, on: connection, options: step.options)
            #expect(report.counts.map(\.written).reduce(0, +) == Int64(rows))
            traces.append(trace.withLock { $0 })
            changes.append(try connection.integer("SELECT total_changes()") ?? 0)
        }
        #expect(traces[0] == traces[1])
        #expect(changes[0] == changes[1] && changes[0] < 20)
        #expect(!traces[1].contains { $0.hasPrefix("UPDATE ZBOOK") || $0.hasPrefix("INSERT INTO ZBOOK") })
        #expect(traces[1].contains { $0.hasPrefix("ALTER TABLE ZBOOK RENAME COLUMN ZTITLE TO ZHEADING") })
    }

    @Test("A count that is not that of the rows written is found", arguments: [true, false])
    func countsWhatItWrites(hasRight: Bool) throws {
        let after = ManagedObjectModel(
            .made("Book", [.number("pages")], [.one("author", "Author", inverse: "books")]),
            .made("Author", [.text("name")], [.many("books", "Book", inverse: "author")]))
        let step = try InPlaceStep(
            Self.before, after,
            rows: ["INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 2, 1, 'a'), (2, 2, 1, 'b')"])
        let connection = try Connection(path: step.store.path, mode: .readWrite)
        var options = step.options
        options.sourceDamage = []
        let known = step.step.knowing(["Book": hasRight ? 2 : 3, "Author": 0])
        guard hasRight else {
            let error = #expect(throws: FerryError.self) {
                try StepRun.inStore(known, on: connection, options: options)
            }
            #expect(error?.message.contains(": counts of Book (") == true, "\(error?.message ?? "")")
            return #expect(try connection.integer("SELECT count(ZTITLE) FROM ZBOOK") == 2)
        }
        let report = try StepRun.inStore(known, on: connection, options: options)
        #expect(report.counts.map(\.written).reduce(0, +) == 2)
    }

    @Test("A renamed entity and a renamed relationship write no row and rebuild no index")
    func renamesEntity() throws {
        let after = ManagedObjectModel(
            .made(
                "Volume", id: "Book", [.text("title"), .number("pages")],
                [.one("writer", "Author", inverse: "works", id: "author")]),
            .made("Author", [.text("name")], [.many("works", "Volume", inverse: "writer", id: "books")]))
        let step = try InPlaceStep(
            Self.before, after,
            rows: [
                "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann')",
                """
                INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR)
                WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 500)
                SELECT k, 2, 1, 'Book ' || k, 1 FROM n
                """,
            ])
        let store = try step.compare()
        #expect(
            try store.integer("SELECT count(*) FROM ZVOLUME INDEXED BY ZVOLUME_ZWRITER_INDEX WHERE ZWRITER = 1") == 500)
        let source = try StoreLayout.canonical(for: Self.before)
        let plan = try StepProgram(
            inPlace: step.step.resolved, source: source, schema: InPlaceSchema(of: source),
            destination: StoreLayout.canonical(for: after))
        #expect(plan.moves.touched.isEmpty)
        #expect(
            !plan.statements.contains { $0.sql.text.hasPrefix("CREATE INDEX") || $0.sql.text.hasPrefix("DROP INDEX") })
    }

    @Test("Each statement names its purpose, in the order: triggers, links, tables, columns, numbers, indexes")
    func order() throws {
        let source = try StoreLayout.canonical(for: Self.before)
        let destination = try StoreLayout.canonical(for: Self.after)
        let step = try InPlaceStep.plan(Self.before, Self.after).resolved
        let plan = try StepProgram(
            inPlace: step, source: source, schema: InPlaceSchema(of: source), destination: destination)
        #expect(plan.statements.allSatisfy { $0.reason?.isEmpty == false })
        #expect(
            plan.statements.map(\.sql.text).filter { !$0.contains("Z_PRIMARYKEY") } == [
                "ALTER TABLE ZBOOK RENAME COLUMN ZTITLE TO ZHEADING", "ALTER TABLE ZBOOK ADD COLUMN ZNOTE VARCHAR",
            ])
        #expect(plan.moves.touched.isEmpty)
    }

    @Test("A user's mapping model, and a step that is only partly inferred, need a copy")
    func needsCopy() throws {
        let one = ManagedObjectModel(.made("Book", [.text("title")]))
        let merged = ManagedObjectModel(
            .made("Book", [.text("title")], [.many("tags", "Tag", inverse: nil)]), .made("Tag", [.text("word")]))
        #expect(try InPlaceStep.plan(one, merged).mode == .inPlace)
        let toOne = ManagedObjectModel(
            .made("Book", [.text("title")], [.one("tag", "Tag", inverse: nil)]), .made("Tag", [.text("word")]))
        let toMany = ManagedObjectModel(
            .made("Book", [.text("title")], [.many("tags", "Tag", inverse: nil, id: "tag")]),
            .made("Tag", [.text("word")]))
        let step = try InPlaceStep.plan(toOne, toMany)
        #expect(step.mode == .copy)
        #expect(step.needsCopyBecause?.isEmpty == false)
    }

    /// Returns a step that drops a column and changes a type (tables rebuilt), and changes numbers.
    private func manifold() throws -> InPlaceStep {
        let after = ManagedObjectModel(
            .made("Atlas", [.text("name")]),
            .made("Book", [.number("pages", .double)], [.one("author", "Author", inverse: "books")]),
            .made("Author", [.text("name")], [.many("books", "Book", inverse: "author")]))
        return try InPlaceStep(
            Self.before, after,
            rows: [
                "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ann'), (2, 1, 1, 'Ben')",
                """
                INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES, ZAUTHOR)
                WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 300)
                SELECT k, 2, 1, 'Book ' || k, k, 1 + k % 2 FROM n
                """,
            ])
    }

    @Test(
        "A failure at any operation leaves the old store, and the same step then succeeds",
        arguments: ["DELETE", "WAL"], [true, false])
    func faults(journal: String, isManifold: Bool) throws {
        let step = try isManifold ? manifold() : step(rows: 300)
        let expected = try StoreRows.text(step.inPlace())
        let operations = try run(step, journal, FaultPlan()).faults.count
        #expect(operations > 6)
        for operation in stride(from: 1, through: operations, by: 2) {
            let (path, faults) = try run(step, journal, FaultPlan(trigger: operation))
            #expect(faults.count >= operation)
            let connection = try Connection(path: path, mode: .readWrite)
            let hashes = try StoreMetadata.read(from: connection).hashes
            if hashes == step.step.resolved.source.hashes {
                try StepRun.inStore(step.step, on: connection, options: step.options)
            }
            #expect(try StoreRows.text(connection) == expected, "operation \(operation)")
            #expect(try connection.value("PRAGMA integrity_check") == .text("ok"), "operation \(operation)")
        }
    }

    /// Runs the step on a copy of the store, on a disk that fails.
    private func run(
        _ step: InPlaceStep, _ journal: String, _ faults: FaultPlan
    ) throws -> (path: String, faults: FaultPlan) {
        let path = step.store.folder.file("Fault-\(UInt64.random(in: 0...UInt64.max)).sqlite")
        try Fixtures.copyStore(from: step.store.path, to: path)
        _ = try Connection(path: path, mode: .readWrite).value("PRAGMA journal_mode = \(journal)")
        let vfs = try VFS(temporaryFolder: step.store.folder.path, faults: faults)
        do {
            let connection = try Connection(path: path, mode: .readWrite, vfs: vfs)
            connection.keepWriteAheadLogOnClose()
            // A cache of a few pages spills in the middle of the transaction.
            try connection.execute("PRAGMA cache_size = 5")
            try StepRun.inStore(step.step, on: connection, options: step.options)
        } catch {
            // The test injects this failure.
        }
        return (path, faults)
    }
}

extension InPlaceStep {
    init(store: StoreBuilder, step: StepPlan) {
        self.store = store
        self.step = step
    }
}

extension StepPlan {
    func knowing(_ rows: [String: Int64]) -> StepPlan {
        var step = self
        step.rows = SourceRows(rows)
        return step
    }
}
