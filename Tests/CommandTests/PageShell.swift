internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// Runs the commands of a page (after `$`, in blocks marked `console`), as a reader would type them.
///
/// A block marked `json` with a file's name writes that file.
struct PageShell {
    let folder: TemporaryFolder

    /// Returns the page with the output of its commands, and the number of commands.
    ///
    /// The exit code follows a command if it is not 0.
    func told(_ page: String) throws -> (page: String, commands: Int) {
        var isCommands = false
        var count = 0
        var told: [String] = []
        var file: (name: String?, text: String) = (nil, "")
        for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("```") {
                isCommands = line == "```console"
                if let name = file.name {
                    try file.text.write(toFile: folder.file(name), atomically: true, encoding: .utf8)
                }
                let name = line.hasPrefix("```json ") ? String(line.dropFirst(8)) : nil
                file = (name, "")
            } else if file.name != nil {
                file.text += line + "\n"
            }
            if !isCommands || line == "```console" {
                told.append(line)
            } else if line.hasPrefix("$ ") {
                told.append(line)
                told += try output(of: words(of: String(line.dropFirst(2))))
                count += 1
            }
        }
        return (told.joined(separator: "\n"), count)
    }

    private func output(of words: [String]) throws -> [String] {
        switch words.first {
        case "ferry":
            // Pages show the memory of the released program (`FERRY_BINARY`), not that of a debug build.
            let outcome = try FerryBinary.run(
                Array(words.dropFirst()), in: folder.path,
                program: ProcessInfo.processInfo.environment["FERRY_BINARY"])
            let text = (outcome.output + outcome.diagnostics).replacingOccurrences(of: folder.path + "/", with: "")
                .replacingOccurrences(of: folder.path, with: ".")
            return withoutMemory(text.split(separator: "\n").map(String.init))
                + (outcome.exitCode == 0 ? [] : ["(exit code \(outcome.exitCode))"])
        case "sqlite3":
            try #require(words.count == 3, "\(words)")
            let connection = try Connection(path: folder.file(words[1]), mode: .readWrite)
            return try connection.rows(words[2]).map { $0.map(shown).joined(separator: "|") }
        default:
            Issue.record("\(words) is no command of a page")
            return []
        }
    }

    /// Returns the lines without the warning of memory, which only a debug build gives: its code takes 20 MiB.
    private func withoutMemory(_ lines: [String]) -> [String] {
        let kept = lines.filter { !$0.contains("The process used up to ") }
        guard kept.count < lines.count else { return lines }
        return kept.indices.filter { index in
            kept[index] != "Warnings" || (index + 1 < kept.count && kept[index + 1].hasPrefix("  "))
        }.map { kept[$0] }
    }

    /// Returns a value in the form of the program sqlite3.
    private func shown(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Returns the words of a command line, with both kinds of quotes.
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
