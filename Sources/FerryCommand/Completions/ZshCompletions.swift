/// Completion for zsh, with what each command and option does.
enum ZshCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = ["#compdef ferry", "# Completion of ferry for zsh; made by: ferry completions zsh", "_ferry() {"]
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
        // Read by `source`, it registers itself; found on `fpath`, it is the function.
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

    /// One for the long form, and one for the letter; each takes the other's place.
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

    /// Without what a specification of `_arguments` reads as its own signs.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\:[]".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}
