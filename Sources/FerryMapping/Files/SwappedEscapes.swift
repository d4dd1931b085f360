extension String {
    /// The text with the escapes of Core Data's XML store decoded.
    ///
    /// The store writes some UTF-16 code units as `\uXXYY` with their two bytes swapped: `<`, U+003C, is `\u3c00`.
    var decodingSwappedEscapes: String {
        guard contains("\\u") else { return self }
        var units: [UInt16] = []
        var rest = Array(utf16)[...]
        while let unit = rest.first {
            if let escaped = Self.swappedUnit(rest.prefix(6)) {
                units.append(escaped)
                rest = rest.dropFirst(6)
            } else {
                units.append(unit)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    private static func swappedUnit(_ units: ArraySlice<UInt16>) -> UInt16? {
        guard units.count == 6, units.starts(with: "\\u".utf16) else { return nil }
        let digits = units.dropFirst(2).compactMap { unit -> Character? in
            guard let scalar = UnicodeScalar(unit), scalar.properties.isASCIIHexDigit else { return nil }
            return Character(scalar)
        }
        guard digits.count == 4 else { return nil }
        return UInt16(String(digits), radix: 16)?.byteSwapped
    }
}
