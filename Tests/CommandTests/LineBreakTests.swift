import Foundation
import TestSupport
import Testing

@testable import FerryCommand

/// Paths and commands stay intact for pasting on a narrow terminal.
@Suite("Breaking lines")
struct LineBreakTests {
    /// A name longer than any line of the terminals below.
    private static let longName = String(repeating: "Long", count: 40) + ".sqlite"

    @Test("A path that is longer than a line stays whole, on a line of its own", arguments: [40, 80])
    func keepsPaths(_ width: Int) {
        // A path in the current folder is printed from there.
        let captured = Captured.run(["inspect", "/\(Self.longName)"], width: width)
        let lines = captured.diagnostics.split(separator: "\n").map(String.init)
        #expect(captured.exitCode == .refused)
        #expect(lines.contains { $0.hasPrefix("  /") && $0.hasSuffix("/\(Self.longName).") }, "\(lines)")
        #expect(lines.filter { $0.count > width }.count == 1, "\(lines)")
    }

    @Test("A command is continued by backslashes, so that a shell reads it as one", arguments: [40, 60, 80])
    func continuesCommands(_ width: Int) throws {
        for name in FerryCommand.commandNames {
            let words = name.split(separator: " ").map(String.init) + ["--help"]
            let broken = try #require(
                Captured.run(words, width: width).output.components(separatedBy: "Example:\n").last)
            let whole = try #require(Captured.run(words).output.components(separatedBy: "Example:\n").last)
            #expect(joined(broken) == joined(whole), "\(name) at \(width)")
        }
    }

    @Test("Each candidate for the target is a command on a line of its own, without a break in a quoted name")
    func tellsCandidates() throws {
        let app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "shelf"))
        try app.model("App", "App 3", RouteFolder.entity("Book", "title", "shelf", "price"))
        try app.generate("App", "App", rows: 1)
        let words = ["plan", app.folder.file("App.sqlite"), "--models", app.folder.file("App.xcdatamodeld")]
        let wide = Captured.run(words)
        let commands = wide.diagnostics.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.hasPrefix("ferry plan ") }
        #expect(commands.count > 1 && commands.contains { $0.hasSuffix(" --to 'App 3'") }, "\(wide)")
        let narrow = Captured.run(words, width: 40)
        for command in commands {
            #expect(joined(narrow.diagnostics).contains(command), "\(narrow.diagnostics)")
        }
    }

    /// Returns the text as a shell reads it: a backslash at the end of a line joins two lines, and several spaces are
    /// one.
    private func joined(_ text: String) -> String {
        text.replacing("\\\n", with: " ").replacing(#/ +/#, with: " ").trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
