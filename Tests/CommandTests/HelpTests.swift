internal import FerryCommand
internal import Testing

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

    @Test("No line of any command's help is longer than the terminal", arguments: [40, 60, 80, 120])
    func fitsTerminal(_ width: Int) {
        for name in FerryCommand.commandNames {
            let words = name.split(separator: " ").map(String.init) + ["--help"]
            let captured = Captured.run(words, width: width)
            #expect(captured.exitCode == .success)
            for line in captured.output.split(separator: "\n") {
                #expect(line.count <= width, "\(name) at \(width): \(line)")
            }
        }
    }

    @Test("ferry --version prints the version in both forms")
    func tellsVersion() {
        #expect(Captured.run(["--version"]).output.hasPrefix("ferry "))
        #expect(Captured.run(["--version", "--json"], isJSON: true).output.contains("\"version\""))
    }
}
