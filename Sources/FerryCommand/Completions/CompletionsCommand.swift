internal import FerryBase

struct CompletionsCommand: Command {
    static let syntax = Syntax(
        "completions", summary: "Print the shell completion script.",
        discussion:
            "Packages install the scripts. Without a package, save the script as ~/.local/share/bash-completion/completions/ferry for "
            + "bash, as _ferry in a folder of the fpath for zsh, or as "
            + "~/.config/fish/completions/ferry.fish for fish.",
        operands: [.init("SHELL", .one, "bash, zsh, or fish.", among: Shell.allCases.map(\.rawValue))],
        example: "ferry completions fish > ~/.config/fish/completions/ferry.fish")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        guard let shell = Shell(rawValue: arguments.operands[0]) else {
            throw arguments.wrong(
                "Completions are not available for \"\(arguments.operands[0])\".",
                "Supported shells: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let script = shell.script(for: FerryCommand.table)
        console.result(["shell": shell.rawValue, "script": script + "\n"], verbatim: script)
        return .success
    }
}

enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// The script, without a newline at the end.
    func script(for table: [Syntax]) -> String {
        let lines =
            switch self {
            case .bash: BashCompletions.lines(for: table)
            case .zsh: ZshCompletions.lines(for: table)
            case .fish: FishCompletions.lines(for: table)
            }
        return lines.joined(separator: "\n")
    }

    /// A word in single quotes of the shell.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
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

    var families: [Group] { groups.filter(\.isFamily) }
}

/// Completion for bash 3.2 and newer, without bash-completion's functions: words, files and folders.
enum BashCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = [
            "# Completion of ferry for bash, created by: ferry completions bash",
            "_ferry() {",
            "    local IFS=$'\\n'",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}",
            "    local options='' kind='' choices=''",
            "    COMPREPLY=()",
            "    # bash splits --option=value at the equals sign.",
            "    if [[ $word == = ]]; then",
            "        word=''",
            "    elif [[ $before == = ]]; then",
            "        before=${COMP_WORDS[COMP_CWORD - 2]}",
            "    fi",
            "    if ((COMP_CWORD == 1)); then",
            "        choices=" + list(words.groups.map(\.name) + ["--help", "--version"]),
            "        COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))",
            "        return",
            "    fi",
            "    case $command in",
        ]
        for family in words.families {
            lines += [
                "    \(family.name))",
                "        if ((COMP_CWORD == 2)); then",
                "            choices=" + list(family.commands.compactMap { $0.nameWords.second }),
                "            COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))",
                "            return",
                "        fi",
                "        command=\"$command ${COMP_WORDS[2]}\"",
                "        ;;",
            ]
        }
        lines += ["    esac", "    case $command in"]
        for syntax in table { lines += command(syntax) }
        return lines + [
            "    *) return ;;",
            "    esac",
            "    if [[ $kind != value* && $word == -* ]]; then",
            "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))",
            "        return",
            "    fi",
            "    case ${kind#value-} in",
            "    words) COMPREPLY=($(compgen -W \"$choices\" -- \"$word\")) ;;",
            "    file)",
            "        # So that a name with spaces is quoted; bash 3.2 knows no compopt.",
            "        compopt -o filenames 2>/dev/null",
            "        COMPREPLY=($(compgen -f -- \"$word\"))",
            "        ;;",
            "    folder)",
            "        compopt -o filenames 2>/dev/null",
            "        COMPREPLY=($(compgen -d -- \"$word\"))",
            "        ;;",
            "    esac",
            "}",
            "complete -F _ferry ferry",
        ]
    }

    /// The completion after a command: values of the option before the word, else the command's options and operands.
    private static func command(_ syntax: Syntax) -> [String] {
        let name = syntax.nameWords.second == nil ? syntax.name : Shell.bash.quoted(syntax.name)
        var lines = [
            "    \(name))",
            "        options=" + list(syntax.options.flatMap { [$0.letter, $0.name].compactMap { $0 } }),
        ]
        lines += assignments(syntax.operandKind, prefix: "", indent: "        ")
        let options = syntax.options.filter { $0.kind != .flag }
        if !options.isEmpty {
            lines.append("        case $before in")
            for option in options {
                let pattern = [option.letter, option.name].compactMap { $0 }.joined(separator: " | ")
                lines.append("        \(pattern))")
                lines += assignments(WordKind(of: option), prefix: "value-", indent: "            ")
                lines.append("            ;;")
            }
            lines.append("        esac")
        }
        return lines + ["        ;;"]
    }

    private static func assignments(_ kind: WordKind, prefix: String, indent: String) -> [String] {
        switch kind {
        case .file: ["\(indent)kind=\(prefix)file"]
        case .folder: ["\(indent)kind=\(prefix)folder"]
        case .free: ["\(indent)kind=\(prefix)free"]
        case .oneOf(let words): ["\(indent)kind=\(prefix)words", "\(indent)choices=" + list(words)]
        }
    }

    /// Words as `compgen -W` reads them, separated by newlines.
    private static func list(_ words: [String]) -> String { "$'" + words.joined(separator: "\\n") + "'" }
}

