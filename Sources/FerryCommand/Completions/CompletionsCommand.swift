internal import FerryBase

struct CompletionsCommand: Command {
    static let name = "completions"

    /// The scripts ask `ferry __complete WORD…` for what can be the last word; that for bash is for 3.2 and newer,
    /// without bash-completion's functions.
    private static let scripts = ["bash": Template.bash, "zsh": .zsh, "fish": .fish]

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let shell = arguments.operands[0]
        guard let script = Self.scripts[shell]?.filled() else {
            throw arguments.wrong(
                "Completions are not available for \"\(shell)\".",
                "Supported shells: \(Self.syntax.operands[0].choices.joined(separator: ", ")).")
        }
        console.result(["shell": shell, "script": script], verbatim: String(script.dropLast()))
        return .success
    }
}

enum Completion {
    /// Lines of a word and its meaning with a tab between them, or of `:file` or `:folder` for any path.
    static func lines(for words: [String]) -> [String] {
        // bash makes an equals sign a word of its own.
        var before = words.dropLast().filter { $0 != "=" }
        var last = words.last ?? ""
        if last == "=" { last = "" }
        guard let syntax = Syntax.table.first(where: { before.starts(with: $0.words) }) else {
            let begun = Syntax.table.filter { $0.words.starts(with: before) }.groups { $0.words[before.count] }
            let options = [("--help", "Show the commands."), ("--version", "Print the version of Ferry.")]
            let next = begun.map { word, commands in
                let rest = commands.map { $0.words.dropFirst(before.count + 1).joined(separator: " ") }
                return (word, rest[0].isEmpty ? commands[0].summary : rest.joined(separator: ", "))
            }
            return offered(next + (before.isEmpty ? options : []), last)
        }
        // A value behind the equals sign is offered with what is before it.
        var prefix = ""
        if last.hasPrefix("--"), let equals = last.firstIndex(of: "=") {
            prefix = String(last[...equals])
            before.append(String(last[..<equals]))
        }
        let typed = before.last.map { Syntax.Option.short[$0] ?? $0 }
        let option = syntax.options.first { $0.name == typed && $0.kind != .flag }
        if option == nil, last.hasPrefix("-") {
            let names = syntax.options.flatMap { option in
                [option.name, option.letter].compactMap { $0 }.map { ($0, option.summary) }
            }
            return offered(names, last)
        }
        let kinds = option.map { [WordKind(of: $0)] } ?? syntax.operands.map(WordKind.init(of:))
        // Of several operands, one may be a path.
        switch kinds.first(where: { $0 == .file || $0 == .folder }) ?? kinds.first ?? .free {
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

/// The kind of a word of a command line, for a shell's completion and for paths in `ferry.json`.
enum WordKind: Equatable {
    case file, folder
    case oneOf([String])
    /// A number, a name or a pattern, which a shell cannot complete.
    case free

    private static let files: Set<String> = [
        "BUNDLE", "FILE", "FILE.html", "FILE.svg", "MODEL", "NEW", "OLD", "PATH", "SNAPSHOT", "STORE",
    ]

    private init(_ placeholder: String, _ choices: [String]) {
        if !choices.isEmpty {
            self = .oneOf(choices)
        } else if ["DIR", "FOLDER"].contains(placeholder) {
            self = .folder
        } else {
            self = Self.files.contains(placeholder) ? .file : .free
        }
    }

    init(of option: Syntax.Option) { self.init(option.placeholder, option.choices) }

    init(of operand: Syntax.Operand) { self.init(operand.name, operand.choices) }
}
