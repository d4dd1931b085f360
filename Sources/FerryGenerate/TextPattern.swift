internal import FerrySQLite

/// A regular expression that is a sequence of repeated character classes, without groups, alternatives and the like.
struct TextPattern {
    private struct Part {
        var characters: [Unicode.Scalar]
        var least: Int
        var most: Int
    }

    private let parts: [Part]
    /// The number of different texts of the least length.
    let capacity: Int64

    /// Nil for a pattern that is not supported.
    init?(_ pattern: String) {
        var rest = Array(pattern.unicodeScalars)[...]
        if rest.first == "^" { rest.removeFirst() }
        if rest.last == "$", rest.dropLast().last != "\\" { rest.removeLast() }
        var parts: [Part] = []
        while !rest.isEmpty {
            guard let characters = TextPattern.characters(&rest), !characters.isEmpty,
                let (least, most) = TextPattern.repetition(&rest)
            else { return nil }
            parts.append(Part(characters: characters, least: least, most: most))
        }
        self.parts = parts
        capacity = parts.reduce(1) { capacity, part in
            (0..<min(part.least, 64)).reduce(capacity) { product, _ in
                let next = product.multipliedReportingOverflow(by: Int64(part.characters.count))
                return next.overflow ? .max : next.partialValue
            }
        }
    }

    /// A text that matches the pattern: a random text, or with a number the text of that number.
    func text(_ random: inout SeededRandom, number: Int64?) -> [UInt8] {
        var text = String.UnicodeScalarView()
        var rest = number ?? 0
        for part in parts {
            let spare = part.most - part.least
            let count = number == nil && spare > 0 ? part.least + Int(random.below(Int64(spare + 1))) : part.least
            for _ in 0..<count {
                let choices = Int64(part.characters.count)
                text.append(part.characters[Int(number == nil ? random.below(choices) : rest % choices)])
                rest /= choices
            }
        }
        return Array(String(text).utf8)
    }

    private static let digits = Array("0123456789".unicodeScalars)
    private static let lower = Array("abcdefghijklmnopqrstuvwxyz".unicodeScalars)
    private static let upper = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".unicodeScalars)

    /// The characters of the next part, or nil for unsupported syntax.
    private static func characters(_ rest: inout ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
        let first = rest.removeFirst()
        switch first {
        case "(", ")", "|", "*", "+", "?", "{", "}", "^", "$", "]": return nil
        case ".": return lower + digits
        case "\\": return escaped(&rest)
        case "[":
            guard rest.first != "^" else { return nil }
            var characters: [Unicode.Scalar] = []
            while let next = rest.popFirst(), next != "]" {
                if next == "[" || next == "&" { return nil }
                if next == "\\" {
                    guard let some = escaped(&rest) else { return nil }
                    characters += some
                } else if rest.first == "-", let end = rest.dropFirst().first, end != "]", end != "\\" {
                    rest.removeFirst(2)
                    guard next.value <= end.value, end.value - next.value < 1_000 else { return nil }
                    characters += (next.value...end.value).compactMap(Unicode.Scalar.init)
                } else {
                    characters.append(next)
                }
                if rest.isEmpty { return nil }
            }
            return characters
        default: return [first]
        }
    }

    private static func escaped(_ rest: inout ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
        guard let next = rest.popFirst() else { return nil }
        switch next {
        case "d": return digits
        case "w": return lower + upper + digits + ["_"]
        case "s": return [" "]
        default: return next.properties.isAlphabetic || digits.contains(next) ? nil : [next]
        }
    }

    /// The least and the highest number of repetitions, for an open end a few more; nil for unsupported syntax.
    private static func repetition(_ rest: inout ArraySlice<Unicode.Scalar>) -> (Int, Int)? {
        var counts: (Int, Int)
        switch rest.first {
        case "*": counts = (0, 8)
        case "+": counts = (1, 8)
        case "?": counts = (0, 1)
        case "{":
            guard let end = rest.firstIndex(of: "}") else { return nil }
            let text = String(String.UnicodeScalarView(rest[rest.startIndex..<end].dropFirst()))
            rest = rest[end...]
            let bounds = text.split(separator: ",", omittingEmptySubsequences: false)
            guard (1...2).contains(bounds.count), let least = Int(bounds[0]), (0...10_000).contains(least) else {
                return nil
            }
            let open = bounds.count == 2 && bounds[1].isEmpty
            guard let most = bounds.count == 1 ? least : open ? least + 8 : Int(bounds[1]), (least...10_000) ~= most
            else { return nil }
            counts = (least, most)
        default: return (1, 1)
        }
        rest.removeFirst()
        // A second sign makes the repetition lazy or possessive, which the generator ignores.
        if rest.first == "?" || rest.first == "+" { rest.removeFirst() }
        return counts
    }
}

/// Memory for one text at a time.
struct TextBuffer {
    private var bytes: [UInt8] = []

    mutating func set(_ text: [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: text)
    }

    mutating func set(_ prefix: [UInt8], number: Int64) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: prefix)
        bytes.append(contentsOf: String(number).utf8)
    }

    /// Two to four words, and the number if there is one.
    mutating func setWords(_ random: inout SeededRandom, number: Int64?) {
        bytes.removeAll(keepingCapacity: true)
        var bits = random.next()
        for position in 0..<(2 + Int(bits % 3)) {
            bits >>= 8
            if position > 0 { bytes.append(UInt8(ascii: " ")) }
            bytes.append(contentsOf: TextBuffer.words[Int(bits) & (TextBuffer.words.count - 1)])
        }
        if let number {
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: String(number).utf8)
        }
    }

    /// Words, and the number if there is one, cut or filled to the lengths in characters.
    mutating func setWords(_ random: inout SeededRandom, number: Int64?, lengths: ClosedRange<Int>) {
        setWords(&random, number: number)
        if length > lengths.upperBound, let number {
            bytes.removeAll(keepingCapacity: true)
            bytes.append(contentsOf: String(number).utf8)
        }
        while length < lengths.lowerBound {
            // Filling at the front keeps the numbers at the end.
            let word = TextBuffer.words[Int(random.below(Int64(TextBuffer.words.count)))]
            bytes.insert(contentsOf: word + [UInt8(ascii: " ")], at: 0)
        }
        cut(to: lengths.upperBound, atStart: number != nil)
    }

    func bind(to statement: Statement, at index: Int) throws {
        try bytes.withUnsafeBytes { try statement.bind(text: $0, at: index) }
    }

    /// The length in characters: each character of the words is one scalar of one UTF-16 unit.
    private var length: Int { bytes.count { $0 & 0xC0 != 0x80 } }

    private mutating func cut(to longest: Int, atStart: Bool) {
        guard length > longest else { return }
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        bytes = Array(String(atStart ? scalars.suffix(longest) : scalars.prefix(longest)).utf8)
    }

    /// The words, some of them outside ASCII; their number is a power of two, as `setWords` masks an index.
    private static let words: [[UInt8]] = [
        "Amber", "brook", "candle", "distant", "Échange", "forest", "garden", "harbour", "island", "journey", "kettle",
        "lantern", "meadow", "north", "orchard", "pebble", "quiet", "river", "Straße", "thistle", "umbrella", "valley",
        "winter", "yellow", "zenith", "bridge", "copper", "drift", "ember", "frost", "grove", "書物",
    ].map { Array($0.utf8) }
}
