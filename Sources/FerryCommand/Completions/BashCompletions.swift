/// Completion for bash 3.2 and newer, which brings no functions for it: words, files and folders.
enum BashCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = [
            "# Completion of ferry for bash; made by: ferry completions bash",
            "_ferry() {",
            "    local IFS=$'\\n'",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}",
            "    local options='' kind='' choices=''",
            "    COMPREPLY=()",
            "    # bash takes --option=value apart at the sign.",
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

    /// What is completed behind a command: the value of the option before it, else its options and operands.
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

    /// Words as `compgen -W` takes them apart at the ends of lines.
    private static func list(_ words: [String]) -> String { "$'" + words.joined(separator: "\\n") + "'" }
}
