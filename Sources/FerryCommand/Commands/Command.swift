internal import Ferry
internal import FerryBase

protocol Command {
    /// The words after `ferry`, by which `Templates/commands.txt` has the command's syntax.
    static var name: String { get }

    init(arguments: Arguments)

    /// Checks the command's words before any change, then does the work; `FerryCommand.run` handles the errors.
    func run(on console: Console) throws -> ExitCode
}

extension Command {
    static var syntax: Syntax { .named(name) }
}

struct CommandCall {
    private let command: any Command.Type
    private let words: [String]

    /// Finds the command that a command line names with one or two words (`snapshot create`); nil without a word.
    init?(_ words: [String], among commands: [any Command.Type]) throws(FerryError) {
        // Spellings that other programs have.
        let spellings = ["--help": "help", "--help-all": "help", "-h": "help"]
        let words = words.first == "--json" ? Array(words.dropFirst()) + ["--json"] : words
        guard let first = words.first, words != ["--json"] else { return nil }
        let name = spellings[first] ?? first
        let second = words.dropFirst().first ?? ""
        for (typed, count) in [(name, 1), ("\(name) \(second)", 2)] {
            guard let command = commands.first(where: { $0.name == typed }) else { continue }
            (self.command, self.words) = (command, Array(words.dropFirst(count)))
            return
        }
        let group = commands.filter { $0.name.hasPrefix(name + " ") }
        guard group.isEmpty else {
            if second == "--help" || second == "-h" {
                (command, self.words) = (HelpCommand.self, [name] + words.dropFirst(2))
                return
            }
            let known = group.map { $0.name }.joined(separator: ", ")
            throw FerryError(
                .usage, second.isEmpty ? "\(name) needs a subcommand." : "Unknown command \(name) \(second).",
                remedy: "There are: \(known).")
        }
        let firsts = commands.map { $0.syntax.words[0] } + spellings.keys.sorted() + ["--version"]
        let nearest = NearNames.near(to: name, among: firsts).first
        throw FerryError(
            .usage, "Unknown \(name.hasPrefix("-") ? "option" : "command") \(name.isEmpty ? "\"\"" : name).",
            remedy: nearest.map { "Did you mean ferry \($0)?" } ?? "List the commands with: ferry help")
    }

    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode {
        let arguments = try Arguments(words, for: command.syntax, readsConfig: true, policies: policies)
        let isAll = !command.syntax.commonOptions.isEmpty && arguments.has("--help-all")
        guard !isAll, !arguments.has("--help") else {
            HelpText.show([command.syntax], isAll: isAll, on: console)
            return .success
        }
        let console = arguments.has("--quiet") ? console.quiet(isJSON: console.isJSON) : console
        do {
            return try command.init(arguments: arguments).run(on: console)
        } catch {
            guard command.syntax.operands.first?.name == "STORE" else { throw error }
            throw FerryError.from(error).naming(store: arguments.operands[0], arguments)
        }
    }
}
