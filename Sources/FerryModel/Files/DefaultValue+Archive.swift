extension DefaultValue {
    /// The default as an object of an archived model.
    func archived(as type: AttributeType, in archive: inout KeyedArchiveWriter) -> PropertyTree {
        switch (self, type) {
        case (.integer(let number), .boolean): return archive.plain(.bool(number != 0))
        case (.integer(let number), _): return archive.plain(.integer(number))
        case (.real(let number), .decimal): return Self.decimal(number, in: &archive)
        case (.real(let seconds), .date): return archive.object(["NSDate", "NSObject"], ["NS.time": .real(seconds)])
        case (.real(let number), _): return archive.plain(.real(number))
        case (.text(let text), .uri):
            return archive.object(
                ["NSURL", "NSObject"], ["NS.base": KeyedArchiveWriter.null, "NS.relative": archive.text(text)])
        case (.text(let text), _): return archive.text(text)
        case (.blob(let bytes), .uuid):
            return archive.object(["NSUUID", "NSObject"], ["NS.uuidbytes": .data(bytes)])
        case (.blob(let bytes), _): return archive.plain(.data(bytes))
        }
    }

    /// An `NSDecimalNumber`: the shortest decimal digits of the number as a whole number of up to eight 16-bit parts,
    /// and a power of ten.
    private static func decimal(_ number: Double, in archive: inout KeyedArchiveWriter) -> PropertyTree {
        var (mantissa, exponent) = digits(of: number.magnitude)
        while mantissa != 0, mantissa % 10 == 0, exponent < 127 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
        var parts = [UInt8](repeating: 0, count: 16)
        for position in 0..<8 { parts[position] = UInt8(truncatingIfNeeded: mantissa >> UInt64(8 * position)) }
        let length = (0..<4).last { parts[$0 * 2] != 0 || parts[$0 * 2 + 1] != 0 }.map { $0 + 1 } ?? 0
        return archive.object(
            ["NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"],
            [
                "NS.compact": .bool(false), "NS.exponent": .integer(exponent), "NS.length": .integer(Int64(length)),
                // 1: the parts have their low byte first.
                "NS.mantissa": .data(parts), "NS.mantissa.bo": .integer(1), "NS.negative": .bool(number < 0),
            ])
    }

    private static func digits(of number: Double) -> (UInt64, Int64) {
        guard number.isFinite else { return (0, 0) }
        // "12.5" or "1.25e-07": never more than 17 digits.
        let parts = "\(number)".split(separator: "e")
        let figures = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let fraction = figures.count > 1 ? figures[1] : ""
        let exponent = (parts.count > 1 ? Int64(parts[1]) ?? 0 : 0) - Int64(fraction.count)
        return (UInt64(figures[0] + fraction) ?? 0, exponent)
    }
}
