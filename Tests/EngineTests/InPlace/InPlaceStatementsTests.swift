import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import Synchronization
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

    @Test("A rename and a new attribute write no row, however many there are")
    func renames() throws {
        var traces: [[String]] = []
        var changes: [Int64] = []
        for rows in [200, 20_000] {
            var step = try step(rows: rows)
            let path = step.store.path
            let trace = Mutex<[String]>([])
            let connection = try Connection(path: path, mode: .readWrite) { event in
                trace.withLock { $0.append(event.text) }
            }
            // As the planner passes it on where the rows were counted before.
            step = InPlaceStep(store: step.store, step: step.step.knowing(["Book": Int64(rows), "Author": 0]))
            let reports = try InPlaceRun.run([step.step], on: connection, options: step.options)
            #expect(reports[0].counts.map(\.written).reduce(0, +) == Int64(rows))
            traces.append(trace.withLock { $0 })
            changes.append(connection.totalChanges)
        }
        #expect(traces[0] == traces[1])
        #expect(changes[0] == changes[1] && changes[0] < 20)
        #expect(!traces[1].contains { $0.hasPrefix("UPDATE ZBOOK") || $0.hasPrefix("INSERT INTO ZBOOK") })
        #expect(traces[1].contains { $0.hasPrefix("ALTER TABLE ZBOOK RENAME COLUMN ZTITLE TO ZHEADING") })
    }

    @Test("Each says what it is for, and the order is: triggers, links, tables, columns, numbers, indexes")
    func order() throws {
        let source = try StoreLayout.canonical(for: Self.before)
        let destination = try StoreLayout.canonical(for: Self.after)
        let step = try InPlaceStep.plan(Self.before, Self.after).resolved
        let plan = try InPlacePlan(
            step, source: source, schema: InPlaceSchema(of: source), destination: destination)
        #expect(plan.statements.allSatisfy { !$0.reason.isEmpty })
        #expect(
            plan.statements.map(\.sql).filter { !$0.contains("Z_PRIMARYKEY") } == [
                "ALTER TABLE ZBOOK RENAME COLUMN ZTITLE TO ZHEADING", "ALTER TABLE ZBOOK ADD COLUMN ZNOTE VARCHAR",
            ])
        #expect(plan.touched.isEmpty)
    }

    @Test("A mapping model of the user's, and what is not inferred alone, needs a copy")
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

    @Test("A failure at any operation leaves the old store, and the same step then ends well")
    func faults() throws {
        let count = try operations()
        #expect(count > 12)
        let expected = try StoreRows.text(step(rows: 300).inPlace())
        for form in ["DELETE", "WAL"] {
            for operation in stride(from: 1, through: count, by: form == "WAL" ? 5 : 3) {
                let step = try step(rows: 300)
                try step.store.connection.execute("PRAGMA journal_mode = \(form)")
                let before = try DatabaseDump.text(step.store.path)
                let faults = FaultPlan(trigger: operation)
                let vfs = try VFS(temporaryFolder: step.store.folder.path, faults: faults)
                var failed = false
                do {
                    let connection = try Connection(path: step.store.path, mode: .readWrite, vfs: vfs)
                    connection.keepWriteAheadLogOnClose()
                    _ = try InPlaceRun.run([step.step], on: connection, options: step.options)
                } catch {
                    failed = true
                }
                let text = try StoreRows.text(Connection(path: step.store.path, mode: .readWrite))
                let isOld = try DatabaseDump.text(step.store.path) == before
                #expect(isOld || text == expected, "\(form), operation \(operation)")
                #expect(isOld || !failed || text == expected)
                if isOld {
                    let connection = try Connection(path: step.store.path, mode: .readWrite)
                    _ = try InPlaceRun.run([step.step], on: connection, options: step.options)
                    #expect(try StoreRows.text(connection) == expected, "\(form), operation \(operation)")
                }
            }
        }
    }

    private func operations() throws -> Int {
        let step = try step(rows: 300)
        let faults = FaultPlan()
        let vfs = try VFS(temporaryFolder: step.store.folder.path, faults: faults)
        let connection = try Connection(path: step.store.path, mode: .readWrite, vfs: vfs)
        _ = try InPlaceRun.run([step.step], on: connection, options: step.options)
        return faults.count
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
        step.sourceRows = rows
        return step
    }
}
