internal import FerryBase

struct HelpCommand: Command {
    static let syntax = Syntax(
        "help", summary: "Lists the commands, or explains one.",
        discussion: "Without a word: all commands in one line each. With the name of a command: what its --help says.",
        operands: [
            .init("COMMAND", .optional, "The command to explain."), .init("PART", .optional, "Its second word."),
        ],
        example: "ferry help snapshot create")

    private let name: String

    init(from arguments: Arguments) throws(FerryError) { name = arguments.operands.joined(separator: " ") }

    func run(on console: Console) throws -> ExitCode {
        let commands = FerryCommand.commands
        if name.isEmpty {
            console.result([("commands", .array(FerryCommand.table.map(\.json)))]) {
                HelpText.overview(commands, width: $0)
            }
            return .success
        }
        let chosen = commands.filter { $0.syntax.name == name || $0.syntax.name.hasPrefix(name + " ") }
        guard !chosen.isEmpty else {
            let nearest = NearNames.near(to: name, among: commands.map { $0.syntax.name }).first
            throw FerryError(
                .usage, "Unknown command \(name).",
                remedy: nearest.map { "Did you mean \($0)?" } ?? "The commands are listed by: ferry help")
        }
        let syntaxes = chosen.map { $0.syntax }
        console.result([("help", .string(HelpText.text(syntaxes)))]) { HelpText.lines(syntaxes, width: $0) }
        return .success
    }
}

extension Syntax {
    /// All that the table of commands says, for programs that wrap this one.
    fileprivate var json: JSON {
        .object([
            ("name", .string(name)), ("summary", .string(summary)), ("operands", .array(operands.map(\.json))),
            ("options", .array(options.map(\.json))),
        ])
    }
}

extension Syntax.Operand {
    fileprivate var json: JSON {
        .object([
            ("name", .string(name)), ("summary", .string(summary)), ("isOptional", .bool(count == .optional)),
            ("isRepeated", .bool(count == .several)), ("choices", .strings(choices)),
        ])
    }
}

extension Syntax.Option {
    fileprivate var json: JSON {
        .object([
            ("name", .string(name)), ("letter", .string(letter)), ("summary", .string(summary)),
            ("value", kind == .flag ? .null : .string(placeholder)), ("isRequired", .bool(isRequired)),
            ("isRepeated", .bool(kind == .repeated)), ("choices", .strings(choices)),
        ])
    }
}
