internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Error codes")
struct ErrorCodeTests {
    private struct Declared {
        var name, text, comment: String
    }

    /// Returns the declarations in the source, with the doc comment of each.
    private static func declared(in file: String = "FerryError.swift") throws -> [Declared] {
        let path = Fixtures.packageRoot + "/Sources/FerryBase/" + file
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        return lines.indices.compactMap { place in
            let form = /^public static let (\w+) = Self\((?:rawValue: )?"(\w+)"(?:, \.\w+)?\)$/
            guard let found = lines[place].firstMatch(of: form) else { return nil }
            let before = place > 0 ? lines[place - 1] : ""
            return Declared(
                name: String(found.1), text: String(found.2),
                comment: before.hasPrefix("/// ") ? String(before.dropFirst(4)) : "")
        }
    }

    @Test("Every code is declared under its own name with a doc comment, and is in the list of all codes")
    func listsCodes() throws {
        let declared = try Self.declared()
        #expect(declared.map(\.name).sorted() == FerryError.Code.all.map(\.name).sorted())
        #expect(Set(declared.map(\.name)).count == declared.count)
        for code in declared {
            #expect(code.name == code.text)
            #expect(!code.comment.isEmpty, "\(code.name)")
        }
    }

    /// Returns the lines of the page: part 0 has the errors, part 1 the warnings.
    private static func lines(ofPart part: Int) throws -> [Substring] {
        let page = try String(contentsOfFile: Fixtures.packageRoot + "/docs/errors.md", encoding: .utf8)
        let parts = page.components(separatedBy: "\n## Warnings\n")
        try #require(parts.count == 2)
        return parts[part].split(separator: "\n")
    }

    @Test("Every warning code is declared under its own name, is in the list of all codes, and has a line on the page")
    func documentsWarnings() throws {
        let declared = try Self.declared(in: "FerryWarning.swift")
        #expect(declared.map(\.name) == FerryWarning.Code.all.map(\.rawValue))
        #expect(declared.allSatisfy { $0.name == $0.text && !$0.comment.isEmpty })
        let told = try Self.lines(ofPart: 1).filter { $0.hasPrefix("- `") }.map(String.init)
        #expect(told == declared.map { "- `\($0.name)`: \($0.comment)" })
    }

    @Test("The page on errors has a section for every code under its exit code, and no other section")
    func documentsCodes() throws {
        let exits: [FerryError.Consequence: Int] = [.refused: 2, .failed: 1, .differs: 3, .resumable: 75, .usage: 64]
        let comments = Dictionary(uniqueKeysWithValues: try Self.declared().map { ($0.name, $0.comment) })
        let wanted = FerryError.Code.all.map { code in
            "(exit code \(exits[code.consequence] ?? -1)) \(code.name): \(comments[code.name] ?? "")"
        }
        let lines = try Self.lines(ofPart: 0)
        var told: [String] = []
        var exit: Substring = ""
        for (line, next) in zip(lines, lines.dropFirst()) {
            if line.hasPrefix("## ") { exit = line.drop { $0 != "(" } }
            if line.hasPrefix("### ") { told.append("\(exit) \(line.dropFirst(4)): \(next)") }
        }
        #expect(told.sorted() == wanted.sorted())
    }
}
