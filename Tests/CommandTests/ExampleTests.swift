internal import FerryBase
internal import FerryCommand
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// The worked examples: the commands of each page of `docs/examples` say what stands there.
///
/// They are run as they stand there, with the program itself; `FERRY_RECORD=1` writes what they say into the page.
@Suite("Worked examples")
struct ExampleTests {
    static let folder = "\(Fixtures.packageRoot)/docs/examples"
    static let examples = [
        "books", "entity-to-attribute", "merge-entities", "self-join", "split-name", "text-to-date", "tracks",
    ]

    @Test("Every folder with a page is one of the examples that are run")
    func isComplete() throws {
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter {
            FileManager.default.fileExists(atPath: "\(Self.folder)/\($0)/README.md")
        }
        #expect(pages.sorted() == Self.examples)
    }

    @Test("The commands of a page say what the page says", arguments: examples)
    func runs(_ example: String) throws {
        let folder = try TemporaryFolder()
        let manager = FileManager.default
        for item in try manager.contentsOfDirectory(atPath: "\(Self.folder)/\(example)") {
            try manager.copyItem(atPath: "\(Self.folder)/\(example)/\(item)", toPath: folder.file(item))
        }
        let path = "\(Self.folder)/\(example)/README.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        var isCommands = false
        var count = 0
        var told: [String] = []
        for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("```") { isCommands = line == "```console" }
            if !isCommands || line == "```console" {
                told.append(line)
            } else if line.hasPrefix("$ ") {
                told.append(line)
                told += try output(of: words(of: String(line.dropFirst(2))), in: folder)
                count += 1
            }
        }
        #expect(count > 4)
        if ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1" {
            try told.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        let differences = zip(told, page.split(separator: "\n", omittingEmptySubsequences: false)).filter { $0 != $1 }
        #expect(told.joined(separator: "\n") == page, "first difference: \(String(describing: differences.first))")
    }

    @Test("Each JSON of the page about policies fits the page's models")
    func policies() throws {
        let page = try String(contentsOfFile: "\(Fixtures.packageRoot)/docs/policies-in-json.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```json\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        #expect(blocks.count == 10)
        let folder = try TemporaryFolder()
        let file = folder.file("mapping.json")
        for (number, block) in blocks.enumerated() {
            try "{ \"source\": \"Shop 1\", \"destination\": \"Shop 2\", \"entityMappings\": \(block) }"
                .write(toFile: file, atomically: true, encoding: .utf8)
            let checked = Captured.run(
                ["mapping", "check", file, "--models", "\(Self.folder)/policies/Shop.xcdatamodeld"])
            #expect(checked.exitCode == .success, "\(number + 1): \(checked.output)\(checked.diagnostics)")
        }
    }

    // MARK: A page's shell

    private func output(of words: [String], in folder: TemporaryFolder) throws -> [String] {
        switch words.first {
        case "ferry":
            let outcome = try FerryBinary.run(Array(words.dropFirst()), in: folder.path)
            #expect(outcome.exitCode == 0, "\(words): \(outcome.diagnostics)")
            return (outcome.output + outcome.diagnostics).split(separator: "\n").map(String.init)
        case "sqlite3":
            try #require(words.count == 3, "\(words)")
            let connection = try Connection(path: folder.file(words[1]), mode: .readWrite)
            return try connection.rows(words[2]).map { $0.map(shown).joined(separator: "|") }
        default:
            Issue.record("\(words) is no command of a page")
            return []
        }
    }

    /// As the program sqlite3 shows a value.
    private func shown(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The words of a command line, with both kinds of quotes.
    private func words(of line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                (quote, word) = (character, word ?? "")
            } else if quote == nil, character == " " {
                if let ended = word { words.append(ended) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words
    }
}
