import FerryCommand
import Foundation
import TestSupport
import Testing

/// Colours, which a terminal wants and a pipe does not.
@Suite("Colours")
struct ColorTests {
    private static let escape = "\u{1b}["

    @Test("A pipe gets no colours unless they are asked for", arguments: ["migrat", "plan"])
    func leavesPipesAlone(_ command: String) {
        #expect(!Captured.run([command]).diagnostics.contains(Self.escape))
    }

    @Test("--color always paints what failed, and not what to do next")
    func paintsErrors() {
        let plain = Captured.run(["inspect", "none.sqlite", "--color", "never"])
        let painted = Captured.run(["inspect", "none.sqlite", "--color=always"])
        #expect(plain.exitCode == painted.exitCode)
        let lines = painted.diagnostics.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("\(Self.escape)31mferry: ") && lines[0].hasSuffix("\(Self.escape)0m"))
        #expect(lines.dropFirst().allSatisfy { !$0.contains(Self.escape) })
        #expect(Colors.without(painted.diagnostics) == plain.diagnostics)
    }

    @Test("JSON has no colours, and no marks for them")
    func leavesJSONAlone() throws {
        let captured = Captured.run(["inspect", "none.sqlite", "--json", "--color", "always"], isJSON: true)
        #expect(!captured.output.contains(Self.escape) && !captured.output.contains { Colors.isMark($0) })
    }

    @Test("--color knows three words")
    func refusesOthers() {
        let captured = Captured.run(["version", "--color", "yes"])
        #expect(captured.exitCode == .usage)
        #expect(captured.diagnostics.contains("auto, always, never"))
    }

    @Test(
        "A terminal gets colours, unless NO_COLOR is set or it is a dumb one", .enabled(if: Terminal.isThere),
        arguments: [
            ("TERM=xterm", true), ("TERM=xterm NO_COLOR=1", false), ("TERM=dumb", false),
            ("TERM=xterm NO_COLOR=", true),
        ])
    func asksTheTerminal(_ environment: String, isPainted: Bool) throws {
        let folder = try TemporaryFolder()
        let screen = try Terminal.run(
            ["inspect", "none.sqlite"], width: 80, in: folder.path, environment: environment)
        #expect(screen.text.contains(Self.escape) == isPainted, "\(screen.text)")
        #expect(screen.lines.first?.hasPrefix("ferry: ") == true)
    }
}

/// Colours in what was written.
enum Colors {
    static func without(_ text: String) -> String { text.replacing(/\u{1b}\[[0-9;]*m/, with: "") }

    /// Whether a character is one of those by which a line carries its emphasis inside the program.
    static func isMark(_ character: Character) -> Bool {
        character.unicodeScalars.contains { (0xE000...0xF8FF).contains($0.value) }
    }
}
