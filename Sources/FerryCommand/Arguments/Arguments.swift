internal import Ferry
internal import FerryBase

/// The words of one command line, read by the syntax of its command.
///
/// `--option value`, `--option=value` and the option's letter mean the same; `--` ends the options. A repeated option
/// takes several words (`--models A B`) once all operands are read. An unknown option is refused, never ignored.
struct Arguments {
    private let syntax: Syntax
    /// The migration policies that the program has registered.
    let policies: [String: PolicyFactory]
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []
    /// The options that come from `ferry.json`, not from the command line.
    private var fromConfig: Set<String> = []
    private(set) var configPath: String?

    /// Reads the words after the command's name.
    ///
    /// - Throws: `usage` for words that the syntax does not know; with `readsConfig` also the errors of `ferry.json`.
    init(
        _ words: [String], for syntax: Syntax, readsConfig: Bool = false, policies: [String: PolicyFactory] = [:]
    ) throws(FerryError) {
        (self.syntax, self.policies) = (syntax, policies)
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            if word.hasPrefix("-"), word != "-" {
                try readOption(word, from: &rest)
            } else {
                operands.append(word)
            }
        }
        if flags.contains("--help") || flags.contains("--help-all") { return }
        try checkOperands()
        if readsConfig { try takeConfig() }
        for option in syntax.options where option.isRequired && values[option.name] == nil {
            throw wrong("The option \(option.notation) is missing.")
        }
    }

    private mutating func readOption(_ word: String, from rest: inout ArraySlice<String>) throws(FerryError) {
        let equals = word.firstIndex(of: "=")
        let typed = equals.map { String(word[..<$0]) } ?? word
        let name = Syntax.Option.short[typed] ?? typed
        if typed == "--help-all", syntax.commonOptions.isEmpty {
            // The help of this command has all options already.
            flags.insert("--help")
            return
        }
        // The default has this old spelling, which goes before a key of `ferry.json`, too.
        if typed == "--refuse-loss", syntax.options.contains(where: { $0.name == "--accept-loss" }) {
            return values["--accept-loss"] = []
        }
        guard let option = syntax.options.first(where: { $0.name == name }) else {
            throw wrong(
                "Unknown option \(typed).", NearNames.question(for: name, among: syntax.options.map(\.name)))
        }
        let attached = equals.map { String(word[word.index(after: $0)...]) }
        guard option.kind != .flag else {
            guard attached == nil else { throw wrong("The option \(name) takes no value.") }
            guard flags.insert(name).inserted else { throw wrong("The option \(name) is given twice.") }
            return
        }
        guard let value = attached ?? rest.popFirst(), attached != nil || !isOption(value) else {
            throw wrong("The option \(name) needs a value: \(option.notation).")
        }
        guard option.kind == .repeated || values[name] == nil else {
            throw wrong("The option \(name) is given twice.")
        }
        values[name, default: []].append(value)
        if option.kind == .repeated, attached == nil, operands.count >= syntax.operands.count {
            while let next = rest.first, !next.hasPrefix("-") {
                values[name]?.append(next)
                rest.removeFirst()
            }
        }
        // An empty path would be the current folder.
        if values[name]?.contains("") == true { throw wrong("The value of \(name) is empty.", Self.unset) }
    }

    private static let unset = "A shell variable may be unset."

    private mutating func takeConfig() throws(FerryError) {
        let file = try ConfigFile.find(
            for: syntax, config: values["--config"]?.first, models: values["--models"] ?? [])
        guard let file else { return }
        configPath = file.path
        for option in syntax.options where values[option.name] == nil && !flags.contains(option.name) {
            guard let words = file.words[option.name] else { continue }
            fromConfig.insert(option.name)
            if option.kind == .flag { flags.insert(option.name) } else { values[option.name] = words }
        }
    }

    /// Whether a word is certainly an option; a value may begin with one dash.
    private func isOption(_ word: String) -> Bool { word.hasPrefix("--") || Syntax.Option.short[word] != nil }

    private func checkOperands() throws(FerryError) {
        let needed = syntax.operands.filter { $0.count != .optional }
        if operands.count < needed.count {
            throw wrong("\(needed[operands.count].name) is missing.")
        }
        let isOpen = syntax.operands.contains { $0.count == .several }
        if !isOpen, operands.count > syntax.operands.count {
            throw wrong("Unexpected argument: \"\(operands[syntax.operands.count])\".")
        }
        if let empty = operands.firstIndex(of: "") {
            let name = syntax.operands[min(empty, syntax.operands.count - 1)].name
            throw wrong("\(name) is empty.", Self.unset)
        }
    }

    func has(_ flag: String) -> Bool {
        check(flag, .flag)
        return flags.contains(flag)
    }

    /// Whether the command line itself has the option; `ferry.json` may hold options for other commands.
    func isTyped(_ name: String) -> Bool {
        !fromConfig.contains(name) && (flags.contains(name) || values[name] != nil)
    }

    func value(_ name: String) -> String? {
        check(name, .value)
        return values[name]?.first
    }

    func values(_ name: String) -> [String] {
        check(name, .repeated)
        return values[name] ?? []
    }

    private func check(_ name: String, _ kind: Syntax.Option.Kind) {
        precondition(syntax.options.contains { $0.name == name && $0.kind == kind }, "\(name) is not a \(kind) here")
    }

    /// The options, but for `names`, and the operands as words of a command line.
    func words(without names: Set<String>) -> [String] {
        words(of: syntax.options.filter { !names.contains($0.name) }) { ["\($0)=\($1)"] } + ["--"] + operands
    }

    /// The whole command line with other values of one option, to be pasted into a shell; those of an option that may
    /// be repeated are added.
    ///
    /// A pasted command reads `ferry.json` again, but for the option that it gives.
    func commandLine(with name: String, _ added: [String]) -> String {
        let shown = syntax.options.filter { $0.name == name ? $0.kind == .repeated : isTyped($0.name) }
        let words = [FerryCommand.program, syntax.name] + operands.map(ShellWord.quoted) + words(of: shown, quoted)
        return (words + added.flatMap { quoted(name, $0) }).joined(separator: " ")
    }

    /// `ferry repair` for a store, with the options of this command line that it has, to be pasted into a shell.
    ///
    /// Only a repair that migrates needs the options of the route and of losses.
    func repair(_ store: String, migrates: Bool) -> String {
        let shared = RepairCommand.syntax.options.filter {
            isTyped($0.name) && !["--output", "--json", "--progress"].contains($0.name)
                && (migrates || ["--models", "--config", "--snapshot-dir"].contains($0.name))
        }
        return ([FerryCommand.program, RepairCommand.name, ShellWord.quoted(store)] + words(of: shared, quoted))
            .joined(separator: " ")
    }

    private func quoted(_ name: String, _ value: String) -> [String] { [name, ShellWord.quoted(value)] }

    private func words(of options: [Syntax.Option], _ words: (String, String) -> [String]) -> [String] {
        options.flatMap { option in
            flags.contains(option.name) ? [option.name] : (values[option.name] ?? []).flatMap { words(option.name, $0) }
        }
    }

    /// The value of an option that is one of the words in its syntax.
    func choice<Choice: RawRepresentable<String>>(_ name: String) throws(FerryError) -> Choice? {
        let words = syntax.options.first { $0.name == name }?.choices ?? []
        return try value(name, "one of: \(words.joined(separator: ", "))") { text in
            words.contains(text) ? Choice(rawValue: text) : nil
        }
    }

    func count(_ name: String, in range: ClosedRange<Int64>) throws(FerryError) -> Int64? {
        // The message leaves out a bound that no user reaches.
        let bounds =
            range.upperBound < 1_000_000
            ? "from \(range.lowerBound) to \(range.upperBound)" : "of at least \(range.lowerBound)"
        return try value(name, "a whole number \(bounds)") { text in
            Quantity.count(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// The value of an option that must be a time of at least `least` nanoseconds.
    func time(_ name: String, _ wanted: String, from least: Int64 = 1) throws(FerryError) -> Duration? {
        try value(name, wanted) { text in
            Quantity.nanoseconds(text).flatMap { $0 >= least ? .nanoseconds($0) : nil }
        }
    }

    /// The value of an option, converted by `read`; the error for a value that `read` refuses names `wanted`.
    func value<Value>(
        _ name: String, _ wanted: String, _ read: (String) -> Value?
    ) throws(FerryError) -> Value? {
        guard let text = value(name) else { return nil }
        guard let value = read(text) else { throw wrong("\(name) cannot be \"\(text)\".", "Expected \(wanted).") }
        return value
    }

    func wrong(_ message: String, _ remedy: String? = nil) -> FerryError {
        FerryError(.usage, message, remedy: remedy ?? "See: ferry \(syntax.name) --help")
    }
}
