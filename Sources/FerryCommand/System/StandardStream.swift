internal import Ferry
internal import FerryBase
internal import Foundation

/// Standard output and standard error, written without a buffer.
enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    var isTerminal: Bool { isatty(rawValue) == 1 }
    static var isInputTerminal: Bool { isatty(0) == 1 }

    var terminalWidth: Int? { isTerminal ? terminalColumns(ofDescriptor: rawValue) : nil }

    /// Whether the terminal shows colours and its user wants them, by the rules of https://no-color.org.
    var showsColors: Bool {
        isTerminal && !Self.isSet("NO_COLOR") && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

    /// Writes a text; a part that cannot be written is lost.
    ///
    /// - Returns: The error if a part was lost; nil also for a closed pipe, whose reader wants no more.
    @discardableResult
    func write(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let written = systemWrite(rawValue, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else {
                    return written < 0 && errno == EPIPE ? nil : String(cString: strerror(errno))
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
            }
            return nil
        }
    }
}

/// Inner switches for tests and developers: variables of the environment, which no command line has.
enum DeveloperSwitch {
    /// Whether each statement is logged with its time.
    static var traces: Bool { value("FERRY_TRACE") != nil }

    /// What copies the rows, of `FERRY_EXECUTOR`.
    static func executor() throws(FerryError) -> ExecutorChoice {
        guard let word = value("FERRY_EXECUTOR") else { return .automatic }
        guard let choice = ExecutorChoice(rawValue: word) else {
            throw FerryError(.usage, "FERRY_EXECUTOR cannot be \"\(word)\".", remedy: "Expected auto, set or row.")
        }
        return choice
    }

    private static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// Calls `write(2)`; the method `write` hides that name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
