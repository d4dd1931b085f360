internal import FerryBase

struct HelpCommand: Command {
    static let name = "help"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let name = arguments.operands.joined(separator: " ")
        if name.isEmpty {
            console.result(["commands": Syntax.table.map(\.json)]) { HelpText.overview(width: $0) }
            return .success
        }
        let chosen = Syntax.table.filter { $0.name == name || $0.name.hasPrefix(name + " ") }
        guard !chosen.isEmpty else { throw HelpText.unknown("Unknown command \(name).", name) }
        HelpText.show(chosen, on: console)
        return .success
    }
}

extension Syntax {
    fileprivate var json: JSON {
        [
            "name": name, "group": group, "summary": summary,
            "operands": JSON.list(operands) {
                [
                    "name": $0.name, "summary": $0.summary, "isOptional": $0.count == .optional,
                    "isRepeated": $0.count == .several, "choices": $0.choices,
                ]
            },
            "options": JSON.list(options) {
                [
                    "name": $0.name, "letter": $0.letter, "summary": $0.summary,
                    "value": $0.kind == .flag ? nil : $0.placeholder, "isRequired": $0.isRequired,
                    "isRepeated": $0.kind == .repeated, "choices": $0.choices, "group": $0.group,
                ]
            },
        ]
    }
}

enum HelpText {
    /// Columns; longer lines are hard to read.
    private static let widest = 80
    /// Characters; a longer name gets a line of its own.
    private static let widestName = 26

    static func command(_ syntax: Syntax, isAll: Bool, width: Int) -> [String] {
        let width = min(width, widest)
        let common = isAll ? [] : syntax.commonOptions
        let discussion = common.isEmpty ? syntax.discussion : String(syntax.discussion.prefix { $0 != "\n" })
        var lines =
            [syntax.summary, "", "Usage: \(usage(syntax))", ""] + TextWrap.paragraphs(discussion, width: width)
        if !syntax.operands.isEmpty {
            lines += [""] + table(syntax.operands.map { ($0.notation, $0.summary) }, width)
        }
        let isGrouped = isAll && !syntax.commonOptions.isEmpty
        let groups = isGrouped ? syntax.groupedOptions : [("Options", common.isEmpty ? syntax.options : common)]
        for (title, options) in groups {
            lines += ["", title + ":"] + table(options.map { ($0.listed, $0.summary) }, width)
        }
        if !common.isEmpty {
            lines += ["", "\(syntax.options.count - common.count) more options: ferry \(syntax.name) --help-all"]
        }
        return lines + ["", "Example:", Emphasis.command.mark("  " + syntax.example)]
    }

    static func show(_ commands: [Syntax], isAll: Bool = false, on console: Console) {
        func lines(width: Int) -> [String] {
            Array(commands.map { command($0, isAll: isAll, width: width) }.joined(separator: ["", "──", ""]))
        }
        let text = lines(width: .max).map { String(Emphasis.split($0).line) }.joined(separator: "\n")
        console.result(["help": text], text: lines)
    }

    static func unknown(_ message: String, _ name: String) -> FerryError {
        FerryError(
            .usage, message,
            remedy: NearNames.question(for: name, among: FerryCommand.commandNames)
                ?? "List the commands with: ferry help")
    }

    /// What the commands of a family are about, behind their second words.
    private static let families = ["snapshot": "the snapshots of a store", "mapping": "mapping models"]

    /// The commands of the main job on one screen; those of the setup are in the last line but one.
    static func overview(width: Int = .max) -> [String] {
        let setup = FerryCommand.setup
        let rows = Syntax.table.filter { !setup.contains($0.name) }.groups { $0.words[0] }.map { word, commands in
            guard let about = families[word] else { return (word, commands[0].summary) }
            return (word, "\(commands.map { $0.words[1] }.joined(separator: ", ")): \(about).")
        }
        let start = Template.messages.part("start", ["setup": setup.dropLast().joined(separator: ", ")])
        return Template.messages.lines("overview") + [""] + table(rows, min(width, widest)) + [""]
            + TextWrap.paragraphs(start, width: min(width, widest))
    }

    private static func usage(_ syntax: Syntax) -> String {
        let required = syntax.options.filter(\.isRequired)
            .map { $0.kind == .repeated ? "\($0.notation)…" : $0.notation }
        return (["ferry", syntax.name] + syntax.operands.map(\.notation) + required + ["[options]"])
            .joined(separator: " ")
    }

    private static func table(_ rows: [(name: String, summary: String)], _ width: Int) -> [String] {
        let widest = rows.map(\.name.count).filter { $0 <= min(widestName, width / 3) }.max() ?? 4
        let margin = String(repeating: " ", count: widest + 4)
        return rows.flatMap { name, summary -> [String] in
            let lines = TextWrap.paragraphs(summary, width: width, margin: margin)
            guard name.count <= widest else { return TextWrap.lines("  " + name, width: width) + lines }
            let head = "  " + name + margin.dropFirst(name.count + 2)
            return [head + (lines.first?.dropFirst(margin.count) ?? "")] + lines.dropFirst()
        }
    }
}
