internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// The worked examples: the commands of each page of `docs/examples` must print the page's text.
///
/// The tests run the commands unchanged, with the program itself; `FERRY_RECORD=1` writes the output into the page.
@Suite("Worked examples")
struct ExampleTests {
    static let folder = "\(Fixtures.packageRoot)/docs/examples"
    static let examples = [
        "books", "entity-to-attribute", "merge-entities", "self-join", "split-name", "text-to-date", "tracks",
    ]

    @Test("Every folder with a page is one of the tested examples")
    func isComplete() throws {
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter {
            FileManager.default.fileExists(atPath: "\(Self.folder)/\($0)/README.md")
        }
        #expect(pages.sorted() == Self.examples)
    }

    @Test("The commands of a page print the page's text", arguments: examples)
    func runs(_ example: String) throws {
        let folder = try TemporaryFolder()
        let manager = FileManager.default
        for item in try manager.contentsOfDirectory(atPath: "\(Self.folder)/\(example)") {
            try manager.copyItem(atPath: "\(Self.folder)/\(example)/\(item)", toPath: folder.file(item))
        }
        let path = "\(Self.folder)/\(example)/README.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let (told, count) = try PageShell(folder: folder).told(page)
        #expect(count > 4)
        if ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1" {
            try told.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        let lines = [told, page].map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
        let difference = zip(lines[0], lines[1]).first { $0 != $1 }
        #expect(told == page, "first difference: \(String(describing: difference))")
    }

    @Test("Each JSON of the page about policies fits the page's models")
    func policies() throws {
        let page = try String(
            contentsOfFile: "\(Fixtures.packageRoot)/docs/guide/replacing-a-policy.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```json\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        #expect(!blocks.isEmpty)
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
}
