internal import FerryModel
package import FerrySQLite
internal import FerryStore

/// Makes the values of one attribute and binds them, without an allocation per plain value.
struct AttributeMaker {
    let column: String
    let isExternal: Bool
    private let type: AttributeType
    private let maker: ValueMaker
    private let range: ValueRange
    /// What the key is divided by where values must differ from row to row; 0 where they need not.
    private let divisor: Int64
    /// Of a hundred.
    private let empty: Int64
    /// UTF-8 of the maker's prefix or words.
    private let prefix: [UInt8]

    /// `divisor` says how the attribute counts in a uniqueness constraint; nil where it is in none.
    init(_ key: PropertyKey, _ attribute: Attribute, column: Column, divisor: Int64?, options: GenerationOptions) {
        self.column = column.name
        self.divisor = divisor ?? 0
        type = attribute.type
        range = ValueRange(attribute)
        isExternal = attribute.allowsExternalStorage
        maker = options.values[key] ?? .plausible
        empty = attribute.isOptional && divisor == nil ? options.emptyPercent : 0
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
        let number = divisor == 0 ? nil : key / divisor
        switch type {
        case .integer16, .integer32, .integer64, .boolean:
            try statement.bind(whole(number, &random), at: index)
        case .double, .float, .decimal:
            let fraction = number == nil ? Double(random.below(100)) / (type == .decimal ? 100 : 128) : 0
            try statement.bind(range.clamped(Double(whole(number, &random)) + fraction), at: index)
        case .date:
            // Since 2001; whole seconds now and then, which the column stores as integers.
            let fraction = number != nil || random.below(10) == 0 ? 0 : 0.25
            try statement.bind(range.clamped(Double(whole(number, &random)) + fraction), at: index)
        case .string:
            if let pattern = range.pattern {
                buffer.set(pattern.text(&random, number: number))
            } else if range.hasLengths {
                let longest = Int(range.least + range.count - 1)
                buffer.setWords(&random, number: number, lengths: Int(range.least)...longest)
            } else {
                buffer.setWords(&random, number: number)
            }
            try buffer.bind(to: statement, at: index)
        case .uri:
            buffer.set(AttributeMaker.address, number: number ?? random.below(1_000_000))
            try buffer.bind(to: statement, at: index)
        case .uuid: try statement.bind(UUIDText.bytes(&random), at: index)
        case .binary, .transformable: try bindBytes(statement, index, number, &random, &files)
        case .undefined, .objectID, .composite: try statement.bindNull(at: index)
        }
    }

    private func whole(_ number: Int64?, _ random: inout SeededRandom) -> Int64 {
        range.least + (number.map { $0 % range.capacity } ?? random.below(range.count))
    }

    private func bindBytes(
        _ statement: Statement, _ index: Int, _ unique: Int64?, _ random: inout SeededRandom,
        _ files: inout ExternalFileMaker
    ) throws {
        if isExternal, let reference = try files.next() { return try statement.bind(reference, at: index) }
        let number = unique ?? random.below(1_000_000)
        // Core Data archives what a transformable attribute holds; an archived text is the plainest such value.
        let content = type == .transformable ? ArchivedText.bytes("Value \(number)") : Array("Data \(number)".utf8)
        try statement.bind((isExternal ? [0x01] : []) + content, at: index)
    }

    private static let address = Array("https://example.org/".utf8)
}

/// How the values of one attribute are made.
package enum ValueMaker: Sendable {
    /// By the attribute's type.
    case plausible
    /// The prefix and the row's primary key: another text for each row.
    case numbered(prefix: String)
    /// The prefix and one of `count` numbers, each as likely as the others.
    case distinct(prefix: String, count: Int64)
    case oneOf([String])
    case integers(ClosedRange<Int64>)
    case constant(Value)
    /// Whatever the closure makes of the row's primary key and its random numbers.
    case computed(@Sendable (_ primaryKey: Int64, _ random: inout SeededRandom) -> Value)
}

/// A keyed archive of one text, as a transformable attribute without a transformer of its own would hold it.
enum ArchivedText {
    static func bytes(_ text: String) -> [UInt8] {
        PropertyTree.dictionary([
            "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
            "$objects": .array([.string("$null"), .string(text)]), "$top": .dictionary(["root": .uid(1)]),
        ]).binary
    }
}
