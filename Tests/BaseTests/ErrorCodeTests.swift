internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Error codes")
struct ErrorCodeTests {
    private struct Declared {
        var name, text, comment: String
    }

    /// What the source declares, with the doc comment before each.
    private static func declared() throws -> [Declared] {
        let path = Fixtures.packageRoot + "/Sources/FerryBase/FerryError+Code.swift"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        return lines.indices.compactMap { place in
            guard let found = lines[place].firstMatch(of: /^public static let (\w+) = Self\("(\w+)", \.\w+\)$/) else {
                return nil
            }
            let before = place > 0 ? lines[place - 1] : ""
            return Declared(
                name: String(found.1), text: String(found.2),
                comment: before.hasPrefix("/// ") ? String(before.dropFirst(4)) : "")
        }
    }

    @Test("Every code is declared under its own name, with what it means, and is among all of them")
    func listsCodes() throws {
        let declared = try Self.declared()
        #expect(declared.map(\.name).sorted() == FerryError.Code.all.map(\.name).sorted())
        #expect(Set(declared.map(\.name)).count == declared.count)
        for code in declared {
            #expect(code.name == code.text)
            #expect(!code.comment.isEmpty, "\(code.name)")
        }
    }

    @Test("No other file declares codes of its own")
    func declaresOnce() throws {
        for file in try SourceText.files(below: "Sources") where !file.hasSuffix("FerryError+Code.swift") {
            let source = try String(contentsOfFile: file, encoding: .utf8)
            #expect(!source.contains("extension FerryError.Code"), "\(file)")
            #expect(!source.contains("FerryError.Code("), "\(file)")
        }
    }

    @Test("The page on errors has a line for every code with its exit code, and none for another one")
    func documentsCodes() throws {
        let page = try String(contentsOfFile: Fixtures.packageRoot + "/docs/errors.md", encoding: .utf8)
        let exits: [FerryError.Consequence: Int] = [.refused: 2, .failed: 1, .differs: 3, .resumable: 75, .usage: 64]
        let comments = Dictionary(uniqueKeysWithValues: try Self.declared().map { ($0.name, $0.comment) })
        let wanted = FerryError.Code.all.map { code in
            "| `\(code.name)` | \(exits[code.consequence] ?? -1) | \(comments[code.name] ?? "") |"
        }
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        #expect(rows.sorted() == wanted.sorted())
    }
}
