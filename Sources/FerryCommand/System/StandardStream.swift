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

    /// Writes a text; what cannot be written (a closed pipe) is lost, as a reader that went away wanted it.
    @Sendable func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let written = systemWrite(rawValue, rest.baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
            }
        }
    }
}

/// `write(2)`, named apart from the method above.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
