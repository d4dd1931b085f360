// Not `String(validating:as:)` of the standard library: that needs the systems of 2024 on Apple's platforms.
//
// A decoder puts U+FFFD where bytes are none of its encoding. The text has other bytes then than it was made of, and
// with sound ones the very same.
extension String {
    /// The text of bytes of UTF-8; nil where they are something else.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count == bytes.count, text.utf8.elementsEqual(bytes) else { return nil }
        self = text
    }

    /// The text of bytes of UTF-8; nil where they are something else.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        var text = String(decoding: bytes, as: UTF8.self)
        let isSame = text.withUTF8 { own in
            own.count == bytes.count && UnsafeRawBufferPointer(own).elementsEqual(bytes)
        }
        guard isSame else { return nil }
        self = text
    }

    /// The text of bytes of UTF-8; nil where they are something else.
    package init?(utf8 bytes: [UInt8]) {
        let text = bytes.withUnsafeBytes { String(utf8: $0) }
        guard let text else { return nil }
        self = text
    }

    /// The text of units of UTF-16; nil where they are something else.
    package init?(utf16 units: some Collection<UInt16>) {
        let text = String(decoding: units, as: UTF16.self)
        guard text.utf16.elementsEqual(units) else { return nil }
        self = text
    }
}
