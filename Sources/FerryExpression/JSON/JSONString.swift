/// The content of a JSON string, between its quotes and already checked.
struct JSONString {
    let raw: UnsafeRawBufferPointer

    init(_ raw: UnsafeRawBufferPointer) { self.raw = raw }

    var hasEscapes: Bool { raw.contains(UInt8(ascii: "\\")) }

    /// Appends the text that the string stands for.
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

    /// Whether the string stands for exactly these bytes.
    func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // No escape is shorter than what it stands for.
        if raw.count < bytes.count { return false }
        if raw.count == bytes.count { return !hasEscapes && raw.elementsEqual(bytes) }
        guard hasEscapes else { return false }
        var unescaped: [UInt8] = []
        unescape(into: &unescaped)
        return bytes.elementsEqual(unescaped)
    }

    /// Appends the character of a `\u` escape, or of two that form a surrogate pair.
    ///
    /// - Returns: The bytes that it took.
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

    /// The code unit of the escape `\uXXXX` that begins at `index`, if one does.
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
