internal import FerryBase

/// A text in memory, or a long one of which a window is in memory.
package final class PlainText {
    let count: Int
    private let read: (Range<Int>) throws -> [UInt8]
    private var window: [UInt8]
    private var start = 0
    /// The error of a read; the text then seems to end.
    private(set) var failure: (any Error)?

    private let pieceBytes: Int

    init(_ bytes: [UInt8]) {
        count = bytes.count
        pieceBytes = 1 << 16
        window = bytes
        read = { _ in [] }
    }

    /// `read` returns the bytes of a range; a piece is longer than any character.
    package init(count: Int, pieceBytes: Int = 1 << 16, read: @escaping (Range<Int>) throws -> [UInt8]) {
        (self.count, self.pieceBytes, self.read) = (count, pieceBytes, read)
        window = []
    }

    /// The bytes in memory around an offset, and the offset of the first of them; nil behind the end.
    func piece(at offset: Int) -> (bytes: [UInt8], start: Int)? {
        guard offset < count, failure == nil else { return nil }
        if offset < start || offset >= start + window.count {
            do {
                window = try read(offset..<min(offset + pieceBytes, count))
                start = offset
            } catch {
                failure = error
                return nil
            }
        }
        return offset < start + window.count ? (window, start) : nil
    }

    func byte(at offset: Int) -> UInt8? { piece(at: offset).map { $0.bytes[offset - $0.start] } }

    func slice(_ range: Range<Int>) throws -> ArraySlice<UInt8> {
        if range.lowerBound >= start, range.upperBound <= start + window.count {
            return window[(range.lowerBound - start)..<(range.upperBound - start)]
        }
        return try read(range)[...]
    }

    /// Whether there is nothing but white space.
    func isBlank() throws -> Bool {
        var offset = 0
        while let byte = byte(at: offset), [0x20, 0x09, 0x0a, 0x0d].contains(byte) { offset += 1 }
        if let failure { throw failure }
        return offset == count
    }

    /// - Throws: ``PlainJSON/Invalid`` if the text is not UTF-8; what reads throw.
    func checkEncoding() throws {
        var offset = 0
        while offset < count {
            var piece = try slice(offset..<min(offset + pieceBytes, count))
            if offset + piece.count < count { piece = piece[..<piece.endOfWholeCharacters] }
            guard !piece.isEmpty, piece.withUnsafeBytes({ String(utf8: $0) }) != nil else {
                throw PlainJSON.Invalid(offset: 0)
            }
            offset += piece.count
        }
    }

    // MARK: Parts

    /// Calls the body with each part of a text between separators, which are compared byte by byte.
    ///
    /// Foundation's own methods hold a long text several times in UTF-16.
    static func eachPart(
        of text: [UInt8], between separator: [UInt8], _ body: (ArraySlice<UInt8>) throws -> Void
    ) rethrows {
        var (start, place) = (0, 0)
        while place < text.count {
            if text[place] == separator.first, text[place...].starts(with: separator) {
                try body(text[start..<place])
                place += separator.count
                start = place
            } else {
                place += 1
            }
        }
        try body(text[start...])
    }
}
