internal import FerryBase

struct CompletionsCommand: Command {
    static let syntax = Syntax(
        "completions", summary: "Prints what makes a shell complete the words of ferry.",
        discussion:
            "Packages bring the scripts along. By hand: bash reads one from a folder bash-completion/completions of "
            + "~/.local/share, under the name ferry; zsh one on its fpath, named _ferry; fish one in "
            + "~/.config/fish/completions, named ferry.fish.",
        operands: [.init("SHELL", .one, "bash, zsh, or fish.", among: Shell.allCases.map(\.rawValue))],
        example: "ferry completions fish > ~/.config/fish/completions/ferry.fish")

    private let shell: Shell

    init(from arguments: Arguments) throws(FerryError) {
        guard let shell = Shell(rawValue: arguments.operand(0)) else {
            throw arguments.wrong(
                "There are no completions for \"\(arguments.operand(0))\".",
                "There are some for: \(Shell.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        self.shell = shell
    }

    func run(on console: Console) throws -> ExitCode {
        let script = shell.script(for: FerryCommand.table)
        console.result([("shell", .string(shell.rawValue)), ("script", .string(script + "\n"))], verbatim: script)
        return .success
    }
}
