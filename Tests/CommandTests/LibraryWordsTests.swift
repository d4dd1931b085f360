internal import FerryBase
internal import FerryCommand
internal import Foundation
internal import TestSupport
internal import Testing

/// The library's texts name settings and calls; only the command line's texts name options and commands.
@Suite("The library's words")
struct LibraryWordsTests {
    /// Options, commands with the program's name, and the word "command" itself.
    private static let foreign = {
        let commands = Set(FerryCommand.commandNames.compactMap { $0.split(separator: " ").first }).sorted()
        return "(^|[^A-Za-z0-9-])(--[a-z]|ferry (\(commands.joined(separator: "|")))\\b|[Tt]he (same )?command\\b)"
    }()

    private static func foreignLiterals(_ literals: [SourceText.Literal]) -> [SourceText.Literal] {
        literals.filter {
            $0.text.range(of: foreign, options: .regularExpression) != nil || $0.goesOn && $0.text.hasSuffix("--")
        }
    }

    /// Every target of the library, from the folders of the sources.
    private static let rooms = ["FerryCommand", "FerryTool"].reduce(into: Set(folders)) { $0.remove($1) }.sorted()

    private static var folders: [String] {
        let sources = Fixtures.packageRoot + "/Sources"
        return ((try? FileManager.default.contentsOfDirectory(atPath: sources)) ?? []).filter { $0.hasPrefix("Ferry") }
    }

    @Test("No message, remedy or warning of the library names an option or a command of the program")
    func namesNoOption() throws {
        #expect(Self.rooms.count >= 12 && Self.rooms.contains("Ferry") && Self.rooms.contains("FerryBase"))
        for room in Self.rooms {
            let literals = try SourceText.literals(below: "Sources/" + room)
            #expect(!literals.isEmpty, "\(room)")
            for found in Self.foreignLiterals(literals) {
                Issue.record("\(found.file):\(found.line): \(found.text)")
            }
        }
    }

    @Test(
        "An option or a command is found in every form of literal",
        arguments: [
            #"throw FerryError(.usage, "x", remedy: "Give --models.")"#, #"let text = "a \(b ? "--restart" : "c") d""#,
            "let text = \"\"\"\n    Begin anew \\\n    with --restart.\n    \"\"\"",
            ##"let text = #"see \#(a) ferry plan"#"##,
            #"// "quoted" in a comment\#nlet text = "`ferry snapshot list` shows them""#,
            #"let text = "Run the same command again.""#, #"let text = "Give --\(option).""#,
        ])
    func findsForeignWords(_ source: String) {
        #expect(Self.foreignLiterals(SourceText(source).literals).count == 1, "\(source)")
    }

    @Test(
        "Comments, SQL and names of threads are ignored",
        arguments: [
            #"/// Give --models."#, #"let a = b --c"#, #"let sql = "SELECT 1 -- one""#, #"thread.name = "ferry.rows""#,
            #"/* "ferry plan" */ let a = "b""#,
        ])
    func passesOtherText(_ source: String) {
        #expect(Self.foreignLiterals(SourceText(source).literals).isEmpty, "\(source)")
    }
}
