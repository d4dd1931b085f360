internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// The built program on a small library: exit codes, JSON, and unchanged stores.
@Suite("The program")
struct ProgramTests {
    private let folder: TemporaryFolder
    private let library: Library

    init() throws {
        folder = try TemporaryFolder()
        library = Library(folder: folder.path)
        try library.prepare(books: 20)
    }

    @Test(
        "A path without a file is refused with 2 and a remedy",
        arguments: [
            "inspect none.sqlite", "plan none.sqlite --models library/Library.xcdatamodeld",
            "migrate none.sqlite --models library/Library.xcdatamodeld", "status none.sqlite",
            "snapshot create none.sqlite", "snapshot list none.sqlite", "rollback none.sqlite --check",
            "rollback none.sqlite --output new.sqlite", "rollback none.sqlite", "inspect none.xcdatamodeld --hashes",
            "inspect library/Library.sqlite --models none.xcdatamodeld",
            "plan library/Library.sqlite --models none.xcdatamodeld",
            "migrate library/Library.sqlite --models none.xcdatamodeld",
            "migrate library/Library.sqlite --models library/Library.xcdatamodeld --mappings none.json",
            "generate none.xcdatamodeld --rows 1 --output new.sqlite", "verify none.sqlite", "mapping show none.json",
            "mapping init none.xcdatamodel library/Library.xcdatamodeld",
            "mapping check none.json --models library/Library.xcdatamodeld",
            "verify library/Library.sqlite --models none.xcdatamodeld",
        ])
    func refusesMissingPaths(_ line: String) throws {
        let words = line.split(separator: " ").map { word in
            ["none.", "new.", "library/"].contains { word.hasPrefix($0) } ? folder.file(String(word)) : String(word)
        }
        let before = try library.digest()
        let text = Captured.run(words)
        #expect(text.exitCode == .refused, "\(text.diagnostics)")
        #expect(text.output.isEmpty)
        #expect(text.diagnostics.hasPrefix("ferry: ") && text.diagnostics.contains("\n       "))
        let json = Captured.run(words + ["--json"], isJSON: true)
        #expect(json.exitCode == .refused)
        let failure = try JSONDecoder().decode(MessageTests.Failure.self, from: Data(json.output.utf8))
        #expect(failure.ferry == 1 && !failure.error.message.isEmpty && !failure.error.remedy.isEmpty)
        #expect(try library.digest() == before)
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
        #expect(!FileManager.default.fileExists(atPath: folder.file("none.sqlite")))
    }

    @Test("A file that is no store is refused with 2 and stays unchanged", arguments: ["inspect", "plan", "migrate"])
    func refusesOtherFiles(_ command: String) throws {
        let text = Data("just a text, and long enough to be looked at as a database: \(UUID())".utf8)
        try text.write(to: URL(fileURLWithPath: folder.file("notes.txt")))
        let outcome = try FerryBinary.run([command, "notes.txt"] + ["--models", library.models], in: folder.path)
        #expect(outcome.exitCode == 2, "\(outcome.diagnostics)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("notes.txt"))) == text)
    }

    @Test("An unknown target and a step that cannot be inferred are refused with 2; the store stays unchanged")
    func refusesUnreachableTargets() throws {
        let before = try library.digest()
        let changed = try modelsWithTextualPrice()
        for words in [
            ["migrate", library.store] + library.sources + ["--to", "Library9"],
            ["migrate", library.store, "--models", changed, "--no-mappings", "--to", "Library2"],
            ["plan", library.store, "--models", changed, "--no-mappings", "--to", "Library2"],
        ] {
            let outcome = try FerryBinary.run(words, in: folder.path)
            #expect(outcome.exitCode == 2, "\(words): \(outcome.diagnostics)")
            let told = outcome.output + outcome.diagnostics
            #expect(words.contains("Library9") || told.contains("Book.price"), "\(told)")
        }
        #expect(try library.digest() == before)
        #expect(try library.files() == ["Library.sqlite", "Library.xcdatamodeld", "Mappings"])
    }

