internal import FerryBase

struct HelpCommand: Command {
    static let syntax = Syntax(
        "help", summary: "List the commands, or show the help of one.",
        discussion:
            "Without an argument, lists all commands. With the name of a command, prints the same as its --help.",
        operands: [
            .init("COMMAND", .optional, "The command to show."), .init("PART", .optional, "Its second word."),
        ],
        example: "ferry help snapshot create")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (table, name) = (FerryCommand.table, arguments.operands.joined(separator: " "))
        if name.isEmpty {
            console.result(["commands": table.map(\.json)]) { HelpText.overview(width: $0) }
            return .success
        }
        let chosen = table.filter { $0.name == name || $0.name.hasPrefix(name + " ") }
        guard !chosen.isEmpty else { throw HelpText.unknown("Unknown command \(name).", name) }
        HelpText.show(chosen, on: console)
        return .success
    }
}

extension Syntax {
    /// The syntax as JSON, for programs that wrap this one.
    fileprivate var json: JSON {
        [
            "name": name, "group": FerryCommand.groups.first { $0.names.contains(name) }?.title, "summary": summary,
            "operands": operands.map(\.json), "options": options.map(\.json),
        ]
    }
}

extension Syntax.Operand {
    fileprivate var json: JSON {
        [
            "name": name, "summary": summary, "isOptional": count == .optional, "isRepeated": count == .several,
            "choices": choices,
        ]
    }
}

extension Syntax.Option {
    fileprivate var json: JSON {
        [
            "name": name, "letter": letter, "summary": summary,
            "value": kind == .flag ? nil : placeholder, "isRequired": isRequired,
            "isRepeated": kind == .repeated, "choices": choices, "group": OptionGroup(of: name).rawValue,
        ]
    }
}

enum HelpText {
    /// Columns; longer lines are hard to read.
    private static let widest = 100
    /// Characters; a longer name gets a line of its own.
    private static let widestName = 26

    static func command(_ syntax: Syntax, isAll: Bool, width: Int) -> [String] {
        let width = min(width, widest)
        let isShort = !isAll && !syntax.common.isEmpty
        let discussion = isShort ? String(syntax.discussion.prefix { $0 != "\n" }) : syntax.discussion
        var lines =
            [syntax.summary, "", "Usage: \(usage(syntax))", ""] + TextWrap.paragraphs(discussion, width: width)
        if !syntax.operands.isEmpty {
            lines += [""] + table(syntax.operands.map { ($0.notation, $0.summary) }, width)
        }
        if isAll, let groups = syntax.groupedOptions {
            for (group, options) in groups { lines += ["", group.rawValue + ":"] + list(options, width) }
        } else {
            lines += ["", "Options:"] + list(isShort ? syntax.commonOptions : syntax.options, width)
        }
        if isShort {
            let rest = syntax.options.count - syntax.commonOptions.count
            lines += ["", "\(rest) more options: ferry \(syntax.name) --help-all"]
        }
        return lines + ["", "Example:", Emphasis.command.mark("  " + syntax.example)]
    }

    private static func list(_ options: [Syntax.Option], _ width: Int) -> [String] {
        table(options.map { ($0.listed, $0.summary) }, width)
    }

    static func show(_ commands: [Syntax], isAll: Bool = false, on console: Console) {
        func lines(width: Int) -> [String] {
            Array(commands.map { command($0, isAll: isAll, width: width) }.joined(separator: ["", "──", ""]))
        }
        let text = lines(width: .max).map { String(Emphasis.split($0).line) }.joined(separator: "\n")
        console.result(["help": text], text: lines)
    }

    /// The error for a name that no command has.
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
        let setup = FerryCommand.groups.last?.names ?? []
        let rows = CommandWords(FerryCommand.table.filter { !setup.contains($0.name) }).groups.map { group in
            guard let about = families[group.name] else { return (group.commands[0].name, group.commands[0].summary) }
            return (group.name, "\(group.summary): \(about).")
        }
        return ["Ferry migrates Core Data stores that are too large for memory.", ""]
            + ["Usage: ferry <command> [options]; help for a command: ferry <command> --help", ""]
            + table(rows, min(width, widest)) + [""]
            + TextWrap.paragraphs(
                """
                Start with: ferry demo. Setup: ferry \(setup.dropLast().joined(separator: ", ")), --version.
                Exit codes: 0 done, 1 failed, 2 refused, 3 differences, 64 usage, 75 resumable.
                """, width: min(width, widest))
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
