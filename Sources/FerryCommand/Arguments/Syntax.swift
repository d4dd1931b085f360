internal import FerryBase

/// The words that a command takes: the parser, the help, the completions and the manual use this description.
package struct Syntax: Sendable {
    /// The words after `ferry`, for example `snapshot create`.
    package var name: String
    /// One line for the list of commands.
    var summary: String
    /// A few lines of help: the effects of the command, and its conditions.
    var discussion: String
    var operands: [Operand]
    package var options: [Option]
    /// The names of the options in the short help; empty if `--help` lists all options.
    package var common: [String]
    var example: String

    package init(
        _ name: String, summary: String, discussion: String, operands: [Operand] = [], options: [Option] = [],
        common: [String] = [], example: String
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options =
            options + [.json, .quiet, .help] + (common.isEmpty ? [] : [Option.helpAll])
        self.common = common.isEmpty ? [] : common + [Option.help.name, Option.helpAll.name]
        self.example = example
    }

    /// A word of the command line without dashes.
    package struct Operand: Sendable {
        package enum Count: Sendable { case one, optional, several }

        var name: String
        var count: Count
        var summary: String
        /// The only words allowed; empty if any word is.
        var choices: [String]

        package init(_ name: String, _ summary: String) { self.init(name, .one, summary) }

        package init(_ name: String, _ count: Count, _ summary: String, among choices: [String] = []) {
            self.name = name
            self.count = count
            self.summary = summary
            self.choices = choices
        }

        var notation: String {
            switch count {
            case .one: name
            case .optional: "[\(name)]"
            case .several: "\(name)…"
            }
        }
    }

    /// A word of the command line with two dashes, with or without a value.
    package struct Option: Sendable {
        enum Kind: Sendable, Equatable { case flag, value, repeated }

        package var name: String
        var kind: Kind
        /// The name of the value in the help.
        var placeholder: String
        var summary: String
        var isRequired = false
        /// The only values allowed; empty if any value is.
        var choices: [String] = []

        package static func flag(_ name: String, _ summary: String) -> Option {
            Option(name: name, kind: .flag, placeholder: "", summary: summary)
        }

        package static func value(
            _ name: String, _ placeholder: String, _ summary: String, isRequired: Bool = false
        ) -> Option {
            Option(name: name, kind: .value, placeholder: placeholder, summary: summary, isRequired: isRequired)
        }

        /// An option whose value is one of a few words.
        static func choice<Choice: RawRepresentable>(
            _ name: String, _ placeholder: String, of choices: [Choice], _ summary: String
        ) -> Option where Choice.RawValue == String {
            Option(
                name: name, kind: .value, placeholder: placeholder, summary: summary, choices: choices.map(\.rawValue))
        }

        package static func repeated(
            _ name: String, _ placeholder: String, _ summary: String, isRequired: Bool = false
        ) -> Option {
            Option(name: name, kind: .repeated, placeholder: placeholder, summary: summary, isRequired: isRequired)
        }

        static let json = flag("--json", "Print one JSON object instead of text.")
        static let quiet = flag("--quiet", "Print only warnings and errors.")
        static let help = flag("--help", "Show this help.")
        static let helpAll = flag("--help-all", "Show the help with all options.")

        /// The letters of the most used options; a letter means the same option in each command.
        static let short = [
            "-m": "--models", "-M": "--mappings", "-t": "--to", "-o": "--output", "-q": "--quiet", "-h": "--help",
        ]

        var notation: String { kind == .flag ? name : "\(name) \(placeholder)" }
        /// The option's letter with the dash, such as `-m`.
        var letter: String? { Self.short.first { $0.value == name }?.key }

        /// The notation with the letter, for lists of options.
        package var listed: String { letter.map { "\($0), \(notation)" } ?? "    \(notation)" }
    }
}