    /// Makes the library's models with a price that is a text in the second version: this step cannot be inferred.
    private func modelsWithTextualPrice() throws -> String {
        let changed = folder.file("Changed.xcdatamodeld")
        try FileManager.default.copyItem(
            atPath: library.models.hasPrefix("/") ? library.models : folder.file(library.models), toPath: changed)
        let contents = "\(changed)/Library2.xcdatamodel/contents"
        let text = try String(contentsOfFile: contents, encoding: .utf8)
        let number = #"name="price" optional="YES" attributeType="Double""#
        try #require(text.contains(number))
        try text.replacingOccurrences(of: number, with: number.replacingOccurrences(of: "Double", with: "String"))
            .write(toFile: contents, atomically: true, encoding: .utf8)
        return changed
    }

    @Test("ferry diff lists the changes, with exit code 0 whether a mapping can be inferred or not")
    func diff() throws {
        let words = ["diff", "\(library.models):Library1", "\(library.models):Library2"]
        let text = try FerryBinary.run(words, in: folder.path)
        #expect(text.exitCode == 0 && text.diagnostics.isEmpty, "\(text.diagnostics)")
        #expect(text.output.contains("no mapping model is needed"))
        let json = try FerryBinary.run(words + ["--json"], in: folder.path)
        let difference = try JSONDecoder().decode(Difference.self, from: Data(json.output.utf8))
        #expect(difference.ferry == 1 && difference.from == "Library1" && difference.to == "Library2")
        let heading = try #require(difference.changes.first { $0.property == "heading" })
        #expect(heading.entity == "Book" && heading.kind == "attributeRenamed" && heading.inferable)
        #expect(heading.reason == nil)

        let changed = try modelsWithTextualPrice()
        let impossible = try FerryBinary.run(
            ["diff", "\(library.models):Library1", "\(changed):Library2", "--json"], in: folder.path)
        #expect(impossible.exitCode == 0)
        let obstacles = try JSONDecoder().decode(Difference.self, from: Data(impossible.output.utf8)).changes.filter {
            !$0.inferable
        }
        #expect(obstacles.map(\.property) == ["price"])
        #expect(obstacles.first?.kind == "attributeTypeChanged" && obstacles.first?.reason?.isEmpty == false)
    }

    @Test("ferry diff accepts a version's own folder, and uses the current version of a bundle")
    func diffOfPaths() throws {
        let words = ["diff", "\(library.models)/Library3.xcdatamodel", library.models, "--json"]
        let outcome = try FerryBinary.run(words, in: folder.path)
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        let difference = try JSONDecoder().decode(Difference.self, from: Data(outcome.output.utf8))
        #expect(difference.from == "Library3" && difference.to == "Library4")
        #expect(try FerryBinary.run(["diff", library.models, "none.xcdatamodel"], in: folder.path).exitCode == 2)
        let unknown = try FerryBinary.run(["diff", library.models, "\(library.models):Library9"], in: folder.path)
        #expect(unknown.exitCode == 2 && unknown.diagnostics.contains("Library4"))
    }

    private struct Difference: Decodable {
        struct Change: Decodable {
            var entity: String
            var property: String?
            var kind: String
            var inferable: Bool
            var reason: String?
        }
        var ferry: Int
        var from, to: String
        var changes: [Change]
    }

    @Test("Every command prints one JSON object with its keys in their order")
    func printsJSON() throws {
        let migrate = ["migrate", "--accept-loss", library.store] + library.sources + ["--progress", "none"]
        let calls: [(words: [String], keys: [String])] = [
            (
                ["inspect", library.store, "--models", library.models],
                [
                    "ferry", "store", "uuid", "version", "model", "frameworkVersion", "bytes", "walBytes",
                    "externalFiles", "entities", "features", "unknownTables", "problems",
                ]
            ),
            (["inspect", library.models], ["ferry", "versions"]),
            (
                ["plan", library.store] + library.sources,
                [
                    "ferry", "store", "chain", "steps", "rows", "peakDiskBytes", "longestUnit", "refusals", "warnings",
                ]
            ),
            (
                migrate,
                [
                    "ferry", "outcome", "from", "to", "mode", "store", "entityMappings", "unmapped", "healed", "chunks",
                    "resumed", "wallSeconds", "phases", "peakResidentBytes", "snapshot", "verification",
                ]
            ),
            (
                ["status", library.store],
                ["ferry", "state", "phase", "fraction", "rowsPerSecond", "etaSeconds", "runID"]
            ),
            (["snapshot", "list", library.store], ["ferry", "snapshots"]),
            (["rollback", "--check", library.store], ["ferry", "snapshots"]),
            (["rollback", library.store, "--output", folder.file("restored.sqlite")], ["ferry", "snapshots"]),
            (["rollback", library.store], ["ferry", "outcome", "store", "snapshot", "replaced"]),
            (["snapshot", "create", library.store], ["ferry", "snapshots"]),
            (
                ["generate", library.models, "--rows", "5", "--output", folder.file("small.sqlite")],
                ["ferry", "store", "rows", "seed", "bytes"]
            ),
            (["verify", library.store], ["ferry", "mode", "checked", "notRecomputed", "differences"]),
            (["mapping", "show", library.path + "/Mappings/1-rename.json"], ["ferry", "mapping"]),
            (
                ["mapping", "init", library.models + ":Library1", library.models + ":Library2"], ["ferry", "mapping"]
            ),
            (
                ["mapping", "check", library.path + "/Mappings/1-rename.json", "--models", library.models],
                ["ferry", "problems"]
            ),
            (["help"], ["ferry", "commands"]), (["--version"], ["ferry", "version"]),
        ]
        for (words, keys) in calls {
            let outcome = try FerryBinary.run(words + ["--json"], in: folder.path)
            #expect(outcome.exitCode == 0, "\(words): \(outcome.diagnostics)")
            let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
            #expect(object?["ferry"] as? Int == 1, "\(words)")
            // The contract's keys come first, in its order; later keys follow.
            let told = outcome.output.split(separator: "\n").filter { $0.hasPrefix("  \"") }
                .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
            #expect(Array(told.prefix(keys.count)) == keys, "\(words)")
        }
    }

