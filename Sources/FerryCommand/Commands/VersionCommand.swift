internal import Ferry
internal import FerryBase

struct VersionCommand: Command {
    static let syntax = Syntax(
        "version", summary: "Print the version of Ferry, like ferry --version.",
        discussion: "Prints the version of this program.", example: "ferry --version")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        console.result(["version": FerryVersion.text], text: ["ferry \(FerryVersion.text)"])
        return .success
    }
}
