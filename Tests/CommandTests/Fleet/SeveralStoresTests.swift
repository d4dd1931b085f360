import FerryBase
import Foundation
import TestSupport
import Testing

@testable import FerryCommand

/// `ferry migrate A B C`, and `ferry report` over the reports of such runs.
@Suite("Several stores")
struct SeveralStoresTests {
    private let app: RouteFolder
    private let models = ["--models", "App.xcdatamodeld"]

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "year"))
        try app.current("App", "App 2")
        for (number, name) in ["A", "B", "C"].enumerated() {
            try app.generate("App", "App", rows: 10 * (number + 1), as: "\(name).sqlite")
        }
    }

    private func years(_ store: String) throws -> Bool {
        try app.count("SELECT count(*) FROM pragma_table_info('ZBOOK') WHERE name = 'ZYEAR'", in: store) == 1
    }

    @Test("Each store is migrated separately, a refusal stops no other store, and the exit code is the worst")
    func migratesEach() throws {
        try app.write("no database", to: "Text.sqlite")
        let outcome = try app.run(
            ["migrate", "A.sqlite", "Text.sqlite", "None.sqlite", "B.sqlite", "C.sqlite"] + models)
        #expect(outcome.exitCode == 2)
        for store in ["A.sqlite", "B.sqlite", "C.sqlite"] { #expect(try years(store)) }
        #expect(
            outcome.output.contains("A.sqlite (1 of 5)\n")
                && outcome.output.contains("5 stores: 3 migrated, 2 refused."))
        let again = try app.run(["migrate", "A.sqlite", "B.sqlite", "--models", "App.xcdatamodeld", "--json"])
        #expect(again.exitCode == 0)
        #expect(try JSONSchema("migrate-several").differences(in: again.output).isEmpty, "\(again.output)")
    }

    @Test("A store that is named twice, in another spelling or through a link, is reported and migrated once")
    func countsOnce() throws {
        try app.folder.makeLink("Link.sqlite", to: "A.sqlite")
        let outcome = try app.run(
            ["migrate", "A.sqlite", "./A.sqlite", "Link.sqlite", "B.sqlite", "--json", "--report", "reports"] + models)
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(outcome.output.components(separatedBy: "\"migrated\"").count == 3)
        for path in ["./A.sqlite", "Link.sqlite"] {
            #expect(outcome.diagnostics.contains("\(path) is the same store as A.sqlite"))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: app.folder.file("reports")).sorted()
        #expect(names.count == 4 && names.count { $0.hasSuffix(".html") } == 2, "\(names)")
    }

    @Test("After a store, an option still takes several words: those after --models are models, not stores")
    func readsModels() throws {
        try app.model("Other", "Other", RouteFolder.entity("Page", "text"))
        let words = ["migrate", "A.sqlite", "--rehearse", "--models", "App.xcdatamodeld", "Other.xcdatamodeld"]
        let before = try app.run(words)
        #expect(before.exitCode == 0 && before.output.contains("App → App 2"), "\(before)")
        // Before the stores, an option takes one word, so that stores may follow.
        let after = try app.run(["migrate", "--models", "App.xcdatamodeld", "A.sqlite", "B.sqlite", "--rehearse"])
        #expect(after.exitCode == 0 && after.output.contains("2 stores: 2 rehearsed."), "\(after)")
    }

    @Test("One file for several reports, or for several new stores, is a usage error")
    func refusesOneFile() throws {
        for words in [["--report", "r.html"], ["--output", "New.sqlite"]] {
            let outcome = try app.run(["migrate", "A.sqlite", "B.sqlite"] + words + models)
            #expect(outcome.exitCode == 64, "\(outcome.diagnostics)")
        }
        #expect(try !years("A.sqlite"))
    }

    @Test(
        "A budget counts for all stores together: the others stay unchanged, and a loop of calls ends"
    )
    func sharesBudget() throws {
        let words = ["migrate", "A.sqlite", "B.sqlite", "C.sqlite", "--budget", "1ms"] + models
        let first = try app.run(words)
        #expect(first.exitCode == 75 && first.diagnostics.contains("C.sqlite was not started"), "\(first)")
        #expect(try !years("C.sqlite"))
        var calls = 0
        while try app.run(words).exitCode == 75, calls < 60 { calls += 1 }
        for store in ["A.sqlite", "B.sqlite", "C.sqlite"] { #expect(try years(store)) }
    }

    @Test("ferry report sums reports by outcome and reason, over folders and files of any program")
    func sums() throws {
        let run = try app.run(
            ["migrate", "A.sqlite", "None.sqlite", "B.sqlite", "--report", "all/reports"] + models)
        #expect(run.exitCode == 2)
        // Files as GNU parallel leaves them: of one process killed before its report, and of one killed within it.
        try app.write("", to: "all/1/C/stdout")
        try app.write("{\n  \"ferry\": 1,\n  \"outco", to: "all/1/D/stdout")
        try app.write("ferry: warning", to: "all/1/D/stderr")
        try app.write("{ \"other\": true }", to: "all/other.json")
        let summed = try app.run(["report", "all", "--json", "--report", "fleet.html"])
        #expect(summed.exitCode == 2, "\(summed.diagnostics)")
        #expect(try JSONSchema("report").differences(in: summed.output).isEmpty)
        struct Sum: Decodable {
            struct Outcome: Decodable { var outcome: String, stores: Int, rows: Int }
            struct Reason: Decodable { var outcome, code: String, stores: Int }
            var reports, rows, broken, otherFiles: Int
            var outcomes: [Outcome]
            var reasons: [Reason]
        }
        let sum = try JSONDecoder().decode(Sum.self, from: Data(summed.output.utf8))
        #expect(sum.reports == 3 && sum.rows == 30 && sum.broken == 2 && sum.otherFiles == 5)
        #expect(sum.outcomes.map(\.outcome) == ["refused", "migrated"] && sum.outcomes.map(\.stores) == [1, 2])
        #expect(sum.reasons.map(\.code) == ["notFound"])
        let text = try app.run(["report", "all"]).output
        #expect(text.contains("Reports      3") && text.contains("Incomplete   2 files"))
        let page = try String(contentsOfFile: app.folder.file("fleet.html"), encoding: .utf8)
        #expect(page.contains("2 of 3 stores done, 1 refused."))
        #expect(try app.run("report", "App.xcdatamodeld").exitCode == 2)
        #expect(try app.run("report", "nowhere").exitCode == 2)
    }

    @Test("ferry report ends with the exit code of the worst report")
    func endsLikeWorst() {
        var sum = FleetSum()
        for (outcome, code, expected) in [
            ("migrated", nil, .success), ("resumable", "budgetSpent", .resumable),
            ("refused", "noSuchVersion", .refused), ("migrated", nil, .refused),
            ("failed", "verificationFailed", .differs), ("failed", "ofLater", .failed),
            ("refused", "usage", .usage),
        ] as [(String, String?, ExitCode)] {
            let error: JSON = ["code": code]
            let isReport = sum.take(["store": "S", "outcome": outcome, "error": error])
            #expect(isReport && sum.exitCode == expected, "\(outcome) \(code ?? "")")
        }
    }

    @Test(
        "ferry report continues after an unreadable file or folder, names it, and ends with its exit code",
        .enabled(if: UnwritableStoreTests.canRun, "A user other than root is needed."))
    func goesOnBehindUnreadable() throws {
        _ = try app.run(["migrate", "A.sqlite", "B.sqlite", "--report", "all/reports"] + models)
        try app.write("{\n  \"ferry\": 1 }", to: "all/a/locked.json")
        try app.write("{\n  \"ferry\": 1 }", to: "all/closed/other.json")
        let files = FileLayer()
        try files.setMode(0, of: app.folder.file("all/a/locked.json"))
        try files.setMode(0, of: app.folder.file("all/closed"))
        defer { try? files.setMode(0o700, of: app.folder.file("all/closed")) }
        for entry in try FileManager.default.contentsOfDirectory(atPath: app.folder.file("all/reports")) {
            try files.setMode(0o644, of: app.folder.file("all/reports/\(entry)"))
        }
        for name in ["all", "all/reports", "all/a"] { try files.setMode(0o755, of: app.folder.file(name)) }
        let text = try app.runUnprivileged(["report", "all"])
        #expect(text.exitCode == 1, "\(text)")
        for part in ["Reports      2", "2 paths could not be read", "locked.json", "all/closed"] {
            #expect(text.output.contains(part), "\(part): \(text)")
        }
        let json = try app.runUnprivileged(["report", "all/a", "all/reports", "--json"])
        #expect(json.exitCode == 1 && json.output.contains("\"reports\": 2"), "\(json)")
        #expect(json.output.contains("\"unreadable\": 1"))
        #expect(try JSONSchema("report").differences(in: json.output).isEmpty)
    }

    @Test("ferry report sums losses by property, with the number of stores")
    func sumsLosses() throws {
        try app.model("App", "App 2", RouteFolder.entity("Book", "year"))
        let migrated = try app.run(
            ["migrate", "A.sqlite", "B.sqlite", "--accept-loss", "--report", "reports"] + models)
        #expect(migrated.exitCode == 0, "\(migrated)")
        let titles = try ["A.sqlite", "B.sqlite"].map { store in
            let snapshots = try app.run("rollback", store, "--output", "Old-\(store)")
            #expect(snapshots.exitCode == 0)
            return try app.count("SELECT count(ZTITLE) FROM ZBOOK", in: "Old-\(store)")
        }
        let json = try app.run("report", "reports", "--json")
        #expect(json.output.contains("\"name\": \"Book.title\",\n      \"stores\": 2,"), "\(json)")
        #expect(json.output.contains("\"number\": \(titles.reduce(0, +))"), "\(json)")
        #expect(try app.run("report", "reports").output.contains("Book.title"))
    }

    @Test("The memory of ferry report does not grow with the number of reports and reasons")
    func staysBounded() {
        // The lines of everything that a sum holds.
        func size(_ sum: FleetSum) -> Int {
            var text = ""
            dump(sum, to: &text)
            return text.split(separator: "\n").count
        }
        var (sum, sizeBefore) = (FleetSum(), 0)
        for number in 0..<3_000 {
            let isReport = sum.take(
                .object([
                    ("store", .string("S\(number)")), ("outcome", .string("odd\(number)")),
                    ("wallSeconds", .number(Double(number))), ("error", .object([("code", .string("c\(number)"))])),
                    ("losses", .array([.object([("entity", .string("E\(number)")), ("rows", .number(2))])])),
                ]))
            #expect(isReport)
            if number == 1_000 { sizeBefore = size(sum) }
            sum.takeBroken("F\(number)")
            sum.takeUnreadable("U\(number)", FerryError(.fileFailed, "It cannot be read."))
        }
        // About 200 kinds with one name each.
        #expect(size(sum) == sizeBefore && sizeBefore < 4_000)
        let isOther = sum.take(.object([("store", .string("S"))]))
        #expect(!isOther)
    }
}
