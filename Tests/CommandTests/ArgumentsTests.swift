internal import FerryBase
internal import Testing

@testable internal import FerryCommand

@Suite("Arguments")
struct ArgumentsTests {
    private static let syntax = Syntax.read(
        """
        # Each
        - --json: An object.
        - --help: Help.
        # Tests
        ## carry
        For tests.
        > STORE: A store.
        > [MORE]: Another one.
        - --models! PATH…: Models.
        - --to VERSION: The target.
        - --restart: Begins again.
        $ ferry carry App.sqlite
        """
    ).commands[0]

    struct Reading: Sendable {
        var words: String
        var operands: [String] = ["S"]
        var models: [String] = ["M"]
        var target: String?
        var restarts = false
    }

    @Test(
        "Words are read in every spelling",
        arguments: [
            Reading(words: "S --models M"),
            Reading(words: "--models M S"),
            Reading(words: "--models=M S"),
            Reading(words: "S --models M --models=N", models: ["M", "N"]),
            Reading(words: "S T --models M", operands: ["S", "T"]),
            Reading(words: "S T --models M N O --to 3", operands: ["S", "T"], models: ["M", "N", "O"], target: "3"),
            Reading(words: "S T -m M N --models=O", operands: ["S", "T"], models: ["M", "N", "O"]),
            Reading(words: "S -m M T", operands: ["S", "T"]),
            Reading(words: "S -m=M -t 3", target: "3"),
            Reading(words: "S --models M --to 3", target: "3"),
            Reading(words: "S --models M --to=3", target: "3"),
            Reading(words: "S --models M --to=--3", target: "--3"),
            Reading(words: "S --models M --to=a=b", target: "a=b"),
            Reading(words: "S --models M --to -1", target: "-1"),
            Reading(words: "--restart S --models M", restarts: true),
            Reading(words: "--models M -- S --restart", operands: ["S", "--restart"]),
            Reading(words: "- --models M", operands: ["-"]),
        ])
    func reads(_ reading: Reading) throws {
        let words = reading.words.split(separator: " ").map(String.init)
        let arguments = try Arguments(words, for: Self.syntax)
        #expect(arguments.operands == reading.operands)
        #expect(arguments.values("--models") == reading.models)
        #expect(arguments.value("--to") == reading.target)
        #expect(arguments.has("--restart") == reading.restarts)
    }

    @Test(
        "A syntax error is a usage error that names the mistake",
        arguments: [
            ("", "STORE is missing."),
            ("S", "The option --models PATH is missing."),
            ("S --models", "The option --models needs a value: --models PATH."),
            ("S --models --restart", "The option --models needs a value: --models PATH."),
            ("S -m -t 3", "The option --models needs a value: --models PATH."),
            ("S -m M -t 1 --to 2", "The option --to is given twice."),
            ("S T U --models M", "Unexpected argument: \"U\"."),
            ("S --models M --to 1 --to 2", "The option --to is given twice."),
            ("S --models M --restart --restart", "The option --restart is given twice."),
            ("S --models M --restart=yes", "The option --restart takes no value."),
            ("S --models M --restrat", "Unknown option --restrat."),
            ("S --models M --budget 15s", "Unknown option --budget."),
            ("S --models M -x", "Unknown option -x."),
        ])
    func refuses(_ words: String, _ message: String) throws {
        let error = try #require(throws: FerryError.self) {
            try Arguments(words.split(separator: " ").map(String.init), for: Self.syntax)
        }
        #expect(error.code == .usage)
        #expect(error.message == message)
        #expect(!error.remedy.isEmpty)
    }

    @Test(
        "A misspelt option is answered with the nearest one, an unknown one with a pointer to the help",
        arguments: [
            ("--restrat", "Did you mean --restart?"), ("--model", "Did you mean --models?"),
            ("--jsno", "Did you mean --json?"), ("--something-else", "See: ferry carry --help"),
        ])
    func suggests(_ option: String, _ remedy: String) throws {
        let error = try #require(throws: FerryError.self) {
            try Arguments(["S", "--models", "M", option], for: Self.syntax)
        }
        #expect(error.remedy.description == remedy)
    }

    @Test(
        "An empty operand or value is a usage error, because it comes from an unset variable of the shell",
        arguments: [
            (["", "--models", "M"], "STORE is empty."),
            (["S", "--models", ""], "The value of --models is empty."),
            (["S", "--models", "M", ""], "MORE is empty."),
            (["S", "T", "--models", "M", ""], "The value of --models is empty."),
            (["S", "--models="], "The value of --models is empty."),
            (["S", "--models", "M", "--to="], "The value of --to is empty."),
        ])
    func refusesEmptyWords(_ words: [String], _ message: String) {
        let error = #expect(throws: FerryError.self) { _ = try Arguments(words, for: Self.syntax) }
        #expect(error?.message == message && error?.code == .usage)
    }

    @Test("Help needs no other argument", arguments: [["--help"], ["-h"], ["S", "--help"]])
    func readsHelp(_ words: [String]) throws {
        #expect(try Arguments(words, for: Self.syntax).has("--help"))
    }
}
