internal import FerryBase

/// One checked JSON value: its text, with methods to read it.
struct JSONValue {
    let text: UnsafeRawBufferPointer
    let kind: JSONScanner.Kind

    /// - Parameter text: Exactly one value, as ``JSONScanner/value()`` returns it.
    init(_ text: UnsafeRawBufferPointer) {
        self.text = text
        var cursor = JSONScanner(text)
        do {
            kind = try cursor.kind()
        } catch {
            preconditionFailure("the value was checked before")
        }
    }

    /// Returns the value under a key of an object; of a repeated key the last value.
    func member(_ key: UnsafeRawBufferPointer) -> JSONValue? {
        guard kind == .object else { return nil }
        do {
            var scanner = JSONScanner(text)
            return try scanner.object(member: key)
                .map { JSONValue(UnsafeRawBufferPointer(rebasing: text[$0.offset..<$0.end])) }
        } catch {
            preconditionFailure("the value was checked before")
        }
    }

    /// Returns the value at the end of a path of keys; nil if a key is missing or a value on the path is not an object.
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
                // Never nil, because the number is checked.
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

/// The checked content of a JSON string, between its quotes.
struct JSONString {
    let raw: UnsafeRawBufferPointer

    init(_ raw: UnsafeRawBufferPointer) { self.raw = raw }

    var hasEscapes: Bool { raw.contains(UInt8(ascii: "\\")) }

    /// Appends the unescaped text.
    func unescape(into bytes: inout [UInt8]) {
        var index = 0
        while index < raw.count {
            let byte = raw[index]
            guard byte == UInt8(ascii: "\\"), index + 1 < raw.count else {
                bytes.append(byte)
                index += 1
                continue
            }
            switch raw[index + 1] {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                index += appendCharacter(at: index, to: &bytes)
                continue
            case let other: bytes.append(other)
            }
            index += 2
        }
    }

    /// Whether the unescaped text equals these bytes.
    func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // No escape is shorter than its character.
        if raw.count < bytes.count { return false }
        if raw.count == bytes.count { return !hasEscapes && raw.elementsEqual(bytes) }
        guard hasEscapes else { return false }
        var unescaped: [UInt8] = []
        unescape(into: &unescaped)
        return bytes.elementsEqual(unescaped)
    }

    /// Appends the character of a `\u` escape, or of a surrogate pair of two, and returns the length of the escapes.
    private func appendCharacter(at index: Int, to bytes: inout [UInt8]) -> Int {
        guard let unit = Self.codeUnit(in: raw, at: index) else { return 2 }
        var value = UInt32(unit)
        var length = 6
        if UTF16.isLeadSurrogate(unit), let trail = Self.codeUnit(in: raw, at: index + 6) {
            value = 0x10000 + ((value & 0x3FF) << 10 | UInt32(trail) & 0x3FF)
            length = 12
        }
        if let scalar = Unicode.Scalar(value) { bytes.append(contentsOf: UTF8.encode(scalar)!) }
        return length
    }

