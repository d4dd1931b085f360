/// What a command takes: the one description from which words are read and help is written.
package struct Syntax: Sendable {
    /// What is typed after `ferry`, for example `snapshot create`.
    var name: String
    /// One line for lists of commands.
    var summary: String
    /// A few lines of help: what happens, and what the reader must know before.
    var discussion: String
    var operands: [Operand]
    var options: [Option]
    var example: String

    package init(
        _ name: String, summary: String, discussion: String, operands: [Operand] = [], options: [Option] = [],
        example: String
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options = options + [.json, .quiet, ColorChoice.option, .help]
        self.example = example
    }

    /// A word without dashes.
    package struct Operand: Sendable {
        package enum Count: Sendable { case one, optional, several }

        var name: String
        var count: Count
        var summary: String
        /// The only words that it can be; empty where that is open.
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

    /// A word with two dashes, with or without a value.
    package struct Option: Sendable {
        enum Kind: Sendable, Equatable { case flag, value, repeated }

        var name: String
        var kind: Kind
        /// How help names the value.
        var placeholder: String
        var summary: String
        var isRequired = false
        /// The only words that the value can be; empty where that is open.
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

        static let json = flag("--json", "One JSON object on standard output instead of text.")
        static let quiet = flag("--quiet", "No progress and no text: only warnings, errors and the exit code.")
        static let help = flag("--help", "This text.")

        /// The options that are typed most, in one letter; the same one wherever a command has the option.
        static let short = [
            "-m": "--models", "-M": "--mappings", "-t": "--to", "-o": "--output", "-q": "--quiet", "-h": "--help",
        ]

        var notation: String { kind == .flag ? name : "\(name) \(placeholder)" }
        /// Its letter with the dash, such as `-m`.
        var letter: String? { Self.short.first { $0.value == name }?.key }

        /// With its letter, for lists of options.
        var listed: String { letter.map { "\($0), \(notation)" } ?? "    \(notation)" }
    }
}
