/// One JSON value that was checked before: its text, and how to read it.
struct JSONValue {
    let text: UnsafeRawBufferPointer
    let kind: JSONCursor.Kind

    /// - Parameter text: Exactly one value, as ``JSONCursor/value()`` gives it.
    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
        var cursor = JSONCursor(text)
        do {
            kind = try cursor.kind()
        } catch {
            preconditionFailure("the value was checked before")
        }
    }

    /// The value under a key of an object; the last one where the key occurs twice.
    func member(_ key: UnsafeRawBufferPointer) -> JSONValue? {
        guard kind == .object else { return nil }
        var cursor = JSONCursor(text)
        var found: UnsafeRawBufferPointer?
        guard cursor.pass(UInt8(ascii: "{")) else { return nil }
        while !cursor.pass(UInt8(ascii: "}")) {
            _ = cursor.pass(UInt8(ascii: ","))
            cursor.skipSpace()
            let name = JSONString(cursor.checkedString())
            _ = cursor.pass(UInt8(ascii: ":"))
            let value = cursor.checkedValue()
            if name.equals(key) { found = value }
        }
        return found.map(JSONValue.init)
    }

    /// The value at the end of a path of keys; nil where a key is missing or its place is no object.
    func member(at path: [[UInt8]]) -> JSONValue? {
        var value = self
        for key in path {
            guard let member = key.withUnsafeBytes({ value.member($0) }) else { return nil }
            value = member
        }
        return value
    }

    /// Reads a scalar as its value, an object or array as its text.
    func read(into result: inout FunctionResult) {
        switch kind {
        case .null: result.setNull()
        case .true: result.set(true)
        case .false: result.set(false)
        case .object, .array: result.set(borrowedText: text)
        case .number:
            let number = String(decoding: text, as: UTF8.self)
            if let integer = Int64(number) {
                result.set(integer)
            } else {
                // A number's syntax was checked, so this is never nil; one beyond all doubles is infinite.
                result.set(Double(number) ?? .nan)
            }
        case .string:
            let string = JSONString(UnsafeRawBufferPointer(rebasing: text.dropFirst().dropLast()))
            if string.hasEscapes {
                result.setText { string.unescape(into: &$0) }
            } else {
                result.set(borrowedText: string.raw)
            }
        }
    }
}
