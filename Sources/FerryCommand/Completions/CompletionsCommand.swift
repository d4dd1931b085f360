internal import FerryBase

struct CompletionsCommand: Command {
    static let syntax = Syntax(
        "completions", summary: "Print the shell completion script.",
        discussion:
            "Packages install the scripts. Without a package, save the script as ~/.local/share/bash-completion/completions/ferry for "
            + "bash, as _ferry in a folder of the fpath for zsh, or as "
            + "~/.config/fish/completions/ferry.fish for fish. The script asks ferry for what can follow.",
        operands: [.init("SHELL", .one, "bash, zsh, or fish.", among: Shell.allCases.map(\.rawValue))],
        example: "ferry completions fish > ~/.config/fish/completions/ferry.fish")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        guard let shell = Shell(rawValue: arguments.operands[0]) else {
            throw arguments.wrong(
                "Completions are not available for \"\(arguments.operands[0])\".",
                "Supported shells: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        console.result(["shell": shell.rawValue, "script": shell.script], verbatim: String(shell.script.dropLast()))
        return .success
    }
}

/// The scripts ask `ferry __complete WORD…` for what can be the last word.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// bash 3.2 and newer, without bash-completion's functions.
    var script: String {
        switch self {
        case .bash: Template.bash.filled()
        case .zsh: Template.zsh.filled()
        case .fish: Template.fish.filled()
        }
    }
}

/// What can be the last word of an incomplete command line.
enum Completion {
    /// Lines of a word and its meaning with a tab between them, or of `:file` or `:folder` for any path.
    static func lines(for words: [String], in table: [Syntax]) -> [String] {
        // bash makes an equals sign a word of its own.
        var before = words.dropLast().filter { $0 != "=" }
        var last = words.last ?? ""
        if last == "=" { last = "" }
        let groups = CommandWords(table).groups
        guard let first = before.first else {
            let options = [("--help", "Show the commands."), ("--version", "Print the version of Ferry.")]
            return offered(groups.map { ($0.name, $0.summary) } + options, last)
        }
        guard let group = groups.first(where: { $0.name == first }) else { return [] }
        if group.isFamily, before.count == 1 {
            return offered(group.commands.map { ($0.nameWords.second ?? "", $0.summary) }, last)
        }
        let name = group.isFamily ? before.prefix(2).joined(separator: " ") : first
        guard let syntax = group.commands.first(where: { $0.name == name }) else { return [] }
        // A value behind the equals sign is offered with what is before it.
        var prefix = ""
        if last.hasPrefix("--"), let equals = last.firstIndex(of: "=") {
            prefix = String(last[...equals])
            before.append(String(last[..<equals]))
        }
        let typed = before.last.map { Syntax.Option.short[$0] ?? $0 }
        let option = syntax.options.first { $0.name == typed && $0.kind != .flag }
        if option == nil, last.hasPrefix("-") {
            return offered(
                syntax.options.flatMap { option in
                    [option.name, option.letter].compactMap { $0 }.map { ($0, option.summary) }
                }, last)
        }
        switch option.map(WordKind.init(of:)) ?? syntax.operandKind {
        case .file: return [":file"]
        case .folder: return [":folder"]
        case .free: return []
        case .oneOf(let words): return offered(words.map { (prefix + $0, "") }, last)
        }
    }

    private static func offered(_ words: [(word: String, meaning: String)], _ start: String) -> [String] {
        words.filter { $0.word.hasPrefix(start) }.map { "\($0.word)\t\($0.meaning)" }
    }
}

/// The kind of a word of a command line, for a shell's completion.
enum WordKind: Equatable {
    case file, folder
    case oneOf([String])
    /// A number, a name or a pattern, which a shell cannot complete.
    case free

    /// Placeholders that name a path.
    private static let files: Set<String> = [
        "BUNDLE", "FILE", "FILE.html", "FILE.svg", "MODEL", "NEW", "OLD", "PATH", "SNAPSHOT", "STORE",
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

    init(of option: Syntax.Option) { self.init(option.placeholder, option.choices) }

    init(of operand: Syntax.Operand) { self.init(operand.name, operand.choices) }
}

extension Syntax {
    /// The kind of the operands: a path if any operand is a path.
    var operandKind: WordKind {
        let kinds = operands.map { WordKind(of: $0) }
        return kinds.first { $0 == .file || $0 == .folder } ?? kinds.first ?? .free
    }

    /// The first word of the command's name, and the second word if there is one.
    var nameWords: (first: String, second: String?) {
        let words = name.split(separator: " ").map(String.init)
        return (words[0], words.count > 1 ? words[1] : nil)
    }
}

/// The commands, grouped by the first word of their names.
struct CommandWords {
    struct Group {
        let name: String
        /// The command of the name, or the commands of a family such as `snapshot`.
        let commands: [Syntax]

        var isFamily: Bool { commands[0].nameWords.second != nil }
        var summary: String {
            guard isFamily else { return commands[0].summary }
            return commands.compactMap { $0.nameWords.second }.joined(separator: ", ")
        }
    }

    let groups: [Group]

    init(_ table: [Syntax]) {
        groups = table.groups { $0.nameWords.first }.map { Group(name: $0.key, commands: $0.elements) }
    }

}
