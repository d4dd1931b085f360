internal import Ferry
internal import FerryBase

/// One command of the command line.
protocol Command {
    static var syntax: Syntax { get }

    /// Reads the command's words; touches nothing.
    init(from arguments: Arguments) throws(FerryError)

    /// Does the work; whatever it throws becomes a message and an exit code in one place.
    func run(on console: Console) throws -> ExitCode
}

/// A command that may meet mapping models with migration policies.
protocol PolicyCommand: Command {
    func run(on console: Console, policies: [String: PolicyFactory]) throws -> ExitCode
}

extension PolicyCommand {
    func run(on console: Console) throws -> ExitCode { try run(on: console, policies: [:]) }
}
