internal import FerryBase

struct CompletionsCommand: Command {
    static let syntax = Syntax(
        "completions", summary: "Prints what makes a shell complete the words of ferry.",
        discussion:
            "Packages bring the scripts along. By hand: bash reads one from a folder bash-completion/completions of "
            + "~/.local/share, under the name ferry; zsh one on its fpath, named _ferry; fish one in "
            + "~/.config/fish/completions, named ferry.fish.",
        operands: [.init("SHELL", .one, "bash, zsh, or fish.", among: Shell.allCases.map(\.rawValue))],
        example: "ferry completions fish > ~/.config/fish/completions/ferry.fish")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        guard let shell = Shell(rawValue: arguments.operands[0]) else {
            throw arguments.wrong(
                "There are no completions for \"\(arguments.operands[0])\".",
                "There are some for: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let script = shell.script(for: FerryCommand.table)
        console.result(["shell": shell.rawValue, "script": script + "\n"], verbatim: script)
        return .success
    }
}

/// A shell that completes the words of a command line.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// The script that the shell reads, without an end of line behind it.
    func script(for table: [Syntax]) -> String {
        let lines =
            switch self {
            case .bash: BashCompletions.lines(for: table)
            case .zsh: ZshCompletions.lines(for: table)
            case .fish: FishCompletions.lines(for: table)
            }
        return lines.joined(separator: "\n")
    }

    /// A word in single quotes, as each of the three shells reads it.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}

/// What a word of a command line stands for, as far as a shell can complete it.
enum WordKind: Equatable {
    case file, folder
    case oneOf([String])
    /// A number, a name or a pattern, which no shell can know.
    case free

    /// Placeholders of help that stand for a path.
    private static let files: Set<String> = [
        "FILE", "FILE.html", "FILE.svg", "MODEL", "NEW", "OLD", "PATH", "SNAPSHOT", "STORE",
    ]
    private static let folders: Set<String> = ["DIR", "FOLDER"]

    private init(_ placeholder: String, _ choices: [String]) {
        if !choices.isEmpty {
            self = .oneOf(choices)
        } else if Self.folders.contains(placeholder) {
            self = .folder
        } else {
            self = Self.files.contains(placeholder) ? .file : .free
        }
    }

    /// The kind of an option's value.
    init(of option: Syntax.Option) { self.init(option.placeholder, option.choices) }

    init(of operand: Syntax.Operand) { self.init(operand.name, operand.choices) }
}

extension Syntax {
    /// What the words without dashes stand for: a path where any of them is one.
    var operandKind: WordKind {
        let kinds = operands.map { WordKind(of: $0) }
        return kinds.first { $0 == .file || $0 == .folder } ?? kinds.first ?? .free
    }

    /// The first word of the name, and the second one of a command that has two.
    var nameWords: (first: String, second: String?) {
        let words = name.split(separator: " ").map(String.init)
        return (words[0], words.count > 1 ? words[1] : nil)
    }
}

/// The commands in the order in which a shell meets their words.
struct CommandWords {
    struct Group {
        let name: String
        /// The commands that begin with the name: one, or those of a family such as `snapshot`.
        let commands: [Syntax]

        var isFamily: Bool { commands[0].nameWords.second != nil }
        var summary: String {
            guard isFamily else { return commands[0].summary }
            return commands.compactMap { $0.nameWords.second }.joined(separator: ", ")
        }
    }

    let groups: [Group]

    init(_ table: [Syntax]) {
        var names: [String] = []
        for syntax in table where !names.contains(syntax.nameWords.first) { names.append(syntax.nameWords.first) }
        groups = names.map { name in Group(name: name, commands: table.filter { $0.nameWords.first == name }) }
    }

    var families: [Group] { groups.filter(\.isFamily) }
}
