/// Reads JSON text byte by byte, in place: without a tree, recursion or allocation.
///
/// A text in memory is one piece. Of a text in a ``JSONWindow`` only a piece is in memory, which moves along; places in
/// it are valid until the next call.
struct JSONScanner {
    static let depthLimit = 1_000

    /// The error in a text; its place is the scanner's position.
    enum Problem: Error { case invalid, tooDeep }

    enum Kind { case object, array, string, number, `true`, `false`, null }

    /// The piece in memory.
    private(set) var text: UnsafeRawBufferPointer
    /// The place in the piece.
    private(set) var position: Int
    private let window: JSONWindow?
    /// The first byte in the piece that must stay in memory.
    private var kept: Int?

    init(_ text: UnsafeRawBufferPointer, at position: Int = 0) {
        self.text = text
        self.position = position
        window = nil
    }

    init(_ window: JSONWindow) {
        self.window = window
        text = window.text
        position = 0
    }

    /// Goes to a place in the whole text.
    mutating func move(to offset: Int) {
        guard let window else { return position = offset }
        window.move(to: offset)
        text = window.text
        position = 0
    }

    /// The place in the whole text.
    var offset: Int { (window?.start ?? 0) + position }

    /// Whether the text ends at the position, after ``skipSpace()``.
    var isAtEnd: Bool { position >= text.count }

    var next: UInt8? { isAtEnd ? nil : text[position] }

    /// Whether so many bytes follow; brings them into memory.
    private mutating func has(_ count: Int = 1) -> Bool { position + count <= text.count || read(count) }

    @inline(never)
    private mutating func read(_ count: Int) -> Bool {
        guard let window else { return false }
        while position + count > text.count {
            let start = window.start
            let isMore = window.advance(keeping: min(kept ?? position, text.count))
            let moved = window.start - start
            position -= moved
            kept = kept.map { $0 - moved }
            text = window.text
            guard isMore else { return false }
        }
        return true
    }

