internal import FerryBase

/// Checks one JSON document and finds the places of its values; open containers are on a stack of its own, so that depth
/// costs no call stack.
struct PlainJSONParser {
    enum Kind: UInt8 { case null, boolean, number, string, array, object }

    /// A value, or the name of a member; a container's content follows it.
    struct Node {
        let kind: Kind
        /// Whether a string has escapes.
        var isEscaped = false
        /// The bytes of the value, those of a string without its quotes.
        var start: UInt32
        var end: UInt32 = 0
        /// The node behind the value and its content.
        var next: UInt32 = 0
    }

    private struct Open {
        let start: Int
        let isObject: Bool
        let node: Int
    }

    private static let depthLimit = 1_000

    private let text: PlainText
    /// Whether to keep the places of all values; else the parser only finds errors, and the places that it is asked for.
    private let keepsNodes: Bool
    private(set) var nodes: [Node] = []
    private var open: [Open] = []
    private var offset: Int
    /// The offset from which nodes count: a kept part has its own bytes.
    private var base = 0
    /// The text's bytes in memory, and the offset of the first of them: the parser reads most bytes one by one.
    private var piece: (bytes: [UInt8], start: Int) = ([], 0)

    init(_ text: PlainText, keepsNodes: Bool, at offset: Int = 0) {
        (self.text, self.keepsNodes, self.offset) = (text, keepsNodes, offset)
    }

    /// Reads a document; `member` gets the names and places of its members, unless nodes are kept.
    mutating func document(
        _ member: (ArraySlice<UInt8>, Range<Int>) -> Void = { _, _ in }
    ) throws(PlainJSON.Invalid) -> Range<Int> {
        let value = try value(member)
        skipBlanks()
        guard offset == text.count else { throw PlainJSON.Invalid(offset: offset) }
        return value
    }

    /// The place of the next element of an array, whose nodes are kept alone; nil at its end.
    ///
    /// - Throws: What the text throws.
    mutating func nextElement() throws -> Range<Int>? {
        skipBlanks()
        if next == UInt8(ascii: ",") { offset += 1 }
        skipBlanks()
        let isEnd = next == UInt8(ascii: "]")
        (base, nodes) = (offset, [])
        let element = Result { try isEnd ? nil : value { _, _ in } }
        if let failure = text.failure { throw failure }
        return try element.get()
    }

    private mutating func value(
        _ member: (ArraySlice<UInt8>, Range<Int>) -> Void
    ) throws(PlainJSON.Invalid) -> Range<Int> {
        // The name of the outermost object's member whose value comes next.
        var name: ArraySlice<UInt8> = []
        while true {
            skipBlanks()
            var start = offset
            // Descends to the next scalar or empty container.
            if let opened = try scalarOrContainer() {
                if opened.isObject { try takeName(into: &name) }
                continue
            }
            // Ascends through every container that ends with the value.
            while let innermost = open.last {
                if innermost.isObject, open.count == 1, !keepsNodes { member(name, start..<offset) }
                skipBlanks()
                if next == UInt8(ascii: ",") {
                    offset += 1
                    if innermost.isObject { try takeName(into: &name) }
                    break
                }
                try take(innermost.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                open.removeLast()
                close(innermost.node)
                start = innermost.start
            }
            if open.isEmpty { return start..<offset }
        }
    }

    /// Reads a scalar or an empty container; returns a container that has content, which is then open.
    private mutating func scalarOrContainer() throws(PlainJSON.Invalid) -> Open? {
        switch next {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let isObject = next == UInt8(ascii: "{")
            let container = Open(start: offset, isObject: isObject, node: nodes.count)
            begin(isObject ? .object : .array)
            offset += 1
            skipBlanks()
            if next == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                offset += 1
                close(container.node)
                return nil
            }
            guard open.count < Self.depthLimit else { throw PlainJSON.Invalid(offset: offset) }
            open.append(container)
            return container
        case UInt8(ascii: "\""): _ = try string(isKept: false)
        case UInt8(ascii: "t"): try word("true", .boolean)
        case UInt8(ascii: "f"): try word("false", .boolean)
        case UInt8(ascii: "n"): try word("null", .null)
        default: try number()
        }
        return nil
    }

