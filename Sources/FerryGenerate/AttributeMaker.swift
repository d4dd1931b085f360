internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Makes the values of one attribute and binds them, without an allocation per plain value.
struct AttributeMaker {
    let column: String
    let isExternal: Bool
    private let type: AttributeType
    private let maker: ValueMaker
    private let isUnique: Bool
    /// Of a hundred.
    private let empty: Int64
    /// UTF-8 of the maker's prefix or words.
    private let prefix: [UInt8]

    init(_ key: PropertyKey, _ attribute: Attribute, column: Column, isUnique: Bool, options: GenerationOptions) {
        self.column = column.name
        self.isUnique = isUnique
        type = attribute.type
        isExternal = attribute.allowsExternalStorage
        maker = options.values[key] ?? .plausible
        empty = attribute.isOptional && !isUnique ? options.emptyPercent : 0
        switch maker {
        case .numbered(let text), .distinct(let text, _): prefix = Array(text.utf8)
        default: prefix = []
        }
    }

    /// Binds the value of one row; `buffer` is memory for texts, `files` decides which external values become files.
    func bind(
        to statement: Statement, at index: Int, key: Int64, random: inout SeededRandom, buffer: inout TextBuffer,
        files: inout ExternalFileMaker
    ) throws {
        switch maker {
        case .constant(let value): return try statement.bind(value, at: index)
        case .computed(let make): return try statement.bind(make(key, &random), at: index)
        default: break
        }
        if empty > 0, random.below(100) < empty { return try statement.bindNull(at: index) }
        switch maker {
        case .numbered:
            buffer.set(prefix, number: key)
            try buffer.bind(to: statement, at: index)
        case .distinct(_, let count):
            buffer.set(prefix, number: random.below(max(1, count)) + 1)
            try buffer.bind(to: statement, at: index)
        case .oneOf(let texts):
            guard !texts.isEmpty else { return try statement.bindNull(at: index) }
            try statement.bind(texts[Int(random.below(Int64(texts.count)))], at: index)
        case .integers(let range):
            let offset = random.below(Int64(clamping: range.count))
            try statement.bind(range.lowerBound + offset, at: index)
        case .plausible, .constant, .computed:
            try bindPlausible(statement, index, key, &random, &buffer, &files)
        }
    }

    private func bindPlausible(
        _ statement: Statement, _ index: Int, _ key: Int64, _ random: inout SeededRandom, _ buffer: inout TextBuffer,
        _ files: inout ExternalFileMaker
    ) throws {
        switch type {
        case .integer16: try statement.bind(isUnique ? key : random.below(1_000), at: index)
        case .integer32: try statement.bind(isUnique ? key : random.below(1_000_000), at: index)
        case .integer64: try statement.bind(isUnique ? key : random.below(1_000_000_000_000), at: index)
        case .boolean: try statement.bind(random.below(2), at: index)
        case .double: try statement.bind(isUnique ? Double(key) + 0.5 : random.fraction() * 1_000, at: index)
        case .float: try statement.bind(Double(isUnique ? Float(key) : Float(random.fraction() * 100)), at: index)
        case .decimal: try statement.bind(isUnique ? Double(key) : Double(random.below(100_000)) / 100, at: index)
        case .date:
            // Since 2001; whole seconds now and then, which the column stores as integers.
            let seconds = Double(isUnique ? key : random.below(700_000_000))
            try statement.bind(random.below(10) == 0 ? seconds : seconds + 0.25, at: index)
        case .string:
            buffer.setWords(&random, number: isUnique ? key : nil)
            try buffer.bind(to: statement, at: index)
        case .uri:
            buffer.set(AttributeMaker.address, number: isUnique ? key : random.below(1_000_000))
            try buffer.bind(to: statement, at: index)
        case .uuid: try statement.bind(UUIDText.bytes(&random), at: index)
        case .binary, .transformable: try bindBytes(statement, index, key, &random, &files)
        case .undefined, .objectID, .composite: try statement.bindNull(at: index)
        }
    }

    private func bindBytes(
        _ statement: Statement, _ index: Int, _ key: Int64, _ random: inout SeededRandom,
        _ files: inout ExternalFileMaker
    ) throws {
        if isExternal, let reference = try files.next() { return try statement.bind(reference, at: index) }
        let number = isUnique ? key : random.below(1_000_000)
        // Core Data archives what a transformable attribute holds; an archived text is the plainest such value.
        let content = type == .transformable ? ArchivedText.bytes("Value \(number)") : Array("Data \(number)".utf8)
        try statement.bind((isExternal ? [0x01] : []) + content, at: index)
    }

    private static let address = Array("https://example.org/".utf8)
}

/// Memory for one text at a time.
struct TextBuffer {
    private var bytes: [UInt8] = []

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

    func bind(to statement: Statement, at index: Int) throws {
        try bytes.withUnsafeBytes { try statement.bind(text: $0, at: index) }
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
