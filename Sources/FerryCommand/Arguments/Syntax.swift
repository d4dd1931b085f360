internal import FerryBase
internal import FerrySnapshot

/// The words that a command takes: the parser, the help, the completions and the manual use this description.
struct Syntax: Sendable {
    /// The words after `ferry`, for example `snapshot create`.
    var name: String
    var words: [String] { name.split(separator: " ").map(String.init) }
    var group = ""
    var changesFiles = false
    var summary = ""
    var discussion = ""
    var operands: [Operand] = []
    var options: [Option] = []
    var example = ""

    struct Operand: Sendable {
        enum Count: Sendable { case one, optional, several }

        var name: String
        var count: Count
        var summary: String
        var choices: [String]

        var notation: String {
            switch count {
            case .one: name
            case .optional: "[\(name)]"
            case .several: "\(name)…"
            }
        }
    }

    struct Option: Sendable {
        enum Kind: Sendable, Equatable { case flag, value, repeated }

        var name: String
        var kind = Kind.flag
        var placeholder = ""
        var summary = ""
        var isRequired = false
        var isCommon = false
        /// The only values allowed; empty if any value is.
        var choices: [String] = []
        var group = "Output"
        /// The key in `ferry.json`, such as `limits.memory`; nil if the file cannot have the option.
        var key: String?

        /// The letters of the most used options; a letter means the same option in each command.
        static let short = [
            "-m": "--models", "-M": "--mappings", "-t": "--to", "-o": "--output", "-q": "--quiet", "-h": "--help",
        ]

        var notation: String { kind == .flag ? name : "\(name) \(placeholder)" }
        var letter: String? { Self.short.first { $0.value == name }?.key }

        var listed: String { letter.map { "\($0), \(notation)" } ?? "    \(notation)" }
    }

    var commonOptions: [Option] { options.filter(\.isCommon) }

    var groupedOptions: [(title: String, options: [Option])] {
        Dictionary(grouping: options, by: \.group).inOrder { Self.place($0.key) < Self.place($1.key) }
            .map { ($0.key, $0.value) }
    }
}

/// The commands of `Templates/commands.txt`, which explains its form.
extension Syntax {
    static let table = all.commands
    private static let all = read(
        Template.commands.filled([
            "form": SnapshotForm.preferred.rawValue, "ending": SnapshotForm.preferred.ending,
        ]))

    private static func place(_ title: String) -> Int { all.titles.firstIndex(of: title) ?? all.titles.count }

    static func named(_ name: String) -> Syntax {
        guard let syntax = table.first(where: { $0.name == name }) else {
            preconditionFailure("The table of commands has no \(name).")
        }
        return syntax
    }

    static func read(_ text: String) -> (commands: [Syntax], titles: [String]) {
        var (titles, shared, commands) = ([String](), [Option](), [Syntax]())
        for line in text.replacing("\n  ", with: " ").split(separator: "\n") {
            let sign = line.prefix { $0 != " " }
            let rest = String(line.dropFirst(sign.count + 1))
            let last = commands.count - 1
            switch sign {
            case "//": break
            case "#": titles.append(rest)
            case "##", "##!":
                commands.append(Syntax(name: rest, group: titles.last ?? "", changesFiles: sign == "##!"))
            case ">": commands[last].operands.append(Operand(Entry(rest)))
            case "-" where commands.isEmpty: shared.append(Option(Entry(rest), titles.last ?? "", []))
            case "-", "*":
                commands[last].options.append(Option(Entry(rest), "Output", shared))
                commands[last].options[commands[last].options.count - 1].isCommon = sign == "*"
            case "$": commands[last].example = rest
            case _ where commands[last].summary.isEmpty: commands[last].summary = String(line)
            default: commands[last].discussion += (commands[last].discussion.isEmpty ? "" : "\n") + line
            }
        }
        return (commands.map { $0.completed(shared) }, titles)
    }

    private func completed(_ shared: [Option]) -> Syntax {
        var syntax = self
        let hasCommon = !commonOptions.isEmpty
        let names = ["--json", "--quiet", "--help"] + (hasCommon ? ["--help-all"] : [])
        for var option in shared
        where names.contains(option.name) && !options.contains(where: { $0.name == option.name }) {
            option.isCommon = hasCommon && option.name.hasPrefix("--help")
            syntax.options.append(option)
        }
        return syntax
    }

    fileprivate struct Entry {
        let words: [String]
        let choices: [String]
        let key: String?
        /// Nil for a reference to a shared option.
        let summary: String?

        init(_ line: String) {
            let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
            let words = parts[0].split(separator: " ").map(String.init)
            func enclosed(_ sign: Character) -> Substring? {
                words.first { $0.first == sign }.map { $0.dropFirst().dropLast() }
            }
            self.words = words.filter { !"({".contains($0.prefix(1)) }
            choices = enclosed("(")?.split(separator: "|").map(String.init) ?? []
            key = enclosed("{").map(String.init)
            summary = parts.count > 1 ? parts[1] : nil
        }
    }
}

extension Syntax.Operand {
    fileprivate init(_ entry: Syntax.Entry) {
        let notation = entry.words[0]
        name = notation.filter { !"[]…".contains($0) }
        count = notation.hasPrefix("[") ? .optional : notation.hasSuffix("…") ? .several : .one
        (summary, choices) = (entry.summary ?? "", entry.choices)
    }
}

extension Syntax.Option {
    /// A shared option of this name gives what the entry does not say.
    fileprivate init(_ entry: Syntax.Entry, _ title: String, _ shared: [Syntax.Option]) {
        let name = entry.words[0].filter { $0 != "!" }
        self = shared.first { $0.name == name } ?? Syntax.Option(name: name, group: title)
        isRequired = name != entry.words[0]
        guard let summary = entry.summary else { return }
        let notation = entry.words.dropFirst().first ?? ""
        placeholder = notation.filter { $0 != "…" }
        kind = notation.isEmpty ? .flag : notation.hasSuffix("…") ? .repeated : .value
        (self.summary, choices, key) = (summary, entry.choices, entry.key ?? key)
    }
}
