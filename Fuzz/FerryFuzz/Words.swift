import Foundation

/// The fuzzer's command line: `name value` pairs after the first word.
struct Words {
    private var values: [String: String] = [:]

    init(_ words: ArraySlice<String>) throws {
        var rest = words
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else {
                throw FuzzFailure("`\(name)` is no option with a value.")
            }
            values[name] = value
        }
    }

    func text(_ name: String) -> String? { values[name] }

    func number(_ name: String) throws -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), number >= 0 else { throw FuzzFailure("\(name) needs a number.") }
        return number
    }

    /// The fixtures' folder: the named one, else the tests' default beside the package.
    var corpus: String? {
        let path =
            values["--fixtures"] ?? ProcessInfo.processInfo.environment["FERRY_FIXTURES"] ?? "../shared/fixtures"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }
}
