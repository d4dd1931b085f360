/// Reads JSON text byte by byte, in place: without a tree, recursion or allocation.
struct JSONScanner {
    static let depthLimit = 1_000

    /// The error in a text; its place is the scanner's position.
    enum Problem: Error { case invalid, tooDeep }

    enum Kind { case object, array, string, number, `true`, `false`, null }

    let text: UnsafeRawBufferPointer
    private(set) var position: Int

    init(_ text: UnsafeRawBufferPointer, at position: Int = 0) {
        self.text = text
        self.position = position
    }

    var isAtEnd: Bool { position >= text.count }

    var next: UInt8? { isAtEnd ? nil : text[position] }

    func offset(of piece: UnsafeRawBufferPointer) -> Int {
        guard let start = text.baseAddress, let address = piece.baseAddress else { return 0 }
        return address - start
    }

    mutating func skipSpace() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Skips white space, and the byte if it follows.
    mutating func pass(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space and returns the kind of the value that follows.
    mutating func kind() throws(Problem) -> Kind {
        skipSpace()
        guard position < text.count else { throw .invalid }
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

    /// Skips and checks one value, inside `outer` containers, and returns its bytes.
    mutating func value(within outer: Int = 0) throws(Problem) -> UnsafeRawBufferPointer {
        skipSpace()
        let start = position
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
        return UnsafeRawBufferPointer(rebasing: text[start..<position])
    }

    /// Skips and checks one object, and returns the value under a key; of a repeated key the last value.
    mutating func object(member key: UnsafeRawBufferPointer) throws(Problem) -> UnsafeRawBufferPointer? {
        guard pass(UInt8(ascii: "{")) else { throw .invalid }
        if pass(UInt8(ascii: "}")) { return nil }
        var found: UnsafeRawBufferPointer?
        repeat {
            skipSpace()
            let name = JSONString(try string())
            guard pass(UInt8(ascii: ":")) else { throw .invalid }
            let value = try value(within: 1)
            if name.equals(key) { found = value }
        } while pass(UInt8(ascii: ","))
        guard pass(UInt8(ascii: "}")) else { throw .invalid }
        return found
    }

    // MARK: Checked text

    /// Skips one value of a checked text, and returns its bytes.
    mutating func checkedValue() -> UnsafeRawBufferPointer {
        skipSpace()
        let start = position
        var depth = 0
        repeat {
            switch text[position] {
            case UInt8(ascii: "\""): _ = checkedString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case _ where depth > 0: position += 1
            default: skipScalar()
            }
        } while depth > 0
        return UnsafeRawBufferPointer(rebasing: text[start..<position])
    }

    /// Skips a string of a checked text, and returns the bytes between its quotes.
    mutating func checkedString() -> UnsafeRawBufferPointer {
        position += 1
        let start = position
        while true {
            skipPlain()
            switch text[position] {
            case UInt8(ascii: "\""):
                position += 1
                return UnsafeRawBufferPointer(rebasing: text[start..<(position - 1)])
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
    }

    private mutating func skipScalar() {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return
            default: position += 1
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
            case .string:
                _ = try string()
                return
            case .number: return try number()
            case .true: return try word("true")
            case .false: return try word("false")
            case .null: return try word("null")
            }
        }
    }

    private mutating func key() throws(Problem) {
        skipSpace()
        _ = try string()
        guard pass(UInt8(ascii: ":")) else { throw .invalid }
    }

    /// Skips a string and returns the bytes between its quotes, escapes as written.
    mutating func string() throws(Problem) -> UnsafeRawBufferPointer {
        guard position < text.count, text[position] == UInt8(ascii: "\"") else { throw .invalid }
        position += 1
        let start = position
        while true {
            skipPlain()
            guard position < text.count else { throw .invalid }
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return UnsafeRawBufferPointer(rebasing: text[start..<(position - 1)])
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw .invalid
            case 0x20..<0x80: position += 1
            default:
                let length = ScalarFunction.length(ofCharacterAt: position, in: text)
                if length == 0 { throw .invalid }
                position += length
            }
        }
    }

    private mutating func escape() throws(Problem) {
        guard position + 1 < text.count else { throw .invalid }
        switch text[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard let unit = JSONString.codeUnit(in: text, at: position) else { throw .invalid }
            position += 6
            if UTF16.isTrailSurrogate(unit) { throw .invalid }
            if UTF16.isLeadSurrogate(unit) {
                guard let trail = JSONString.codeUnit(in: text, at: position), UTF16.isTrailSurrogate(trail) else {
                    throw .invalid
                }
                position += 6
            }
        default: throw .invalid
        }
    }

    private mutating func number() throws(Problem) {
        if text[position] == UInt8(ascii: "-") { position += 1 }
        if position < text.count, text[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try digits()
        }
        if position < text.count, text[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < text.count, text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
    }

    private mutating func digits() throws(Problem) {
        let start = position
        while position < text.count, text[position] >= UInt8(ascii: "0"), text[position] <= UInt8(ascii: "9") {
            position += 1
        }
        if position == start { throw .invalid }
    }

    private mutating func word(_ word: StaticString) throws(Problem) {
        let length = word.utf8CodeUnitCount
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
