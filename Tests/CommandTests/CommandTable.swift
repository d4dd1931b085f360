import Foundation
import Testing

/// The table of commands in `ferry help --json`; completions and manual pages must agree with it.
struct CommandTable: Decodable {
    struct Command: Decodable, CustomTestStringConvertible {
        var name: String
        var summary: String
        var operands: [Operand]
        var options: [Option]

        var words: [String] { name.split(separator: " ").map(String.init) }
        var testDescription: String { name }
    }

    struct Operand: Decodable {
        var name: String
        var choices: [String]
    }

    struct Option: Decodable {
        var name: String
        var letter: String?
        var value: String?
        var choices: [String]
    }

    var commands: [Command]

    static func read() throws -> CommandTable {
        let output = Captured.run(["help", "--json"], isJSON: true).output
        return try JSONDecoder().decode(CommandTable.self, from: Data(output.utf8))
    }
}
