internal import FerryBase
internal import Foundation

extension DefaultValue {
    /// The default that an archived model holds as an object, in the form in which its type is stored.
    ///
    /// A transformable attribute's default is an object that only its transformer could store: it has no value here.
    init?(type: AttributeType, archived object: ArchivedObject) throws(FerryError) {
        switch type {
        case .integer16, .integer32, .integer64:
            let decimal = try object.decimal.flatMap { Int64(exactly: $0.rounded(.towardZero)) }
            guard let number = object.integer ?? decimal else { return nil }
            self = .integer(number)
        case .boolean:
            guard let flag = object.flag else { return nil }
            self = .integer(flag ? 1 : 0)
        case .decimal, .double:
            let decimal = try object.decimal
            guard let number = object.real ?? decimal else { return nil }
            self = .real(number)
        case .float:
            let decimal = try object.decimal
            guard let number = object.real ?? decimal else { return nil }
            self = .real(Double(Float(number)))
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
            guard let bytes = try object.object("NS.uuidbytes"), case .data(let uuid) = bytes.value, uuid.count == 16
            else { return nil }
            self = .blob(uuid)
        case .binary:
            guard let bytes = try object.data else { return nil }
            self = .blob(bytes)
        case .undefined, .transformable, .objectID, .composite: return nil
        }
    }
}

extension ArchivedObject {
    /// The number of an archived `NSDecimalNumber`, as near as a double comes.
    var decimal: Double? {
        get throws(FerryError) {
            guard let bytes = try object("NS.mantissa"), case .data(let mantissa) = bytes.value,
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
            // A decimal keeps 38 digits and exponents of one byte; by its text the nearest double is found.
            guard (-128...127).contains(exponent), let number = Double("\(digits)e\(exponent)") else { return nil }
            return try flag("NS.negative") ? -number : number
        }
    }
}
