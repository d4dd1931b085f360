/// Writes the help of a command from its syntax, and the list of all commands.
struct HelpText {
    private static let width = 100

    static func command(_ syntax: Syntax) -> String {
        var text = "\(syntax.summary)\n\nUsage: \(usage(syntax))\n\n"
        text += wrap(syntax.discussion, indent: 0) + "\n"
        let operands = syntax.operands.map { ($0.notation, $0.summary) }
        if !operands.isEmpty { text += "\n" + table(operands) }
        text += "\nOptions:\n" + table(syntax.options.map { ($0.notation, $0.summary) })
        text += "\nExample:\n"
        for line in syntax.example.split(separator: "\n") { text += "  \(line)\n" }
        return text
    }

    static func overview(_ commands: [any Command.Type]) -> String {
        """
        Ferry migrates Core Data stores that are too large for memory.

        Usage: ferry <command> [options]

        Commands:
        \(table(commands.map { ($0.syntax.name, $0.syntax.summary) }))
        Each command explains itself: ferry <command> --help
        Start with: ferry demo

        Exit codes: 0 done, 1 failed (store as before), 2 refused before anything changed,
        3 differences or damage found, 64 wrong command line, 75 stopped early and resumable.

        """
    }

    private static func usage(_ syntax: Syntax) -> String {
        let required = syntax.options.filter(\.isRequired)
            .map { $0.kind == .repeated ? "\($0.notation)…" : $0.notation }
        return (["ferry", syntax.name] + syntax.operands.map(\.notation) + required + ["[options]"])
            .joined(separator: " ")
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let column = min(30, (rows.map(\.0.count).max() ?? 0) + 4)
        var text = ""
        for (name, summary) in rows {
            let lines = wrap(summary, indent: column)
            let gap = column - 2 - name.count
            text += "  " + name
            text += gap > 0 ? String(repeating: " ", count: gap) : "\n" + String(repeating: " ", count: column)
            text += lines.drop { $0 == " " } + "\n"
        }
        return text
    }

    /// Breaks paragraphs (separated by line ends) at the width; every line is indented.
    private static func wrap(_ text: String, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { paragraph in
            var lines: [String] = [margin]
            for word in paragraph.split(separator: " ") {
                let line = lines[lines.count - 1]
                if line == margin {
                    lines[lines.count - 1] += word
                } else if line.count + 1 + word.count <= width {
                    lines[lines.count - 1] += " " + word
                } else {
                    lines.append(margin + word)
                }
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
