internal import FerryBase
internal import Foundation

extension DefaultValue {
    /// Reads the default value of a source file.
    ///
    /// Numbers are read as the model compiler does: the leading number of the text, else zero. Binary and transformable
    /// attributes have no default in a source file. The default of a date is the interval (`defaultDateTimeInterval`,
    /// seconds since 2001); its text is for Xcode's editor only.
    init?(type: AttributeType, text: String?, interval: Double?) {
        if type == .date {
            guard let interval else { return nil }
            self = .real(interval)
            return
        }
        guard let text, !text.isEmpty || type == .string else { return nil }
        switch type {
        case .string, .uri: self = .text(text)
        case .boolean: self = .integer((text as NSString).boolValue ? 1 : 0)
        // Xcode leaves "YES" if the attribute was a Boolean earlier.
        case .integer16, .integer32, .integer64: self = .integer(text == "YES" ? 1 : (text as NSString).longLongValue)
        case .decimal, .double, .float: self = .real((text as NSString).doubleValue, of: type)
        case .uuid:
            guard let uuid = UUID(uuidString: text)?.uuid else { return nil }
            self = .blob(withUnsafeBytes(of: uuid) { Array($0) })
        case .date, .binary, .transformable, .undefined, .objectID, .composite: return nil
        }
    }

    private static func real(_ number: Double, of type: AttributeType) -> DefaultValue {
        .real(type == .float ? Double(Float(number)) : number)
    }
}

extension AttributeType {
    /// The type with this name in source files and messages.
    package init?(sourceName: String) {
        guard let type = Self.allCases.first(where: { $0.sourceName == sourceName }) else { return nil }
        self = type
    }

    package var sourceName: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binary: "Binary"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        case .objectID: "Object ID"
        case .composite: "Composite"
        }
    }
}

extension DefaultValue {
    /// Returns the default value as an object of an archived model.
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

    /// Returns an `NSDecimalNumber`: the shortest decimal digits, in up to eight 16-bit parts, and a power of ten.
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
                // 1: the low byte of each part comes first.
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

extension DefaultValue {
    /// Reads an archived default value in its type's storage; nil for transformables, which need a transformer.
    init?(type: AttributeType, archived object: ArchivedObject) throws(FerryError) {
        switch type {
        case .integer16, .integer32, .integer64:
            let decimal = try object.decimal.flatMap { Int64(exactly: $0.rounded(.towardZero)) }
            guard let number = object.integer ?? decimal else { return nil }
            self = .integer(number)
        case .boolean:
            guard let flag = object.flag else { return nil }
            self = .integer(flag ? 1 : 0)
        case .decimal, .double, .float:
            let decimal = try object.decimal
            guard let number = object.real ?? decimal else { return nil }
            self = .real(number, of: type)
        case .date:
            guard let seconds = try object.date else { return nil }
            self = .real(seconds)
        case .string:
            guard let text = try object.text else { return nil }
            self = .text(text)
        case .uri:
            let plain = try object.text
            guard let text = try object.text("NS.relative") ?? plain else { return nil }
            self = .text(text)
        case .uuid:
            guard let uuid = try object.object("NS.uuidbytes")?.value.plain?.data, uuid.count == 16 else { return nil }
            self = .blob(uuid)
        case .binary:
            guard let bytes = try object.data else { return nil }
            self = .blob(bytes)
        case .undefined, .transformable, .objectID, .composite: return nil
        }
    }
}

extension ArchivedObject {
    /// The double nearest to an archived `NSDecimalNumber`.
    var decimal: Double? {
        get throws(FerryError) {
            guard let mantissa = try object("NS.mantissa")?.value.plain?.data,
                let exponent = try integer("NS.exponent"), let length = try integer("NS.length"),
                let order = try integer("NS.mantissa.bo"), (0...8).contains(length), mantissa.count >= length * 2
            else { return nil }
            var digits = Decimal(0)
            for position in (0..<Int(length)).reversed() {
                // Eight 16-bit parts, the least significant first; their byte order is 1 (little) or 2 (big).
                let (first, second) = (mantissa[position * 2], mantissa[position * 2 + 1])
                let part = order == 2 ? Int(first) << 8 | Int(second) : Int(second) << 8 | Int(first)
                digits = digits * 65536 + Decimal(part)
            }
            // A decimal has 38 digits and an exponent of one byte; parsing its text gives the nearest double.
            guard (-128...127).contains(exponent), let number = Double("\(digits)e\(exponent)") else { return nil }
            return try flag("NS.negative") ? -number : number
        }
    }
}
