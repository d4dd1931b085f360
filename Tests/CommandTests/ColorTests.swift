import Foundation
import TestSupport
import Testing

@testable import FerryCommand

/// Colours: on for a terminal, off for a pipe.
@Suite("Colours")
struct ColorTests {
    private static let escape = "\u{1b}["

    @Test("A pipe gets no colours by default", arguments: ["migrat", "plan"])
    func leavesPipesAlone(_ command: String) {
        #expect(!Captured.run([command]).diagnostics.contains(Self.escape))
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
        // A failure is coloured, its remedy is not.
        let painted = screen.text.split(whereSeparator: \.isNewline).filter { $0.contains(Self.escape) }
        #expect(painted.allSatisfy { $0.contains("31m") }, "\(screen.text)")
    }
}

/// The colours in a text.
enum Colors {
    static func without(_ text: String) -> String { text.replacing(/\u{1b}\[[0-9;]*m/, with: "") }

    /// Returns whether a character marks emphasis in a line inside the program.
    static func isMark(_ character: Character) -> Bool {
        character.unicodeScalars.contains { (0xE000...0xF8FF).contains($0.value) }
    }
}