    // MARK: Nodes

    private mutating func begin(_ kind: Kind) {
        if keepsNodes { nodes.append(Node(kind: kind, start: UInt32(offset - base))) }
    }

    /// Ends a value at the offset.
    private mutating func close(_ node: Int) {
        guard keepsNodes else { return }
        nodes[node].end = UInt32(offset - base)
        nodes[node].next = UInt32(nodes.count)
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

    private mutating func word(_ word: StaticString, _ kind: Kind) throws(PlainJSON.Invalid) {
        let node = nodes.count
        begin(kind)
        for place in 0..<word.utf8CodeUnitCount { try take(word.utf8Start[place]) }
        close(node)
    }

    /// Reads a member's name, and returns it for the outermost object, unless nodes are kept.
    private mutating func takeName(into name: inout ArraySlice<UInt8>) throws(PlainJSON.Invalid) {
        let isKept = open.count == 1 && !keepsNodes
        skipBlanks()
        let text = try string(isKept: isKept)
        if isKept { name = text }
        skipBlanks()
        try take(UInt8(ascii: ":"))
    }

    // MARK: Strings

    /// The decoded content of a checked string.
    static func decoded(_ bytes: [UInt8], at start: Int) -> ArraySlice<UInt8> {
        var parser = PlainJSONParser(PlainText(bytes), keepsNodes: false, at: start - 1)
        do { return try parser.string(isKept: true) } catch { preconditionFailure("the string was checked") }
    }

    private mutating func string(isKept: Bool) throws(PlainJSON.Invalid) -> ArraySlice<UInt8> {
        try take(UInt8(ascii: "\""))
        let node = nodes.count
        begin(.string)
        let run = unescaped()
        if run.endIndex < piece.bytes.count, piece.bytes[run.endIndex] == UInt8(ascii: "\"") {
            offset += run.count
            close(node)
            offset += 1
            return isKept ? run : []
        }
        var result: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw PlainJSON.Invalid(offset: offset) }
            guard byte == UInt8(ascii: "\\") else {
                takeUnescaped(into: &result, isKept: isKept)
                continue
            }
            if keepsNodes { nodes[node].isEscaped = true }
            offset += 1
            try escape(into: &result)
            if !isKept { result.removeAll(keepingCapacity: true) }
        }
        close(node)
        try take(UInt8(ascii: "\""))
        return result[...]
    }

    private mutating func takeUnescaped(into result: inout [UInt8], isKept: Bool) {
        let run = unescaped()
        if isKept { result += run }
        offset += run.count
    }

    /// The bytes in memory up to the next quote, backslash or control character.
    private func unescaped() -> ArraySlice<UInt8> {
        let place = min(offset - piece.start, piece.bytes.count)
        return piece.bytes[place..<PlainText.end(ofUnescaped: piece.bytes, from: place)]
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
        var units = [try codeUnit()]
        if UTF16.isLeadSurrogate(units[0]) {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            units.append(try codeUnit())
        }
        // A lone surrogate is not a character.
        guard let text = String(utf16: units) else { throw PlainJSON.Invalid(offset: offset) }
        result += Array(text.utf8)
    }

    private mutating func codeUnit() throws(PlainJSON.Invalid) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, byte < 0x80, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw PlainJSON.Invalid(offset: offset)
            }
            unit = unit << 4 | UInt16(digit)
            offset += 1
        }
        return unit
    }

    // MARK: Numbers

    private mutating func number() throws(PlainJSON.Invalid) {
        let (node, start) = (nodes.count, offset)
        var isScaled = false
        begin(.number)
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
                isFinite = Double(String(decoding: try text.bytes(start..<offset), as: UTF8.self))?.isFinite == true
            } catch {}
            guard isFinite else { throw PlainJSON.Invalid(offset: offset) }
        }
        close(node)
    }

    private mutating func takeDigits() -> Int {
        let start = offset
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
        return offset - start
    }
}
