internal import FerryBase

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Standard output and standard error, written at once and without a buffer of our own.
enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    var isTerminal: Bool { isatty(rawValue) == 1 }

    /// How long a line may be; nil where the stream goes to no terminal.
    var terminalWidth: Int? { isTerminal ? terminalColumns(ofDescriptor: rawValue) : nil }

    /// Whether the terminal takes colours and its user wants them, as https://no-color.org has it.
    var showsColors: Bool {
        isTerminal && !Self.isSet("NO_COLOR") && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

    /// Writes a text; what cannot be written is lost.
    ///
    /// - Returns: Why something was lost; nil also where a reader went away (a closed pipe), which wanted no more.
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

/// `write(2)`, named apart from the method above.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
