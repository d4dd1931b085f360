/// The structure of an input: mutations keep enough of the structure for an input to pass the reader's first check.
enum Shape: Sendable {
    case bytes
    /// Mutations insert, remove and repeat words of a language.
    case text([String])
    /// Mutations change objects, counts, references and the trailer.
    case propertyList
    /// Frames keep valid checksums half of the time.
    case log
    /// Mutations change cells and headers of pages.
    case pages
}

/// Mutates inputs.
struct Mutator {
    /// Values at which arithmetic and bounds checks fail.
    static let edges: [UInt64] = [
        0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 511, 512, 1023, 1024, 4095, 4096, 32767,
        32768, 65535, 65536, 1 << 20, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1 << 32, 1 << 40, 1 << 62,
        0x7FFF_FFFF_FFFF_FFFE, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0x8000_0000_0000_0001,
        0xFFFF_FFFF_FFFF_FFFE, 0xFFFF_FFFF_FFFF_FFFF,
    ]
    static let numbers = [
        "0", "-0", "1", "-1", "2", "255", "65535", "2147483647", "2147483648", "4294967296", "9223372036854775806",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "18446744073709551615", "1e308", "-1e308", "1e999", "1e-400", "0.1", "NaN", "inf", "00", "1_0",
    ]

    let shape: Shape
    /// The largest size of an input.
    let limit: Int

    func mutate(_ input: [UInt8], with other: [UInt8], _ random: inout Generator) -> [UInt8] {
        var bytes = input
        for _ in 0..<(1 << random.below(5)) {
            let isPlain = random.oneIn(3)
            switch shape {
            case .text(let words) where !isPlain: text(&bytes, words, &random)
            case .propertyList where !isPlain: propertyList(&bytes, &random)
            case .pages where !isPlain: pages(&bytes, &random)
            default: plain(&bytes, other, &random)
            }
            if bytes.count > limit { bytes.removeSubrange(limit...) }
        }
        return bytes
    }

    // MARK: Any bytes