    /// Returns the code unit of the escape `\uXXXX` at `index`; nil if there is none.
    static func codeUnit(in text: UnsafeRawBufferPointer, at index: Int) -> UInt16? {
        guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for digit in text[(index + 2)..<(index + 6)] {
            guard let value = hexadecimalValue(digit) else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }
}

/// The elements of an array in a JSON text, one after another.
///
/// The scanner checks the whole document before the first element, so a wrong text yields no element. A text in memory
/// is read in place. Of a text that is read in pieces, a window and one element are in memory at a time.
package struct JSONArrayScanner {
    /// One element; its pointers are valid as long as a text in memory, or until the next element.
    package struct Element {
        /// The index in the array, from 0.
        package var index: Int64
        /// The element's JSON text, the input of `ferry_json_get`.
        package var json: UnsafeRawBufferPointer

        /// Reads the element's value: a scalar, or the text of an object or array.
        package func read(into result: inout FunctionResult) { JSONValue(json).read(into: &result) }

        /// Reads the value at the end of a path of keys, as `ferry_json_get` does.
        package func read(_ path: [[UInt8]], into result: inout FunctionResult) {
            guard let value = JSONValue(json).member(at: path) else { return result.setNull() }
            value.read(into: &result)
        }
    }

    private var cursor: JSONScanner
    private let window: JSONWindow?
    private var index: Int64 = 0
    /// Whether elements may follow.
    private var isInside: Bool

    /// Checks a document and finds the array under a key of its object; without a key, the document is the array.
    ///
    /// Empty text, `null`, a missing key and a `null` value give no elements. Of a repeated key the last value counts.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if the text is not JSON or the value is not an array.
    package init(_ text: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) throws {
        try self.init(JSONScanner(text), nil, key)
    }

    /// Does the same for a text that is read in pieces, of `step` bytes each.
    ///
    /// - Throws: As for a text in memory, and what the text throws.
    package init(_ text: any JSONText, key: UnsafeRawBufferPointer, step: Int = 1 << 15) throws {
        let window = JSONWindow(text, step: step)
        try self.init(JSONScanner(window), window, key)
    }

    private init(_ start: JSONScanner, _ window: JSONWindow?, _ key: UnsafeRawBufferPointer) throws {
        (cursor, self.window) = (start, window)
        do {
            isInside = try Self.enterArray(&cursor, key: key)
        } catch {
            throw window?.failure ?? error
        }
        // A text whose first bytes cannot be read seems to be empty.
        if let failure = window?.failure { throw failure }
    }

    /// The bytes of the longest element of the array under a key, which a scan holds in memory; 0 without elements.
    ///
    /// - Throws: As the initializer.
    package static func longestElement(
        of text: any JSONText, key: UnsafeRawBufferPointer, step: Int = 1 << 15
    ) throws -> Int {
        var scanner = try JSONArrayScanner(text, key: key, step: step)
        var longest = 0
        do {
            while scanner.isInside, !scanner.cursor.pass(UInt8(ascii: "]")) {
                _ = scanner.cursor.pass(UInt8(ascii: ","))
                let begin = try scanner.cursor.place().offset
                try scanner.cursor.skipValue()
                longest = max(longest, scanner.cursor.offset - begin)
            }
        } catch {
            throw scanner.window?.failure ?? FerryError.json(error, at: scanner.cursor.offset)
        }
        return longest
    }

    /// Checks the document, and goes on behind the opening bracket of the array; false without an array.
    private static func enterArray(
        _ cursor: inout JSONScanner, key: UnsafeRawBufferPointer
    ) throws(FerryError) -> Bool {
        var found: JSONScanner.Place?
        var isInPlace = true
        do throws(JSONScanner.Problem) {
            cursor.skipSpace()
            if cursor.isAtEnd { return false }
            let document = try cursor.place()
            if !key.isEmpty, document.kind == .object {
                found = try cursor.object(member: key)
            } else {
                found = document
                isInPlace = key.isEmpty
                try cursor.skipValue()
            }
            cursor.skipSpace()
            guard cursor.isAtEnd else { throw .invalid }
        } catch {
            throw .json(error, at: cursor.offset)
        }
        guard let found, found.kind != .null else { return false }
        guard found.kind == .array, isInPlace else {
            throw .row(
                "JSON", key.isEmpty ? "the document is not an array" : "the value is not an array")
        }
        cursor.move(to: found.offset + 1)
        return true
    }

    /// - Throws: What a text that is read in pieces throws.
    package mutating func next() throws -> Element? {
        guard isInside else { return nil }
        let isEnd = cursor.pass(UInt8(ascii: "]"))
        if let failure = window?.failure { throw failure }
        if isEnd {
            isInside = false
            return nil
        }
        if index > 0 { _ = cursor.pass(UInt8(ascii: ",")) }
        do {
            defer { index += 1 }
            return Element(index: index, json: try cursor.value())
        } catch {
            // The whole document was checked before: only what is read a second time can differ.
            throw window?.failure ?? FerryError.json(error, at: cursor.offset)
        }
    }
}

extension FerryError {
    static func json(_ problem: JSONScanner.Problem, at position: Int) -> FerryError {
        switch problem {
        case .invalid: .row("JSON", "the text is not valid JSON (at byte \(position))")
        case .tooDeep: .row("JSON", "the document is nested more than \(JSONScanner.depthLimit) deep")
        }
    }
}
