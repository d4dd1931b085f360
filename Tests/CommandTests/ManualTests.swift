import Foundation
import TestSupport
import Testing

@testable import FerryCommand

@Suite("Manual pages")
struct ManualTests {
    @Test("Each command has a page with each of its options, and the main page names each command")
    func holdsTheTable() throws {
        let table = try CommandTable.read()
        let main = Captured.run(["manual"])
        #expect(main.exitCode == .success)
        for command in table.commands {
            #expect(main.output.contains("ferry-\(command.words.joined(separator: "-"))(1)"))
            let page = Captured.run(["manual"] + command.words).output
            #expect(page.contains("\nUsage: ferry \(command.name)"))
            for option in command.options {
                let name = option.name.replacing("-", with: "\\-")
                #expect(
                    page.split(separator: "\n").contains { $0.contains("  \(name)") || $0.contains(", \(name)") },
                    "\(name)")
            }
            for operand in command.operands { #expect(page.contains(operand.name)) }
        }
    }

    @Test("An unknown page is refused with the nearest name")
    func refusesUnknown() {
        let captured = Captured.run(["manual", "migrat"])
        #expect(captured.exitCode == .usage)
        #expect(captured.diagnostics.contains("Did you mean migrate?"))
    }

    @Test("mandoc reports no error in any page", .enabled(if: Mandoc.isThere, "needs mandoc"))
    func lints() throws {
        let folder = try TemporaryFolder()
        let written = Captured.run(["manual", "--output", folder.file("man1")])
        #expect(written.exitCode == .success)
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder.file("man1")).sorted()
        #expect(pages.count == (try CommandTable.read()).commands.count + 1)
        let lint = try FerryBinary.run(
            ["-Tlint", "-Wwarning"] + pages, in: folder.file("man1"), program: Mandoc.path)
        #expect(lint.exitCode == 0, "\(lint.output)\(lint.diagnostics)")
    }

    @Test("A page has the same text as the help", .enabled(if: Mandoc.isThere, "needs mandoc"))
    func readsAsHelp() throws {
        let folder = try TemporaryFolder()
        for command in try CommandTable.read().commands {
            let page = Captured.run(["manual"] + command.words).output
            try page.write(toFile: folder.file("page"), atomically: true, encoding: .utf8)
            let shown = try FerryBinary.run(["-Tutf8", "-Owidth=1000", "page"], in: folder.path, program: Mandoc.path)
                .output
            // mandoc overwrites bold and underlined characters.
            let text = shown.replacing(/.\u{8}/, with: "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let help = Captured.run(["help"] + command.words).output
            let sentence = command.summary.dropFirst().dropLast()
            #expect(text.contains(sentence), "\(command.name)")
            for line in help.split(separator: "\n").suffix(1) {
                #expect(
                    text.contains(line.split(whereSeparator: \.isWhitespace).joined(separator: " ")),
                    "\(text.suffix(300))")
            }
            for option in command.options { #expect(text.contains(option.name), "\(command.name) \(option.name)") }
        }
    }
}

private enum Mandoc {
    static let path = "/usr/bin/mandoc"
    static let isThere = FileManager.default.isExecutableFile(atPath: path)
}
