internal import Testing

@testable internal import FerryCommand

@Suite("Help")
struct HelpTests {
    @Test("ferry help lists every command", arguments: [["help"], ["--help"], ["-h"]])
    func listsCommands(_ words: [String]) throws {
        let captured = Captured.run(words)
        #expect(captured.exitCode == .success)
        #expect(captured.diagnostics.isEmpty)
        try Golden.expect(captured.output, is: "help")
    }

    @Test("Each command has a help text, equal in both forms of the call", arguments: FerryCommand.commandNames)
    func explains(_ name: String) throws {
        let words = name.split(separator: " ").map(String.init)
        let captured = Captured.run(words + ["--help"])
        #expect(captured.exitCode == .success)
        #expect(Captured.run(["help"] + words).output == captured.output)
        #expect(captured.output.contains("\nExample:\n  ferry "))
        let longest = captured.output.split(separator: "\n").map(\.count).max() ?? 0
        #expect(longest <= 120)
        try Golden.expect(captured.output, is: "help-" + words.joined(separator: "-"))
    }

    @Test("No line of any command's help is longer than the terminal, but for one word", arguments: [40, 60, 80, 120])
    func fitsTerminal(_ width: Int) {
        for name in FerryCommand.commandNames {
            let words = name.split(separator: " ").map(String.init) + ["--help"]
            let captured = Captured.run(words, width: width)
            #expect(captured.exitCode == .success)
            for line in captured.output.split(separator: "\n") {
                // A path stays whole, to be copied.
                #expect(
                    line.count <= width || line.split(separator: " ").count == 1, "\(name) at \(width): \(line)")
            }
        }
    }

    @Test("A number stays on the line of its unit")
    func keepsUnits() {
        #expect(TextWrap.lines("verify  took 3.3 s", width: 16) == ["verify  took", "  3.3 s"])
        #expect(TextWrap.lines("verify  took 3 steps", width: 16) == ["verify  took 3", "  steps"])
    }

    @Test("Each command's help fits a screen of 80 columns and 45 lines", arguments: FerryCommand.commandNames)
    func fitsScreen(_ name: String) {
        let help = Captured.run(name.split(separator: " ").map(String.init) + ["--help"], width: 80)
        #expect(help.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 46, "\(help.output)")
    }

    @Test("--help-all has each option once, in a group; the short help says how many there are more")
    func hasAllOptions() throws {
        for command in Syntax.table {
            let words = command.name.split(separator: " ").map(String.init)
            let all = Captured.run(words + ["--help-all"]).output
            for option in command.options {
                let lines = all.split(separator: "\n").filter { $0.hasPrefix("  \(option.listed)") }
                #expect(lines.count == 1, "\(command.name) \(option.name)")
            }
            let short = Captured.run(words + ["--help"]).output
            guard !command.commonOptions.isEmpty else {
                #expect(short == all)
                continue
            }
            let rest = command.options.filter { !$0.isCommon }
            #expect(short.contains("\n\(rest.count) more options: ferry \(command.name) --help-all\n"))
            #expect(!rest.contains { short.contains("\n  \($0.listed)") })
            try Golden.expect(all, is: "help-all-" + words.joined(separator: "-"))
        }
    }

    @Test("The list of commands has each command, on a screen")
    func groupsCommands() throws {
        // With more, nobody keeps them in the head.
        #expect(FerryCommand.commandNames.filter { !FerryCommand.setup.contains($0) }.count <= 20)
        #expect(Set(FerryCommand.commandNames) == Set(FerryCommand.commands.map { $0.name }))
        let migrate = try #require(Syntax.table.first { $0.name == "migrate" })
        // Besides what a migration is about, and what every command has.
        let main = ["--models", "--mappings", "--to", "--output", "--json", "--quiet", "--help", "--help-all"]
        #expect(migrate.options.filter { !main.contains($0.name) }.count <= 26)
        let lines = Captured.run(["help"]).output.split(separator: "\n").map(String.init)
        for name in FerryCommand.commandNames {
            let words = name.split(separator: " ")
            #expect(lines.contains { line in words.allSatisfy { line.contains($0) } }, "\(name)")
        }
        let screen = Captured.run(["help"], width: 80).output.split(separator: "\n", omittingEmptySubsequences: false)
        // The last newline ends the last line.
        #expect(screen.count - 1 <= 24 && screen.allSatisfy { $0.count <= 80 }, "\(screen.joined(separator: "\n"))")
    }

    @Test("ferry --version prints the version in both forms")
    func tellsVersion() {
        #expect(Captured.run(["--version"]).output.hasPrefix("ferry "))
        #expect(Captured.run(["--version", "--json"], isJSON: true).output.contains("\"version\""))
    }
}
