internal import FerryBase
internal import Foundation

/// Reads a property list of XML, element by element, without recursion.
enum PlistXML {
    /// What is open: its elements or members so far.
    private struct Open {
        var isDictionary: Bool
        var elements: [PlistValue] = []
        var members: [(key: String, value: PlistValue)] = []
        var key: String?
    }

    static func read(_ bytes: [UInt8]) throws(FerryError) -> PlistValue {
        var isGiven = false
        // One more for the element `plist` around all.
        var tokens = XMLTokenizer(depthLimit: PlistValue.depthLimit + 1, failure: { reason, _ in damaged(reason) }) {
            () throws(FerryError) in
            defer { isGiven = true }
            return isGiven ? [] : bytes
        }
        var stack: [Open] = []
        var text = ""
        var root: PlistValue?
        var room = PlistValue.countLimit
        while let token = try tokens.next() {
            switch token {
            case .start(let name, _):
                text = ""
                if name == "array" || name == "dict" { stack.append(Open(isDictionary: name == "dict")) }
            case .text(let piece): text += piece
            case .end("plist"): break
            case .end("key"):
                guard let last = stack.indices.last, stack[last].isDictionary, stack[last].key == nil else {
                    throw damaged("a key has no dictionary")
                }
                stack[last].key = text
                text = ""
            case .end(let name):
                let value: PlistValue
                if name == "array" || name == "dict" {
                    guard let open = stack.popLast(), open.key == nil else { throw damaged("a key has no value") }
                    value = open.isDictionary ? .dictionary(open.members) : .array(open.elements)
                } else {
                    value = try scalar(name, text)
                }
                text = ""
                room -= 1
                guard room >= 0 else { throw PlistValue.tooMuch }
                guard let last = stack.indices.last else {
                    guard root == nil else { throw damaged("it has two values") }
                    root = value
                    continue
                }
                if stack[last].isDictionary {
                    guard let key = stack[last].key else { throw damaged("a value has no key") }
                    stack[last].members.append((key, value))
                    stack[last].key = nil
                } else {
                    stack[last].elements.append(value)
                }
            }
        }
        guard let root else { throw damaged("it has no value") }
        return root
    }

    private static func scalar(_ name: String, _ text: String) throws(FerryError) -> PlistValue {
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        switch name {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "string": return .text(text)
        case "integer":
            guard let integer = Int64(word) else { throw damaged("a whole number is none") }
            return .integer(integer)
        case "real":
            guard let real = Double(word) else { throw damaged("a number is none") }
            return .real(real)
        case "data":
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
                throw damaged("data is no Base64")
            }
            return .data(Array(data))
        case "date":
            guard let seconds = ISODate.seconds(word) else { throw damaged("a date is none") }
            return .real(seconds)
        default: throw damaged("it has an element of another kind")
        }
    }

    private static func damaged(_ reason: String) -> FerryError {
        FerryError(.badArchive, "A property list cannot be read: \(reason).")
    }
}