    mutating func skipSpace() {
        while has() {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Skips white space, and the byte if it follows.
    mutating func pass(_ byte: UInt8) -> Bool {
        skipSpace()
        guard !isAtEnd, text[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space and returns the kind of the value that follows.
    mutating func kind() throws(Problem) -> Kind {
        skipSpace()
        guard !isAtEnd else { throw .invalid }
        switch text[position] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"): return .true
        case UInt8(ascii: "f"): return .false
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw .invalid
        }
    }

    /// Skips and checks one value, and returns its bytes.
    mutating func value() throws(Problem) -> UnsafeRawBufferPointer {
        skipSpace()
        return try bytes { scanner throws(Problem) in try scanner.skipValue() }
    }

    /// Returns the bytes that a body skips, which stay in memory meanwhile.
    private mutating func bytes(
        _ skip: (inout JSONScanner) throws(Problem) -> Void
    ) throws(Problem) -> UnsafeRawBufferPointer {
        let (start, isOutermost) = (offset, kept == nil)
        if isOutermost { kept = position }
        defer { if isOutermost { kept = nil } }
        try skip(&self)
        return UnsafeRawBufferPointer(rebasing: text[(position - (offset - start))..<position])
    }

    /// Skips and checks one value, inside `outer` containers.
    mutating func skipValue(within outer: Int = 0) throws(Problem) {
        var nesting = Nesting(limit: Self.depthLimit - outer)
        repeat {
            try startOfValue(&nesting)
            // The end of a value may also be the end of its containers.
            ends: while let isObject = nesting.innermostIsObject {
                if pass(UInt8(ascii: ",")) {
                    if isObject { try key() }
                    break ends
                }
                guard pass(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw .invalid }
                nesting.leave()
            }
        } while nesting.depth > 0
    }

    /// The place of a value in the whole text.
    struct Place {
        var offset: Int
        var kind: Kind
        /// The place behind the value, once it was skipped.
        var end = 0
    }

    /// Skips white space and returns the place of the value that follows.
    mutating func place() throws(Problem) -> Place {
        let kind = try kind()
        return Place(offset: offset, kind: kind)
    }

    /// Skips and checks one object, and returns the place of the value under a key; of a repeated key the last one.
    mutating func object(member key: UnsafeRawBufferPointer) throws(Problem) -> Place? {
        guard pass(UInt8(ascii: "{")) else { throw .invalid }
        if pass(UInt8(ascii: "}")) { return nil }
        var found: Place?
        repeat {
            skipSpace()
            let isWanted = JSONString(try string()).equals(key)
            guard pass(UInt8(ascii: ":")) else { throw .invalid }
            var value = try place()
            try skipValue(within: 1)
            value.end = offset
            if isWanted { found = value }
        } while pass(UInt8(ascii: ","))
        guard pass(UInt8(ascii: "}")) else { throw .invalid }
        return found
    }

    // MARK: Parts

    /// Skips a scalar, an empty object or array, or the opening of a container up to its first value.
    private mutating func startOfValue(_ nesting: inout Nesting) throws(Problem) {
        while true {
            switch try kind() {
            case .object:
                position += 1
                if pass(UInt8(ascii: "}")) { return }
                guard nesting.enter(isObject: true) else { throw .tooDeep }
                try key()
            case .array:
                position += 1
                if pass(UInt8(ascii: "]")) { return }
                guard nesting.enter(isObject: false) else { throw .tooDeep }
            case .string: return try skipString()
            case .number: return try number()
            case .true: return try word("true")
            case .false: return try word("false")
            case .null: return try word("null")
            }
        }
    }

    private mutating func key() throws(Problem) {
        skipSpace()
        try skipString()
        guard pass(UInt8(ascii: ":")) else { throw .invalid }
    }

    /// Skips a string and returns the bytes between its quotes, escapes as written.
    mutating func string() throws(Problem) -> UnsafeRawBufferPointer {
        let quoted = try bytes { scanner throws(Problem) in try scanner.skipString() }
        return UnsafeRawBufferPointer(rebasing: quoted.dropFirst().dropLast())
    }

    private mutating func skipString() throws(Problem) {
        guard has(), text[position] == UInt8(ascii: "\"") else { throw .invalid }
        position += 1
        while true {
            skipPlain()
            guard has() else { throw .invalid }
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw .invalid
            case 0x20..<0x80: position += 1
            default:
                // No character is longer.
                _ = has(4)
                let length = ScalarFunction.length(ofCharacterAt: position, in: text)
                if length == 0 { throw .invalid }
                position += length
            }
        }
    }

    /// Skips eight bytes at a time while none of them is a quote, a backslash, a control character or part of a
    /// multibyte character; then skips to the first such byte.
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs = ones << 7
        while position + 8 <= text.count {
            let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let (quotes, slashes) = (word ^ ones &* 0x22, word ^ ones &* 0x5C)
            // The lowest set bit is exact; higher ones may be carries.
            let special =
                (((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | ((word &- ones &* 0x20) & ~word) | word)
                & highs
            guard special == 0 else {
                position += special.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
    }

    private mutating func escape() throws(Problem) {
        guard has(2) else { throw .invalid }
        switch text[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            _ = has(6)
            guard let unit = JSONString.codeUnit(in: text, at: position) else { throw .invalid }
            position += 6
            if UTF16.isTrailSurrogate(unit) { throw .invalid }
            if UTF16.isLeadSurrogate(unit) {
                _ = has(6)
                guard let trail = JSONString.codeUnit(in: text, at: position), UTF16.isTrailSurrogate(trail) else {
                    throw .invalid
                }
                position += 6
            }
        default: throw .invalid
        }
    }

    private mutating func number() throws(Problem) {
        var mayBeInfinite = false
        let number = try bytes { scanner throws(Problem) in mayBeInfinite = try scanner.mayBeInfinite() }
        if mayBeInfinite, Double(String(decoding: number, as: UTF8.self))?.isFinite != true { throw .invalid }
    }

    /// Skips a number; whether it can be beyond the range of doubles.
    private mutating func mayBeInfinite() throws(Problem) -> Bool {
        var mayBeInfinite = false
        if text[position] == UInt8(ascii: "-") { position += 1 }
        if has(), text[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            // The largest double has 309 digits.
            mayBeInfinite = try digits() >= 309
        }
        if has(), text[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if has(), text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if has(), text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
            mayBeInfinite = true
        }
        return mayBeInfinite
    }

    @discardableResult
    private mutating func digits() throws(Problem) -> Int {
        // Not by the position, which moves with the piece.
        var count = 0
        while has(), text[position] >= UInt8(ascii: "0"), text[position] <= UInt8(ascii: "9") {
            position += 1
            count += 1
        }
        if count == 0 { throw .invalid }
        return count
    }

    private mutating func word(_ word: StaticString) throws(Problem) {
        let length = word.utf8CodeUnitCount
        _ = has(length)
        let end = position + length
        guard end <= text.count,
            UnsafeRawBufferPointer(rebasing: text[position..<end])
                .elementsEqual(UnsafeRawBufferPointer(start: word.utf8Start, count: length))
        else { throw .invalid }
        position = end
    }
}

/// The containers around a position: one bit per level, set for objects.
private struct Nesting {
    let limit: Int
    private(set) var depth = 0
    private var objects = SIMD16<UInt64>()

    init(limit: Int) { self.limit = limit }

    /// Nil outside of all containers.
    var innermostIsObject: Bool? {
        depth == 0 ? nil : objects[(depth - 1) >> 6] & (1 << UInt64((depth - 1) & 63)) != 0
    }

    /// - Returns: False beyond the limit.
    mutating func enter(isObject: Bool) -> Bool {
        guard depth < limit else { return false }
        let bit: UInt64 = 1 << UInt64(depth & 63)
        if isObject { objects[depth >> 6] |= bit } else { objects[depth >> 6] &= ~bit }
        depth += 1
        return true
    }

    mutating func leave() { depth -= 1 }
}
