/// Completion for fish, with what each command and option does.
enum FishCompletions {
    static func lines(for table: [Syntax]) -> [String] {
        let words = CommandWords(table)
        var lines = [
            "# Completion of ferry for fish; made by: ferry completions fish",
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
