/// Writes the help of a command from its syntax, and the list of all commands; in lines.
enum HelpText {
    private static let width = 100
    /// Names longer than this get a line of their own.
    private static let widestName = 26

    static func command(_ syntax: Syntax) -> [String] {
        var lines = [syntax.summary, "", "Usage: \(usage(syntax))", ""] + wrap(syntax.discussion)
        if !syntax.operands.isEmpty {
            lines += [""] + table(syntax.operands.map { ($0.notation, $0.summary) })
        }
        lines += ["", "Options:"] + table(syntax.options.map { ($0.notation, $0.summary) })
        return lines + ["", "Example:", "  \(syntax.example)"]
    }

    static func overview(_ commands: [any Command.Type]) -> [String] {
        let list = table(commands.map { ($0.syntax.name, $0.syntax.summary) })
        return ["Ferry migrates Core Data stores that are too large for memory.", ""]
            + ["Usage: ferry <command> [options]", "", "Commands:"] + list + [""]
            + ["Each command explains itself: ferry <command> --help", "Start with: ferry demo", ""]
            + wrap(
                """
                Exit codes: 0 done, 1 failed (store as before), 2 refused before anything changed, 3 differences or \
                damage found, 64 wrong command line, 75 stopped early and resumable.
                """)
    }

    private static func usage(_ syntax: Syntax) -> String {
        let required = syntax.options.filter(\.isRequired)
            .map { $0.kind == .repeated ? "\($0.notation)…" : $0.notation }
        return (["ferry", syntax.name] + syntax.operands.map(\.notation) + required + ["[options]"])
            .joined(separator: " ")
    }

    private static func table(_ rows: [(name: String, summary: String)]) -> [String] {
        let widest = rows.map(\.name.count).filter { $0 <= widestName }.max() ?? 0
        let margin = String(repeating: " ", count: widest + 4)
        return rows.flatMap { name, summary -> [String] in
            let lines = wrap(summary, margin: margin)
            guard name.count <= widest else { return ["  " + name] + lines }
            let head = "  " + name + margin.dropFirst(name.count + 2)
            return [head + (lines.first?.dropFirst(margin.count) ?? "")] + lines.dropFirst()
        }
    }

    /// Breaks paragraphs (separated by line ends) at the width; every line gets the margin.
    private static func wrap(_ text: String, margin: String = "") -> [String] {
        text.split(separator: "\n").flatMap { paragraph in
            var lines: [String] = []
            for word in paragraph.split(separator: " ") {
                if let line = lines.last, line.count + 1 + word.count <= width {
                    lines[lines.count - 1] = line + " " + word
                } else {
                    lines.append(margin + word)
                }
            }
            return lines
        }
    }
}