    @Test("A migration succeeds, and a second one has nothing to do")
    func migratesOnce() throws {
        let words =
            ["migrate", "--accept-loss", library.store] + library.sources + [
                "--progress", "json", "--chunk-size", "5",
            ]
        let first = try FerryBinary.run(words + ["--json"], in: folder.path)
        #expect(first.exitCode == 0, "\(first.diagnostics)")
        #expect(first.output.contains("\"outcome\": \"migrated\""))
        let lines = first.diagnostics.split(separator: "\n")
        // Warnings are lines of JSON, too.
        let told = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(told.allSatisfy { ($0.phase == nil) != ($0.warning == nil) } && told.contains { $0.warning != nil })
        #expect(told.contains { $0.fraction ?? 0 > 0.9 })
        let phases = Set(told.compactMap(\.phase))
        #expect(phases.isSuperset(of: ["snapshot", "rows", "verify", "swap"]), "\(phases)")

        let after = try library.digest()
        let second = try FerryBinary.run(words + ["--json"], in: folder.path)
        #expect(second.exitCode == 0, "\(second.diagnostics)")
        #expect(second.output.contains("\"outcome\": \"upToDate\""))
        #expect(try library.digest() == after)
    }

    @Test("The demo runs to its end: killed, resumed, rolled back")
    func playsDemo() throws {
        let outcome = try FerryBinary.run(["demo", "played", "--books", "2000"], in: folder.path)
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        #expect(outcome.output.contains("kill -9 during step 2"))
        #expect(outcome.output.contains("byte for byte: yes"))
        #expect(!outcome.output.contains("byte for byte: no"))
        #expect(outcome.output.contains("(resumed)"))
        let again = try FerryBinary.run(["demo", "played"], in: folder.path)
        #expect(again.exitCode == 2)
        let quiet = try FerryBinary.run(["demo", "quiet", "--books", "2000", "--quiet"], in: folder.path)
        // Warnings remain.
        #expect(quiet.exitCode == 0 && quiet.output.isEmpty && !quiet.diagnostics.contains("step 2:"), "\(quiet)")
    }

    private struct Line: Decodable {
        var phase: String?
        var warning: String?
        var fraction: Double?
        var subject: String?
        var done: Int64?
        var total: Int64?
    }

    /// A prepared library of the demo.
    struct Library {
        let path: String
        var store: String { path + "/Library.sqlite" }
        var models: String { path + "/Library.xcdatamodeld" }
        var sources: [String] { ["--models", models, "--mappings", path + "/Mappings"] }

        init(folder: String) { path = folder + "/library" }

        func prepare(books: Int) throws {
            let made = Captured.run(["demo", path, "--books", "\(books)", "--prepare"])
            try #require(made.exitCode == .success, "\(made.diagnostics)")
        }

        func digest() throws -> String {
            SHA256.hash(Array(try Data(contentsOf: URL(fileURLWithPath: store)))).hexadecimal
        }

        func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
