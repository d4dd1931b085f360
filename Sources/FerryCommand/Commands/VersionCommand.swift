internal import Ferry
internal import FerryBase

struct VersionCommand: Command {
    static let syntax = Syntax(
        "version", summary: "Tells the version of Ferry; ferry --version is the same.",
        discussion: "The version of this program. Stores are not touched.", example: "ferry --version")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        console.result(["version": FerryVersion.text], text: ["ferry \(FerryVersion.text)"])
        return .success
    }
}
