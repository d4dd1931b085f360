internal import FerryBase

/// `random()` and its kin: numbers that look random and are the same for the same object of the same run.
///
/// They follow from the run's time, the object's key, the element of `forEach` and the place in the mapping, so that a
/// resumed run, another chunk size and the verification see the same.
extension ScalarFunction {
    static let draws: [ScalarFunction] = [
        ScalarFunction("ferry_random", title: "random", arguments: 4) { arguments, result throws(FerryError) in
            // As many bits as a double between 0 and 1 has.
            result.set(Double(bits(of: arguments) >> 11) * 0x1p-53)
        },
        ScalarFunction("ferry_random_below", title: "random:", arguments: 5) { arguments, result throws(FerryError) in
            guard let limit = try arguments[4].number("random:") else { return }
            guard case .integer(let count) = limit, count > 0 else {
                throw .row("random:", "needs a whole number above 0")
            }
            let drawn = bits(of: UnsafeBufferPointer(rebasing: arguments.prefix(4)))
            result.set(Int64(drawn.multipliedFullWidth(by: UInt64(count)).high))
        },
    ]

    /// The first eight bytes of the SHA-256 of the arguments, each with its kind and its length.
    private static func bits(of arguments: Arguments) -> UInt64 {
        var content: [UInt8] = []
        for argument in arguments {
            switch argument {
            case .null: content.append(0)
            case .integer(let integer):
                content.append(1)
                withUnsafeBytes(of: integer.bigEndian) { content += $0 }
            case .real(let real):
                content.append(2)
                withUnsafeBytes(of: real.bitPattern.bigEndian) { content += $0 }
            case .text(let bytes), .blob(let bytes):
                content.append(3)
                withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { content += $0 }
                content += bytes
            }
        }
        return SHA256.hash(content).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
