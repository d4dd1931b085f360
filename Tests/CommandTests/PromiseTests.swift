internal import Foundation
internal import TestSupport
internal import Testing

/// What README and `docs/guarantees.md` promise, and the tests that would fail if it were false.
@Suite("Promises")
struct PromiseTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The lines of a table under a heading, each as its cells.
    private static func table(_ heading: String, in path: String) throws -> [[String]] {
        let sections = try text(path).components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix(heading + "\n") }, "\(path): \(heading)")
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        return lines.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
    }

    /// The sentences of each guarantee of the README, by its bold name.
    private static func guarantees() throws -> [(name: String, sentences: Int)] {
        let sections = try text("README.md").components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("Guarantees\n") })
        return section.components(separatedBy: "\n- **").dropFirst().map { item in
            let parts = item.replacingOccurrences(of: "\n", with: " ").components(separatedBy: ".** ")
            // A full stop ends a sentence if a capital letter, a code word or nothing follows.
            let body = (parts.count > 1 ? parts[1] : "").trimmingCharacters(in: .whitespaces)
            let ends = body.matches(of: /\.(\s+[A-Z`\[]|$)/).count
            return (parts[0], ends)
        }
    }

    @Test("Each sentence of the README's guarantees has a line that names its tests")
    func readme() throws {
        let lines = try Self.table("The README's guarantees", in: "docs/guarantees.md")
        let guarantees = try Self.guarantees()
        #expect(guarantees.count >= 5)
        for guarantee in guarantees {
            let told = lines.count { $0.first == guarantee.name }
            #expect(
                told >= guarantee.sentences && guarantee.sentences > 0,
                "\(guarantee.name): \(guarantee.sentences) sentences in README.md, \(told) lines in docs/guarantees.md")
        }
        let names = Set(guarantees.map(\.name))
        for line in lines { #expect(names.contains(line.first ?? ""), "README.md does not promise \(line)") }
    }

    @Test(
        "Each promise names tests that exist",
        arguments: ["Promises", "The README's guarantees", "Other sentences of these pages"])
    func tests(_ heading: String) throws {
        var sources = ""
        var folders: Set<String> = []
        let tests = Self.root.appendingPathComponent("Tests")
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        for case let file as URL in files {
            if file.pathExtension == "swift" { sources += try String(contentsOf: file, encoding: .utf8) }
            if file.hasDirectoryPath { folders.insert(file.lastPathComponent) }
        }
        let lines = try Self.table(heading, in: "docs/guarantees.md")
        #expect(lines.count >= 10)
        for line in lines {
            let shown = try #require(line.last)
            let names = shown.matches(of: /`([^`]+)`/).map { String($0.1) }
            let isTested = names.filter { $0.hasSuffix("Tests") }
            #expect(!isTested.isEmpty || shown.hasPrefix("no test"), "\(line)")
            for name in isTested {
                let isThere =
                    folders.contains(name) || sources.contains("struct \(name) ") || sources.contains("class \(name) ")
                #expect(isThere, "\(name) is not a test")
            }
            for name in names where name.hasPrefix("scripts/") {
                #expect(FileManager.default.fileExists(atPath: Self.root.appendingPathComponent(name).path), "\(name)")
            }
        }
    }

    @Test("The other promises are on their pages, word for word")
    func words() throws {
        func plain(_ text: String) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        let lines = try Self.table("Other sentences of these pages", in: "docs/guarantees.md")
        for line in lines {
            let page = plain(try Self.text(line[0]))
            // This table itself has the words once.
            let least = line[0] == "docs/guarantees.md" ? 2 : 1
            #expect(page.components(separatedBy: line[1]).count > least, "\(line[0]) does not say: \(line[1])")
        }
    }

    @Test("Verification shares no code with the plan and the engine")
    func independence() throws {
        let folder = Self.root.appendingPathComponent("Sources/FerryVerify")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            count += 1
            let imports = try String(contentsOf: file, encoding: .utf8).matches(of: /import (Ferry\w+)/).map { $0.1 }
            #expect(
                imports.allSatisfy { !["FerryEngine", "FerryPlan", "FerryGenerate"].contains($0) },
                "\(file.lastPathComponent) imports \(imports)")
        }
        #expect(count > 40)
    }

    @Test("Where every object keeps its row, a mapping model leaves the pages of other entities as they are")
    func costFollowsTheChange() throws {
        let app = try RouteFolder()
        let book = RouteFolder.entity("Book", "title", "notes")
        try app.model("App", "App 1", book + RouteFolder.entity("User", "name"))
        try app.model("App", "App 2", book + RouteFolder.entity("User", "fullName"))
        try app.current("App", "App 2")
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
              { "source": "Book", "destination": "Book" },
              { "source": "User", "destination": "User", "attributes": { "fullName": "uppercase:($source.name)" } } ] }
            """, to: "Maps/One.json")
        let made = try app.run(
            "generate", "App.xcdatamodeld", "--version", "App 1", "--rows", "20", "--rows-of", "Book=4000", "--output",
            "App.sqlite")
        try #require(made.exitCode == 0, "\(made.diagnostics)")
        try app.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
        let store = URL(fileURLWithPath: app.folder.file("App.sqlite"))
        let before = try Data(contentsOf: store)
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps", "--no-snapshot")
        let after = try Data(contentsOf: store)
        #expect(try app.count("SELECT count(*) FROM ZUSER WHERE ZFULLNAME IS upper(ZFULLNAME)") == 20)
        let size = 4096
        let pages = min(before.count, after.count) / size
        let changed = (0..<pages).count { page in
            before[page * size..<(page + 1) * size] != after[page * size..<(page + 1) * size]
        }
        #expect(pages > 50 && changed > 0 && changed < pages / 5, "\(changed) of \(pages) pages")
    }
}
