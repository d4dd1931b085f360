internal import FerrySQLite

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
        append(number)
    }

    /// Two to four words, and a number where one is wanted.
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
            append(number)
        }
    }

    /// Words, and a number where one is wanted, of so many characters.
    mutating func setWords(_ random: inout SeededRandom, number: Int64?, lengths: ClosedRange<Int>) {
        setWords(&random, number: number)
        if length > lengths.upperBound, let number {
            bytes.removeAll(keepingCapacity: true)
            append(number)
        }
        while length < lengths.lowerBound {
            // In front, so that the numbers at the end still differ.
            let word = TextBuffer.words[Int(random.below(Int64(TextBuffer.words.count)))]
            bytes.insert(contentsOf: word + [UInt8(ascii: " ")], at: 0)
        }
        cut(to: lengths.upperBound, atStart: number != nil)
    }

    func bind(to statement: Statement, at index: Int) throws {
        try bytes.withUnsafeBytes { try statement.bind(text: $0, at: index) }
    }

    /// Characters: all words are made of single scalars of one UTF-16 unit.
    private var length: Int { bytes.count { $0 & 0xC0 != 0x80 } }

    private mutating func cut(to longest: Int, atStart: Bool) {
        var extra = length - longest
        guard extra > 0 else { return }
        if atStart {
            // Whole characters: what continues one goes with it.
            let end = bytes.firstIndex { byte in
                if byte & 0xC0 == 0x80 { return false }
                extra -= 1
                return extra < 0
            }
            bytes.removeFirst(end ?? bytes.count)
        } else {
            while extra > 0 {
                if bytes.removeLast() & 0xC0 != 0x80 { extra -= 1 }
            }
        }
    }

    private mutating func append(_ number: Int64) {
        let start = bytes.count
        var rest = number.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        bytes[start...].reverse()
    }

    /// A power of two of them, with some outside ASCII.
    private static let words: [[UInt8]] = [
        "Amber", "brook", "candle", "distant", "Échange", "forest", "garden", "harbour", "island", "journey", "kettle",
        "lantern", "meadow", "north", "orchard", "pebble", "quiet", "river", "Straße", "thistle", "umbrella", "valley",
        "winter", "yellow", "zenith", "bridge", "copper", "drift", "ember", "frost", "grove", "書物",
    ].map { Array($0.utf8) }
}
