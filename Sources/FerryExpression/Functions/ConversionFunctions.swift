internal import FerryBase

/// Conversions to the storage of an attribute type; nil gives nil, and a value that does not fit is an error.
///
/// Numbers become integers without their fraction, as in `NSNumber`. Text becomes a number only if all of it is one.
extension ScalarFunction {
    /// The function that returns the contents of an attribute with external storage.
    ///
    /// The function reads files, so the engine, which has the store, registers it; ``all`` does not contain it.
    package static let fromExternalName = "ferry_from_external"
    /// The function that converts a value to the form of an attribute with external storage.
    package static let toExternalName = "ferry_to_external"

    static let conversions: [ScalarFunction] = [
        integer("ferry_to_integer16", "Integer 16", Int64(Int16.min)...Int64(Int16.max)),
        integer("ferry_to_integer32", "Integer 32", Int64(Int32.min)...Int64(Int32.max)),
        integer("ferry_to_integer64", "Integer 64", .min ... .max),
        real("ferry_to_double", "Double"),
        real("ferry_to_decimal", "Decimal"),
        ScalarFunction(toExternalName, title: "storing in an external attribute", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            // 01 marks contents inside the row; only Core Data makes external files.
            case .blob(let bytes): result.set(blob: [[1], Array(bytes)].joined())
            default: throw .row("storing in an external attribute", "the value is \(arguments[0].kind)")
            }
        },
        ScalarFunction("ferry_to_float", title: "conversion to Float", arguments: 1) {
            arguments, result throws(FerryError) in
            guard let real = try number(arguments[0], "conversion to Float")?.real else { return }
            let float = Float(real)
            if float.isInfinite, real.isFinite { throw .row("conversion to Float", "the value is out of range") }
            result.set(Double(float))
        },
        // Seconds since 2001-01-01; text has no single format for dates.
        ofNumber("ferry_to_date", "conversion to Date") { $0 },
        ScalarFunction("ferry_to_boolean", title: "conversion to Boolean", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .integer(let integer): result.set(integer != 0)
            case .real(let real): result.set(real != 0)
            case .text(let bytes):
                switch String(decoding: bytes.prefix(6), as: UTF8.self).lowercased() {
                case "true", "yes", "1": result.set(true)
                case "false", "no", "0": result.set(false)
                default: throw .row("conversion to Boolean", "the text is neither true nor false")
                }
            case .blob: throw .row("conversion to Boolean", "the value is binary data")
            }
        },
        ScalarFunction("ferry_to_string", title: "conversion to String", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .text: result.set(argument: 0)
            case .integer(let integer): result.set(text: String(integer).utf8)
            case .real(let real): result.set(text: text(of: real).utf8)
            case .blob: throw .row("conversion to String", "the value is binary data")
            }
        },
        ScalarFunction("ferry_to_uuid", title: "conversion to UUID", arguments: 1) {
            arguments, result throws(FerryError) in
            guard let bytes = try arguments[0].text("conversion to UUID") else { return }
            guard let uuid = uuid(from: bytes) else {
                throw .row("conversion to UUID", "the text is not a UUID")
            }
            result.set(blob: uuid)
        },
        ScalarFunction("ferry_uuid_to_string", title: "conversion to String", arguments: 1) {
            arguments, result throws(FerryError) in
            switch arguments[0] {
            case .null: break
            case .blob(let bytes) where bytes.count == 16:
                result.setText { text in
                    for (index, byte) in bytes.enumerated() {
                        if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
                        appendHexadecimal(byte, to: &text)
                    }
                }
            default: throw .row("conversion to String", "the value is not a UUID")
            }
        },
    ]

    private static let hexadecimalDigits = Array("0123456789ABCDEF".utf8)

    static func appendHexadecimal(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(hexadecimalDigits[Int(byte >> 4)])
        text.append(hexadecimalDigits[Int(byte & 15)])
    }

    /// Returns the bytes of hexadecimal digits, two for each byte; nil for other characters or an odd count.
    static func bytes(hexadecimal digits: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            guard let value = hexadecimalValue(digit) else { return nil }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return high == nil ? bytes : nil
    }

    private static func integer(_ name: String, _ type: String, _ range: ClosedRange<Int64>) -> ScalarFunction {
        let title = "conversion to \(type)"
        return ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let number = try number(arguments[0], title) else { return }
            let integer: Int64
            switch number {
            case .integer(let value): integer = value
            case .real(let real):
                guard let value = Int64(exactly: real.rounded(.towardZero)) else {
                    throw .row(title, "the value is out of range")
                }
                integer = value
            }
            guard range.contains(integer) else { throw .row(title, "the value is out of range") }
            result.set(integer)
        }
    }

    private static func real(_ name: String, _ type: String) -> ScalarFunction {
        let title = "conversion to \(type)"
        return ScalarFunction(name, title: title, arguments: 1) { arguments, result throws(FerryError) in
            guard let number = try number(arguments[0], title) else { return }
            result.set(number.real)
        }
    }

    private static func number(_ value: FunctionValue, _ title: String) throws(FerryError) -> FunctionValue.Number? {
        guard case .text(let bytes) = value else { return try value.number(title) }
        let isPlain = bytes.allSatisfy {
            switch $0 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        }
        if isPlain {
            let text = String(decoding: bytes, as: UTF8.self)
            if let integer = Int64(text) { return .integer(integer) }
            if let real = Double(text), real.isFinite { return .real(real) }
        }
        throw .row(title, "the text is not a number")
    }

    /// Returns the shortest decimal text of the double, whole numbers without a fraction.
    private static func text(of real: Double) -> String {
        let text = real.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func uuid(from text: UnsafeRawBufferPointer) -> [UInt8]? {
        let dash = UInt8(ascii: "-")
        guard text.count == 36, [8, 13, 18, 23].allSatisfy({ text[$0] == dash }) else { return nil }
        let uuid = bytes(hexadecimal: text.lazy.filter { $0 != dash })
        return uuid?.count == 16 ? uuid : nil
    }
}

func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