/// Completion for fish, with the summaries of commands and options.
enum FishCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = [
            "# Completion of ferry for fish, created by: ferry completions fish",
            "function __ferry_words_are",
            "    set -l words (commandline -opc)",
            "    test \"$words[2..]\" = \"$argv\"",
            "end",
            "function __ferry_words_begin",
            "    set -l words (commandline -opc)",
            "    set -l last (math (count $argv) + 1)",
            "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"",
            "end",
            "complete -c ferry -f",
        ]
        for group in words.groups {
            lines.append(
                "complete -c ferry -n __ferry_words_are -a \(group.name) -d \(Shell.fish.quoted(group.summary))")
            for syntax in group.commands {
                if let second = syntax.nameWords.second {
                    lines.append(
                        "complete -c ferry -n '__ferry_words_are \(group.name)' -a \(second) -d "
                            + Shell.fish.quoted(syntax.summary))
                }
                lines += command(syntax)
            }
        }
        return lines
    }

    private static func command(_ syntax: Syntax) -> [String] {
        let condition = "complete -c ferry -n '__ferry_words_begin \(syntax.name)'"
        let options = syntax.options.map { option in
            let letter = option.letter.map { " -s \($0.dropFirst())" } ?? ""
            let value = option.kind == .flag ? "" : " " + arguments(WordKind(of: option), isValue: true)
            return
                "\(condition) -l \(option.name.dropFirst(2))\(letter)\(value) -d \(Shell.fish.quoted(option.summary))"
        }
        guard syntax.operandKind != .free else { return options }
        return options + ["\(condition) \(arguments(syntax.operandKind, isValue: false))"]
    }

    private static func arguments(_ kind: WordKind, isValue: Bool) -> String {
        switch kind {
        case .file: isValue ? "-r -F" : "-F"
        case .folder: (isValue ? "-x" : "-f") + " -a '(__fish_complete_directories)'"
        case .free: "-x"
        case .oneOf(let words): (isValue ? "-x" : "-f") + " -a \(Shell.fish.quoted(words.joined(separator: " ")))"
        }
    }
}

/// Completion for zsh, with the summaries of commands and options.
enum ZshCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = [
            "#compdef ferry", "# Completion of ferry for zsh, created by: ferry completions zsh", "_ferry() {",
        ]
        lines += [
            "    local curcontext=$curcontext state line", "    local -a commands", "    if ((CURRENT == 2)); then",
        ]
        lines += choice(words.groups.map { ($0.name, $0.summary) }, indent: "        ")
        lines += ["        return", "    fi", "    local command=$words[2]"]
        lines += ["    shift words", "    ((CURRENT -= 1))", "    case $command in"]
        for family in words.families {
            lines += ["    \(family.name))", "        if ((CURRENT == 2)); then"]
            lines += choice(
                family.commands.map { ($0.nameWords.second ?? "", $0.summary) }, indent: "            ")
            lines += ["            return", "        fi", "        command=\"$command $words[2]\""]
            lines += ["        shift words", "        ((CURRENT -= 1))", "        ;;"]
        }
        lines += ["    esac", "    case $command in"]
        for syntax in table {
            let specifications = syntax.options.flatMap(specifications(of:)) + syntax.operands.map(specification(of:))
            lines += ["    \(Shell.zsh.quoted(syntax.name)))", "        _arguments -S -s : \\"]
            lines += specifications.dropLast().map { "            \($0) \\" }
            lines += specifications.suffix(1).map { "            \($0)" } + ["        ;;"]
        }
        // Under `source` the script registers the function; from `fpath` the script is the function.
        return lines + [
            "    esac", "}",
            "if [[ $funcstack[1] == _ferry ]]; then", "    _ferry \"$@\"", "else", "    compdef _ferry ferry", "fi",
        ]
    }

    private static func choice(_ words: [(name: String, summary: String)], indent: String) -> [String] {
        ["\(indent)commands=("]
            + words.map { "\(indent)    " + Shell.zsh.quoted("\($0.name):\($0.summary)") }
            + ["\(indent))", "\(indent)_describe command commands"]
    }

    /// Specifications for the long form and for the letter; each form excludes the other one.
    private static func specifications(of option: Syntax.Option) -> [String] {
        let names = [option.letter, option.name].compactMap { $0 }
        return names.map { name in
            let head = option.kind == .repeated ? "*" : "(" + names.joined(separator: " ") + ")"
            let equals = option.kind != .flag && name == option.name ? "=" : ""
            let value = option.kind == .flag ? "" : ":\(escaped(option.placeholder)):\(action(WordKind(of: option)))"
            return Shell.zsh.quoted("\(head)\(name)\(equals)[\(escaped(option.summary))]\(value)")
        }
    }

    private static func specification(of operand: Syntax.Operand) -> String {
        let head = operand.count == .several ? "*:" : operand.count == .optional ? "::" : ":"
        return Shell.zsh.quoted("\(head)\(escaped(operand.name)):\(action(WordKind(of: operand)))")
    }

    private static func action(_ kind: WordKind) -> String {
        switch kind {
        case .file: "_files"
        case .folder: "_files -/"
        case .free: " "
        case .oneOf(let words): "(" + words.joined(separator: " ") + ")"
        }
    }

    /// A text with the special characters of an `_arguments` specification escaped.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\:[]".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}
