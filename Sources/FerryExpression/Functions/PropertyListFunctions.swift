internal import FerryBase
internal import FerryModel
internal import Foundation

/// `plist:` and `plist:key:`: values of property lists, binary, XML or archived, in data or text.
extension ScalarFunction {
    static let propertyLists: [ScalarFunction] = [
        // A property list and the keys of a path into it; a missing key and an empty value give nil.
        ScalarFunction("ferry_plist_value", title: "plist:", arguments: -1) { arguments, result throws(FerryError) in
            guard let bytes = try arguments.first?.content("plist:", "data or text"), !bytes.isEmpty else { return }
            var value: PlistValue
            do {
                value = try PlistValue(Array(bytes))
            } catch {
                throw .row("plist:", "the data is not a readable property list")
            }
            for argument in arguments.dropFirst() {
                guard let key = try argument.string("plist:"), let member = value.member(key) else { return }
                value = member
            }
            value.read(into: &result)
        }
    ]
}

extension PlistValue {
    /// Reads a scalar as its value (data as Base64, dates in seconds since 2001), a container as JSON text.
    func read(into result: inout FunctionResult) {
        switch self {
        case .plain(.bool(let flag)): result.set(flag)
        case .plain(.integer(let integer)): result.set(integer)
        case .plain(.real(let real)), .plain(.date(let real)): result.set(real)
        case .plain(.string(let text)): result.set(text: text.utf8)
        case .plain(.data(let bytes)): result.set(text: Data(bytes).base64EncodedString().utf8)
        case .plain: result.setNull()
        case .array, .dictionary: result.setText { json(into: &$0) }
        }
    }

    private func json(into text: inout [UInt8]) {
        switch self {
        case .plain(.bool(let flag)): text += (flag ? "true" : "false").utf8
        case .plain(.integer(let integer)): text += String(integer).utf8
        // JSON has no notation for numbers that are not finite.
        case .plain(.real(let real)), .plain(.date(let real)): text += (real.isFinite ? real.description : "null").utf8
        case .plain(.string(let string)): Self.quote(string, into: &text)
        case .plain(.data(let bytes)): Self.quote(Data(bytes).base64EncodedString(), into: &text)
        case .plain: text += "null".utf8
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.json(into: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .dictionary(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.quote(member.key, into: &text)
                text.append(UInt8(ascii: ":"))
                member.value.json(into: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ string: String, into text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                text += "\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
