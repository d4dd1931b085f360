internal import FerryBase

/// One command of the command line.
protocol Command {
    static var syntax: Syntax { get }

    /// Reads the command's words; touches nothing.
    init(from arguments: Arguments) throws(FerryError)

    /// Does the work; whatever it throws becomes a message and an exit code in one place.
    func run(on console: Console) throws -> ExitCode
}
