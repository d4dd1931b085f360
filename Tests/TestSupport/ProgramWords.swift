package import Foundation

extension Process {
    /// Takes the words of a command line of `ferry`; a word such as `FERRY_EXECUTOR=row` becomes a variable of the
    /// environment, as before a command in a shell.
    package func take(_ words: [String]) {
        let switches = words.filter { $0.hasPrefix("FERRY_") }
        arguments = words.filter { !$0.hasPrefix("FERRY_") }
        environment = switches.reduce(into: ProcessInfo.processInfo.environment) { variables, word in
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            variables[parts[0]] = parts[1]
        }
    }
}
