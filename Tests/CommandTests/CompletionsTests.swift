import Foundation
import TestSupport
import Testing

@testable import FerryCommand

/// The scripts in their shells: their suggestions must equal the table of commands.
@Suite("Completions")
struct CompletionsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for shell in ["bash", "zsh", "fish"] {
            let captured = Captured.run(["completions", shell])
            #expect(captured.exitCode == .success)
            try captured.output.write(toFile: folder.file("ferry.\(shell)"), atomically: true, encoding: .utf8)
        }
        try "".write(toFile: folder.file("My Store.sqlite"), atomically: true, encoding: .utf8)
    }

    @Test("A shell without completions is refused with the shells that have some")
    func refusesOthers() {
        let captured = Captured.run(["completions", "tcsh"])
        #expect(captured.exitCode == .usage)
        #expect(captured.diagnostics.contains("bash, zsh, fish"))
    }

    @Test("bash offers every command, option and value of the table", .enabled(if: Shells.bash.isThere, "needs bash"))
    func completesInBash() throws {
        let table = try CommandTable.read()
        // Each line of the file is one question: the words, the last of which is incomplete.
        let questions = Self.questions(table)
        let script = """
            ferry() { "\(try program)" "$@"; }
            source ferry.bash
            while IFS= read -r line; do
                IFS=$'\\t' read -r -a COMP_WORDS <<< "$line"
                [[ $line == *$'\\t' ]] && COMP_WORDS+=('')
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _ferry
                printf '%s\\t' "${COMPREPLY[@]}"
                echo
            done < questions
            """
        let answers = try ask(questions, script, Shells.bash.path, ["--noprofile", "--norc", "script"])
        for (question, answer) in zip(questions, answers) {
            #expect(Set(question.expected).isSubset(of: answer), "ferry \(question.words): \(answer)")
            if question.isExact {
                #expect(answer.count == question.expected.count, "ferry \(question.words): \(answer)")
            }
        }
    }

    @Test("fish offers every command, option and value of the table", .enabled(if: Shells.fish.isThere, "needs fish"))
    func completesInFish() throws {
        let table = try CommandTable.read()
        let questions = Self.questions(table)
        let script = """
            function ferry; "\(try program)" $argv; end
            source ferry.fish
            while read -l line
                set -l words (string split \\t -- $line)
                set -l answers (complete -C (string join ' ' -- $words) | string replace -r '\\t.*' '')
                echo (string join \\t -- $answers)
            end < questions
            """
        let answers = try ask(questions, script, Shells.fish.path, ["--no-config", "script"])
        for (question, answer) in zip(questions, answers) {
            #expect(Set(question.expected).isSubset(of: answer), "ferry \(question.words): \(answer)")
        }
    }

    @Test(
        "zsh offers every option of every command with its description", .enabled(if: Shells.zsh.isThere, "needs zsh"))
    func completesInZsh() throws {
        let table = try CommandTable.read()
        let questions = Self.questions(table).filter { !$0.expected.contains { $0.contains("Store") } }
        // An interactive zsh in a pseudo-terminal of its own runs its own completion and prints a list.
        let script = """
            autoload -Uz compinit && compinit -D -u
            ferry() { "\(try program)" "$@"; }
            source ./ferry.zsh
            # What would be offered is taken where it would be shown.
            offered=()
            compadd() {
                local -a words arguments shown
                if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
                builtin compadd -A words "$@"
                offered+=($words)
                builtin compadd "$@"
            }
            list() { offered=(); _main_complete; print -r -- ${(pj:\\t:)offered} >> answers; compstate[insert]=''; compstate[list]='' }
            zle -C list complete-word list
            answer() {
                while IFS= read -r line; do
                    BUFFER=${line//$'\\t'/ } CURSOR=$#BUFFER
                    zle list
                    BUFFER=''
                done < questions
                exit
            }
            zle -N answer
            bindkey '^T' answer
            """
        try
            "zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'source ./inner'; zpty -w -n z $'\\x14'; while zpty -r z _; do :; done"
            .write(toFile: folder.file("outer"), atomically: true, encoding: .utf8)
        try script.write(toFile: folder.file("inner"), atomically: true, encoding: .utf8)
        try Self.text(questions).write(toFile: folder.file("questions"), atomically: true, encoding: .utf8)
        _ = try FerryBinary.run(["-f", "outer"], in: folder.path, program: Shells.zsh.path)
        let answers = Self.answers(try String(contentsOfFile: folder.file("answers"), encoding: .utf8))
        #expect(answers.count == questions.count)
        for (question, answer) in zip(questions, answers) {
            let offered = Set(answer.map { $0.hasSuffix("=") ? String($0.dropLast()) : $0 })
            #expect(Set(question.expected).isSubset(of: offered), "ferry \(question.words): \(answer)")
        }
    }

    // MARK: Questions to a shell

    private var program: String { get throws { try #require(BuiltProgram.path) } }

    private struct Question {
        /// The words; the last of them is incomplete.
        var words: [String]
        var expected: [String]
        var isExact = false
    }

    private static func questions(_ table: CommandTable) -> [Question] {
        var questions = [Question(words: [""], expected: table.commands.compactMap(\.words.first))]
        for command in table.commands {
            if command.words.count > 1 {
                let family = table.commands.filter { $0.words[0] == command.words[0] }
                questions.append(
                    Question(words: [command.words[0], ""], expected: family.map { $0.words[1] }, isExact: true))
            }
            questions.append(
                Question(words: command.words + ["--"], expected: command.options.map(\.name), isExact: true))
            for option in command.options where !option.choices.isEmpty {
                questions.append(
                    Question(words: command.words + [option.name, ""], expected: option.choices, isExact: true))
            }
            for option in command.options where ["PATH", "STORE", "FILE", "NEW", "OLD"].contains(option.value) {
                questions.append(Question(words: command.words + [option.name, "My"], expected: ["My Store.sqlite"]))
            }
        }
        return questions
    }

    private static func text(_ questions: [Question]) -> String {
        questions.map { (["ferry"] + $0.words).joined(separator: "\t") + "\n" }.joined()
    }

    private static func answers(_ output: String) -> [[String]] {
        output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
            line.split(separator: "\t").map { String($0).replacing("\\ ", with: " ") }
        }
    }

    private func ask(
        _ questions: [Question], _ script: String, _ shell: String, _ words: [String]
    ) throws -> [[String]] {
        try script.write(toFile: folder.file("script"), atomically: true, encoding: .utf8)
        try Self.text(questions).write(toFile: folder.file("questions"), atomically: true, encoding: .utf8)
        let outcome = try FerryBinary.run(words, in: folder.path, program: shell)
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        let answers = Self.answers(outcome.output)
        #expect(answers.count == questions.count, "\(outcome.diagnostics)")
        return answers
    }
}

/// A shell of this machine.
private struct Shells {
    static let bash = Shells("bash")
    static let zsh = Shells("zsh")
    static let fish = Shells("fish")

    let path: String
    let isThere: Bool

    private init(_ name: String) {
        let paths = ["/usr/bin/", "/bin/", "/usr/local/bin/"].map { $0 + name }
        let found = paths.first(where: FileManager.default.isExecutableFile)
        path = found ?? name
        isThere = found != nil
    }
}