    private func plain(_ bytes: inout [UInt8], _ other: [UInt8], _ random: inout Generator) {
        guard !bytes.isEmpty else { return bytes.append(UInt8(truncatingIfNeeded: random.next())) }
        let place = random.below(bytes.count)
        switch random.below(11) {
        case 0, 1: bytes[place] ^= 1 << UInt8(random.below(8))
        case 2: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 3: bytes[place] = random.pick([0, 1, 0x7F, 0x80, 0xFF, 0xC0, 0xED, 0xF5])
        case 4: put(random.pick(Self.edges), width: random.pick([1, 2, 4, 8]), &bytes, at: place, &random)
        case 5: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(64)))
        case 6: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 1 + random.below(64))], at: place)
        case 7: if random.oneIn(4) { bytes.removeSubrange(place...) }
        case 8:
            guard !other.isEmpty else { return }
            let start = random.below(other.count)
            let piece = other[start..<min(other.count, start + 1 + random.below(256))]
            bytes.replaceSubrange(place..<min(bytes.count, place + piece.count), with: piece)
        case 9: put(bytes[place] == 0 ? 1 : UInt64(bytes[place]) &+ 1, width: 1, &bytes, at: place, &random)
        default:
            let from = random.below(bytes.count)
            let count = min(1 + random.below(32), bytes.count - max(from, place))
            for offset in 0..<max(0, count) { bytes[place + offset] = bytes[from + offset] }
        }
    }

    private func put(_ value: UInt64, width: Int, _ bytes: inout [UInt8], at place: Int, _ random: inout Generator) {
        let isLittle = random.oneIn(3)
        for offset in 0..<width where place + offset < bytes.count {
            let shift = UInt64(8 * (isLittle ? offset : width - 1 - offset))
            bytes[place + offset] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }

    // MARK: Text

    private func text(_ bytes: inout [UInt8], _ words: [String], _ random: inout Generator) {
        let place = boundary(bytes, random.below(bytes.count + 1))
        switch random.below(9) {
        case 0, 1: bytes.insert(contentsOf: Array(random.pick(words).utf8), at: place)
        case 2:
            // Deep nesting: an opening word many times, with or without its closing word.
            let word = Array(random.pick(words).utf8)
            let count = random.pick([2, 10, 65, 201, 600, 3_000])
            bytes.insert(contentsOf: Array(repeatElement(word, count: count).joined()), at: place)
        case 3:
            let end = boundary(bytes, min(bytes.count, place + 1 + random.below(40)))
            if place < end { bytes.removeSubrange(place..<end) }
        case 4:
            let end = boundary(bytes, min(bytes.count, place + 1 + random.below(200)))
            guard place < end else { return }
            let piece = Array(repeatElement(Array(bytes[place..<end]), count: random.pick([1, 2, 50])).joined())
            bytes.insert(contentsOf: piece, at: end)
        case 5, 6: replaceLiteral(&bytes, near: place, words, &random)
        case 7:
            // Swaps two pieces.
            let first = boundary(bytes, random.below(bytes.count + 1))
            let (low, high) = (min(place, first), max(place, first))
            let end = boundary(bytes, min(bytes.count, high + random.below(60)))
            guard low < high, high < end else { return }
            var swapped = Array(bytes[..<low])
            for piece in [bytes[high..<end], bytes[low..<high], bytes[end...]] { swapped += piece }
            bytes = swapped
        default: bytes.insert(contentsOf: Array(random.pick(Self.numbers).utf8), at: place)
        }
    }

    /// Returns the next boundary between two words.
    private func boundary(_ bytes: [UInt8], _ place: Int) -> Int {
        var place = place
        while place < bytes.count, place > 0, Self.isWord(bytes[place - 1]), Self.isWord(bytes[place]) { place += 1 }
        return place
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// Replaces a text in quotes with another text.
    private func replaceLiteral(_ bytes: inout [UInt8], near place: Int, _ words: [String], _ random: inout Generator) {
        let quote = UInt8(ascii: "\"")
        guard place < bytes.count, let start = bytes[place...].firstIndex(of: quote),
            let end = bytes[(start + 1)...].firstIndex(of: quote)
        else { return }
        bytes.replaceSubrange(start + 1..<end, with: Array(random.pick(random.oneIn(2) ? Self.numbers : words).utf8))
    }

    // MARK: Property lists

    private func propertyList(_ bytes: inout [UInt8], _ random: inout Generator) {
        guard bytes.count > 41 else { return }
        let trailer = bytes.count - 32
        func number(_ offset: Int) -> Int {
            Int(truncatingIfNeeded: bytes[offset..<offset + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        let (offsetWidth, referenceWidth) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        let (count, table) = (number(trailer + 8), number(trailer + 24))
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth), table >= 8, table < trailer, count > 0,
            count <= (trailer - table) / offsetWidth
        else {
            return put(random.pick(Self.edges), width: 8, &bytes, at: trailer + random.pick([6, 8, 16, 24]), &random)
        }
        let object = random.below(count)
        let entry = table + object * offsetWidth
        var offset = 0
        for byte in bytes[entry..<entry + offsetWidth] { offset = (offset << 8 | Int(byte)) & 0xFF_FFFF_FFFF }
        guard offset >= 8, offset < table else { return }
        let marker = bytes[offset]
        switch random.below(8) {
        case 0: bytes[offset] = marker & 0xF0 | UInt8(random.below(16))
        case 1:
            let kind: UInt8 = random.pick([0x0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x8, 0xA, 0xC, 0xD])
            bytes[offset] = kind << 4 | marker & 0x0F
        case 2, 3, 4:
            // Changes a reference: mostly to an enclosing collection.
            guard [0xA, 0xB, 0xC, 0xD].contains(marker >> 4) else { fallthrough }
            let references = Int(marker & 0x0F) == 15 ? 20 : max(1, Int(marker & 0x0F))
            let place = offset + 1 + random.below(references) * referenceWidth
            guard place + referenceWidth <= table else { return }
            let near = UInt64(random.oneIn(2) ? object : random.below(count))
            let target = random.oneIn(8) ? random.pick(Self.edges) : near
            for index in 0..<referenceWidth {
                bytes[place + index] = UInt8(truncatingIfNeeded: target >> UInt64(8 * (referenceWidth - 1 - index)))
            }
        case 5:
            // Changes an object's offset: to the same as other objects', or within another object.
            let target = UInt64(8 + random.below(table - 8))
            for index in 0..<offsetWidth {
                bytes[entry + index] = UInt8(truncatingIfNeeded: target >> UInt64(8 * (offsetWidth - 1 - index)))
            }
        case 6: put(random.pick(Self.edges), width: random.pick([1, 2, 4, 8]), &bytes, at: offset + 1, &random)
        default:
            put(random.pick(Self.edges), width: 8, &bytes, at: trailer + random.pick([0, 6, 8, 16, 24]), &random)
        }
    }

    // MARK: Pages

    private func pages(_ bytes: inout [UInt8], _ random: inout Generator) {
        guard bytes.count >= 1024 else { return }
        let named = Int(bytes[16]) << 8 | Int(bytes[17])
        let size = named == 1 ? 65_536 : max(512, named)
        let page = random.below(max(1, bytes.count / size)) * size
        let start = page == 0 ? 100 : page
        guard start + 16 < bytes.count else { return }
        switch random.below(6) {
        case 0:
            let field = random.pick([16, 18, 19, 20, 21, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 92, 96])
            put(random.pick(Self.edges), width: random.pick([1, 2, 4]), &bytes, at: field, &random)
        case 1: bytes[start] = random.pick([2, 5, 10, 13, 0])
        case 2: put(random.pick(Self.edges), width: 2, &bytes, at: start + random.pick([1, 3, 5]), &random)
        case 3: put(random.pick(Self.edges), width: 2, &bytes, at: start + 8 + 2 * random.below(8), &random)
        case 4:
            // Changes a cell: its payload's size, key, header, or values.
            let pointer = start + 8 + 2 * random.below(8)
            guard pointer + 1 < bytes.count else { return }
            let cell = page + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
            guard cell + 24 < bytes.count else { return }
            let place = cell + random.below(24)
            if random.oneIn(2) {
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            } else {
                put(random.pick(Self.edges), width: random.pick([1, 8]), &bytes, at: place, &random)
            }
        default: bytes[min(bytes.count - 1, page + random.below(size))] = UInt8(truncatingIfNeeded: random.next())
        }
    }
}
