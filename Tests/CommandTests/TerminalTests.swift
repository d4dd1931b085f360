import Foundation
import TestSupport
import Testing

/// The program in a pseudo-terminal of a given width, with `script` of util-linux.
@Suite("In a terminal", .enabled(if: Terminal.isThere, "needs script and stty of Linux"))
struct TerminalTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App", RouteFolder.entity("Book", "title", "shelf"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "title", "aRatherLongNameForAnAttribute"))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 50)
    }

    private static let commands: [[String]] =
        [
            ["help"], ["inspect", "App.sqlite"], ["inspect", "App.sqlite", "--models", "App.xcdatamodeld"],
            ["diff", "App.xcdatamodeld:App", "App.xcdatamodeld"],
            ["diff", "--check", "App.xcdatamodeld:App", "App.xcdatamodeld"], ["inspect", "App.xcdatamodeld"],
            ["plan", "App.sqlite", "--models", "App.xcdatamodeld"], ["plan", "App.sqlite", "--models", "None.momd"],
            ["migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--output", "New.sqlite"],
            ["migrate", "App.sqlite", "--models", "App.xcdatamodeld"], ["status", "App.sqlite"],
            ["verify", "App.sqlite", "--models", "App.xcdatamodeld"],
            ["snapshot", "create", "App.sqlite"], ["snapshot", "list", "App.sqlite"],
            ["rollback", "--check", "App.sqlite"], ["rollback", "App.sqlite"], ["migrate"],
            ["mapping", "init", "App.xcdatamodeld:App", "App.xcdatamodeld", "--nothing"],
            ["mapping", "init", "App.xcdatamodeld:App", "App.xcdatamodeld", "--output", "New.sqlite.json"],
            ["mapping", "check", "New.sqlite.json", "--models", "App.xcdatamodeld"],
            ["graph", "App.xcdatamodeld", "--output", "New.sqlite.svg"],
            ["generate", "App.xcdatamodeld:App", "--rows", "1", "--output", "New.sqlite"],
            ["rollback", "App.sqlite", "1", "--output", "New.sqlite"],
            ["snapshot", "prune", "App.sqlite", "--keep", "1"],
            ["config", "init", "--output", "New.sqlite-config.json"], ["report", "."], ["--version"],
            ["tune", "App.sqlite", "--models", "App.xcdatamodeld", "--sizes", "10"],
            ["demo", "New.sqlite-demo", "--books", "100", "--prepare"], ["manual", "--output", "New.sqlite-manual"],
        ]
        + ["migrate", "plan", "verify", "mapping init", "snapshot prune"].map {
            $0.split(separator: " ").map(String.init) + ["--help"]
        }

    @Test(
        "No line is longer than the terminal's width, except a longer word",
        arguments: [40, 100])
    func fits(_ width: Int) throws {
        for command in Self.commands {
            let screen = try Terminal.run(command, width: width, in: app.folder.path)
            let lines = screen.lines
            #expect(!lines.isEmpty, "\(command)")
            let marks = screen.text.unicodeScalars.filter { (0xE000...0xF8FF).contains($0.value) }
            #expect(marks.isEmpty, "\(command): \(screen.text)")
            for line in lines where line.count > width {
                // A long path, for example, must not be broken, so that it can be copied. The backslash continues a
                // command.
                let words = line.split(separator: " ").filter { $0 != "\\" }
                #expect(words.count == 1, "\(command) at \(width): \(line)")
            }
            for file in try FileManager.default.contentsOfDirectory(atPath: app.folder.path)
            where file.hasPrefix("New.sqlite") {
                try FileManager.default.removeItem(atPath: app.folder.file(file))
            }
        }
    }

    @Test("A bar is drawn within one line, and a warning is separate from it")
    func drawsBar() throws {
        let screen = try Terminal.run(
            ["migrate", "--accept-loss", "App.sqlite", "--models", "App.xcdatamodeld", "--output", "New.sqlite"],
            width: 60,
            in: app.folder.path)
        #expect(Colors.without(screen.text).contains("\r[") && screen.text.contains("%"), "\(screen.text)")
        #expect(screen.lines.contains { $0.hasPrefix("ferry: warning: ") }, "\(screen.lines)")
        #expect(screen.lines.contains { $0.hasPrefix("Migrated") }, "\(screen.lines)")
    }
}

/// A pseudo-terminal.
enum Terminal {
    static let isThere = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    struct Screen {
        /// The written text.
        var text: String

        /// The final content of each line: a redraw begins at the first column.
        var lines: [String] {
            let plain: String = Colors.without(text.replacingOccurrences(of: "\u{1b}[K", with: ""))
            // Each drawing must fit separately.
            return plain.unicodeScalars.split { $0 == "\r" || $0 == "\n" }.map(String.init)
        }
    }

    static func run(
        _ words: [String], width: Int, in folder: String, environment: String = "TERM=xterm"
    ) throws -> Screen {
        let program = try #require(BuiltProgram.path, "the program ferry stands beside the test bundle")
        let quoted = ([program] + words).map { "'\($0)'" }.joined(separator: " ")
        let outcome = try FerryBinary.run(
            ["-q", "-e", "-c", "stty cols \(width) && env -u NO_COLOR \(environment) \(quoted)", "/dev/null"],
            in: folder, program: "/usr/bin/script")
        return Screen(text: outcome.output)
    }
}
