internal import FerryBase

/// Checks one JSON document and finds the places that it is asked for; open containers are on a stack of its own, so that
/// depth costs no call stack.
struct PlainJSONParser {
    private struct Open {
        let start: Int
        let isObject: Bool
    }

    private static let depthLimit = 1_000

    private let text: PlainText
    private var open: [Open] = []
    private var offset = 0
    /// The text's bytes in memory, and the offset of the first of them: the parser reads most bytes one by one.
    private var piece: (bytes: [UInt8], start: Int) = ([], 0)

    init(_ text: PlainText) { self.text = text }

    /// Reads a document; `member` gets the names and places of its members.
    mutating func document(
        _ member: (([UInt8], Range<Int>) -> Void)?
    ) throws(PlainJSON.Invalid) -> Range<Int> {
        // The name of the outermost object's member whose value comes next, if it is asked for.
        var name: [UInt8]?
        while true {
            skipBlanks()
            var start = offset
            // Descends to the next scalar or empty container.
            if let opened = try scalarOrContainer() {
                if opened.isObject { try takeName(into: &name, isKept: member != nil) }
                continue
            }
            // Ascends through every container that ends with the value.
            while let innermost = open.last {
                if innermost.isObject, open.count == 1, let member, let name { member(name, start..<offset) }
                skipBlanks()
                if next == UInt8(ascii: ",") {
                    offset += 1
                    if innermost.isObject { try takeName(into: &name, isKept: member != nil) }
                    break
                }
                try take(innermost.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                open.removeLast()
                start = innermost.start
            }
            if open.isEmpty {
                let value = start..<offset
                skipBlanks()
                guard offset == text.count else { throw PlainJSON.Invalid(offset: offset) }
                return value
            }
        }
    }

    /// Reads a scalar or an empty container; returns a container that has content, which is then open.
    private mutating func scalarOrContainer() throws(PlainJSON.Invalid) -> Open? {
        switch next {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let isObject = next == UInt8(ascii: "{")
            let container = Open(start: offset, isObject: isObject)
            offset += 1
            skipBlanks()
            if next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                offset += 1
                return nil
            }
            guard open.count < Self.depthLimit else { throw PlainJSON.Invalid(offset: offset) }
            open.append(container)
            return container
        case UInt8(ascii: "\""): _ = try string(isKept: false)
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
        return nil
    }

    // MARK: Bytes

    private var next: UInt8? {
        @inline(__always)
        mutating get {
            let place = offset - piece.start
            return place < piece.bytes.count ? piece.bytes[place] : nextOfLaterPiece()
        }
    }

    private mutating func nextOfLaterPiece() -> UInt8? {
        guard let next = text.piece(at: offset) else { return nil }
        piece = next
        return piece.bytes[offset - piece.start]
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { offset += 1 }
    }

    private mutating func take(_ byte: UInt8) throws(PlainJSON.Invalid) {
        guard next == byte else { throw PlainJSON.Invalid(offset: offset) }
        offset += 1
    }

    private mutating func word(_ word: StaticString) throws(PlainJSON.Invalid) {
        for place in 0..<word.utf8CodeUnitCount { try take(word.utf8Start[place]) }
    }

    /// Reads a member's name, and keeps that of the outermost object.
    private mutating func takeName(into name: inout [UInt8]?, isKept: Bool) throws(PlainJSON.Invalid) {
        skipBlanks()
        let isKept = isKept && open.count == 1
        let text = try string(isKept: isKept)
        if isKept { name = text }
        skipBlanks()
        try take(UInt8(ascii: ":"))
    }

    // MARK: Strings

    /// The decoded content of a checked string.
    static func decoded(_ string: ArraySlice<UInt8>) -> [UInt8] {
        var parser = PlainJSONParser(PlainText(Array(string)))
        do { return try parser.string(isKept: true) } catch { preconditionFailure("the string was checked") }
    }

    private mutating func string(isKept: Bool) throws(PlainJSON.Invalid) -> [UInt8] {
        try take(UInt8(ascii: "\""))
        var result: [UInt8] = []
        while true {
            let run = unescaped()
            if isKept { result += run }
            offset += run.count
            switch next {
            case UInt8(ascii: "\""):
                offset += 1
                return result
            case UInt8(ascii: "\\"):
                offset += 1
                try escape(into: &result)
                if !isKept { result.removeAll(keepingCapacity: true) }
            // The text goes on in its next piece.
            case let byte? where byte >= 0x20: continue
            default: throw PlainJSON.Invalid(offset: offset)
            }
        }
    }

    /// The bytes in memory up to the next quote, backslash or control character.
    private func unescaped() -> ArraySlice<UInt8> {
        let place = min(offset - piece.start, piece.bytes.count)
        let end = piece.bytes.withUnsafeBufferPointer { bytes in
            var end = place
            while end < bytes.count, bytes[end] >= 0x20, bytes[end] != 0x22, bytes[end] != 0x5c { end += 1 }
            return end
        }
        return piece.bytes[place..<end]
    }

    private mutating func escape(into result: inout [UInt8]) throws(PlainJSON.Invalid) {
        guard let letter = next else { throw PlainJSON.Invalid(offset: offset) }
        offset += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(letter)
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0c)
        case UInt8(ascii: "n"): result.append(0x0a)
        case UInt8(ascii: "r"): result.append(0x0d)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"): try unicodeEscape(into: &result)
        default: throw PlainJSON.Invalid(offset: offset - 1)
        }
    }

    private mutating func unicodeEscape(into result: inout [UInt8]) throws(PlainJSON.Invalid) {
        var code = try codeUnit()
        if 0xD800..<0xDC00 ~= code {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            let low = try codeUnit()
            guard 0xDC00..<0xE000 ~= low else { throw PlainJSON.Invalid(offset: offset) }
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        }
        // A lone surrogate is not a character.
        guard let bytes = UnicodeScalar(code).flatMap(UTF8.encode) else { throw PlainJSON.Invalid(offset: offset) }
        result += bytes
    }

    private mutating func codeUnit() throws(PlainJSON.Invalid) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch next {
            case let byte? where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: digit = byte - UInt8(ascii: "0")
            // A letter of either case.
            case let byte? where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20:
                digit = (byte | 0x20) - UInt8(ascii: "a") + 10
            default: throw PlainJSON.Invalid(offset: offset)
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }

    // MARK: Numbers

    private mutating func number() throws(PlainJSON.Invalid) {
        let start = offset
        var isScaled = false
        if next == UInt8(ascii: "-") { offset += 1 }
        let isZero = next == UInt8(ascii: "0")
        let digits = takeDigits()
        guard digits == 1 || (digits > 1 && !isZero) else {
            throw PlainJSON.Invalid(offset: offset)
        }
        if next == UInt8(ascii: ".") {
            offset += 1
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            offset += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
            guard takeDigits() > 0 else { throw PlainJSON.Invalid(offset: offset) }
            isScaled = true
        }
        if isScaled || digits > 308 {
            var isFinite = false
            // A failed read is an error of the text, which the caller looks for.
            do {
                isFinite = Double(String(decoding: try text.slice(start..<offset), as: UTF8.self))?.isFinite == true
            } catch {}
            guard isFinite else { throw PlainJSON.Invalid(offset: offset) }
        }
    }

    private mutating func takeDigits() -> Int {
        let start = offset
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
        return offset - start
    }
}
