import ConformanceKit
import Foundation
import Testing

/// A framework with scripted results: a case handles them as it handles Core Data's.
private struct Scripted: CoreDataSide {
    enum Fault: CaseIterable { case none, lostObject, otherKeys, danglingLink, changedBySaving, savesNothing }

    var fault = Fault.none

    private static func store(first: Int64, count: Int64 = 3) -> StoreRecord {
        var store = StoreRecord()
        for key in 0..<count {
            store.objects[ObjectReference(entity: "Book", key: first + key)] = ObjectRecord(
                attributes: ["title": .integer(key)],
                links: ["next": key == 0 ? [] : [ObjectReference(entity: "Book", key: first + key - 1)]])
        }
        return store
    }

    func record(store: URL, of version: String, in one: ConformanceCase) throws -> StoreRecord {
        switch store.lastPathComponent {
        case "coredata.sqlite": return Self.store(first: 50)
        case "ferry.sqlite":
            let wasSaved = FileManager.default.fileExists(atPath: store.path + ".saved")
            if fault == .changedBySaving, wasSaved { return Self.store(first: 1, count: 4) }
            if fault == .lostObject { return Self.store(first: 1, count: 2) }
            if fault == .otherKeys { return Self.store(first: 2) }
            var record = Self.store(first: 1)
            if fault == .danglingLink {
                record.objects[ObjectReference(entity: "Book", key: 1)]?.links["next"] = [
                    ObjectReference(entity: "Book", key: 99)
                ]
            }
            return record
        default: return Self.store(first: 1)
        }
    }

    func migrate(_ store: URL, to output: URL, in one: ConformanceCase) throws {}

    func change(store: URL, of version: String, in one: ConformanceCase) throws -> Int {
        try Data().write(to: URL(fileURLWithPath: store.path + ".saved"))
        return fault == .savesNothing ? 0 : 2
    }
}

@Suite("The program", .serialized)
struct ConformanceCallTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let cases = package.appendingPathComponent("Cases.json")
    private static let ferry = ProcessInfo.processInfo.environment["FERRY_BINARY"]

    /// Runs a call; removes the files that a failed call keeps for inspection.
    private static func run(
        _ call: ConformanceCall, _ coreData: (URL) -> (any CoreDataSide)? = { _ in nil }
    ) throws -> (exit: Int32, lines: [String]) {
        var lines: [String] = []
        let exit = try call.run(coreData: coreData, tell: { lines.append($0) })
        if let folder = lines.last?.firstMatch(of: /the stores are in (.*)\.$/) {
            try FileManager.default.removeItem(atPath: String(folder.1))
        }
        return (exit, lines)
    }

    private static func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test("The package has its cases, with their models and mappings")
    func loadsCases() throws {
        let cases = try ConformanceCase.load(Self.cases)
        #expect(cases.count >= 4 && cases.contains { $0.mapping == nil } && cases.contains { $0.mapping != nil })
        for path in cases.compactMap(\.mapping) {
            let mapping = try PlainMapping(json: Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(!mapping.entities.isEmpty)
        }
    }

    @Test("A file with two cases of one name, or with a case without models, is refused")
    func refusesCases() throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("Cases.json")
        let one = ConformanceCase(name: "a", models: "None.xcdatamodeld", source: "1", destination: "2")
        for cases in [[], [one], [one, one]] {
            try JSONEncoder().encode(cases).write(to: file)
            #expect(throws: ConformanceError.self) { try ConformanceCase.load(file) }
        }
    }

    @Test(
        "Unknown words and missing values are refused",
        arguments: [[], ["--ferry"], ["--frobnicate"], ["--ferry", "a"]])
    func refusesWords(_ words: [String]) {
        #expect(throws: ConformanceError.self) { try ConformanceCall(words) }
    }

    @Test("Without Core Data the program says so, and does nothing")
    func saysWithout() throws {
        let call = try ConformanceCall(["--ferry", "/nowhere", "--cases", Self.cases.path])
        let error = #expect(throws: ConformanceError.self) { try call.run(coreData: { _ in nil }, tell: { _ in }) }
        #expect(error?.description.contains("--ferry-half") == true)
    }

    @Test("A ferry that does nothing, or prints no JSON, fails each case", arguments: ["/bin/false", "/bin/echo"])
    func failsCases(_ program: String) throws {
        let program = FileManager.default.fileExists(atPath: program) ? program : "/usr" + program
        let call = try ConformanceCall(["--ferry", program, "--cases", Self.cases.path, "--ferry-half"])
        let (exit, lines) = try Self.run(call)
        #expect(exit == 1)
        #expect(lines.contains { $0.contains("✘") } && !lines.contains { $0.contains("✔") })
    }

    @Test("Ferry's half of every case holds", .enabled(if: ferry != nil, "FERRY_BINARY names the program"))
    func triesFerryHalf() throws {
        let call = try ConformanceCall(["--ferry", #require(Self.ferry), "--cases", Self.cases.path, "--ferry-half"])
        let (exit, lines) = try Self.run(call)
        #expect(exit == 0, "\(lines)")
        #expect(lines.count { $0.contains("✔ Ferry migrates") } == (try ConformanceCase.load(Self.cases)).count)
    }

    @Test(
        "Failures in the framework are reported, and none otherwise",
        .enabled(if: ferry != nil, "FERRY_BINARY names the program"), arguments: Scripted.Fault.allCases)
    private func tellsFaults(_ fault: Scripted.Fault) throws {
        let call = try ConformanceCall([
            "--ferry", #require(Self.ferry), "--cases", Self.cases.path, "--only", "inferred-in-place",
        ])
        let (exit, lines) = try Self.run(call) { _ in Scripted(fault: fault) }
        let problems = lines.filter { $0.contains("✘") }
        #expect(exit == (fault == .none ? 0 : 1), "\(lines)")
        let wanted: [String] =
            switch fault {
            case .none: []
            case .lostObject: ["keeps its key", "NSMigrationManager"]
            case .otherKeys: ["keeps its key"]
            case .danglingLink: ["Every relationship", "NSMigrationManager"]
            case .changedBySaving, .savesNothing: ["saves changes"]
            }
        #expect(problems.count == wanted.count, "\(problems)")
        for words in wanted { #expect(problems.contains { $0.contains(words) }, "\(words): \(problems)") }
    }
}
