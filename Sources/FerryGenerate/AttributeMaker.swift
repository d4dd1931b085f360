internal import FerryModel
package import FerrySQLite
internal import FerryStore

/// Makes the values of one attribute and binds them; a plain value needs no allocation.
struct AttributeMaker {
    let column: String
    let isExternal: Bool
    private let type: AttributeType
    /// Nil for a plausible value of the type.
    private let maker: ValueMaker?
    private let range: ValueRange
    /// The divisor of the key for values that differ from row to row; 0 if values may repeat.
    private let divisor: Int64
    /// The percentage of empty values.
    private let empty: Int64

    /// `divisor` is the key's divisor for a uniqueness constraint; nil if no constraint has the attribute.
    init(_ key: PropertyKey, _ attribute: Attribute, column: Column, divisor: Int64?, options: GenerationOptions) {
        self.column = column.name
        self.divisor = divisor ?? 0
        type = attribute.type
        range = ValueRange(attribute)
        isExternal = attribute.allowsExternalStorage
        maker = options.values[key]
        empty = attribute.isOptional && divisor == nil ? options.emptyPercent : 0
    }

    /// Binds the value of one row; `buffer` is memory for texts, `files` decides which external values become files.
    func bind(
        to statement: Statement, at index: Int, key: Int64, random: inout SeededRandom, buffer: inout TextBuffer,
        files: inout ExternalFileMaker
    ) throws {
        if let maker { return try statement.bind(maker(key, &random), at: index) }
        if empty > 0, random.below(100) < empty { return try statement.bindNull(at: index) }
        let number = divisor == 0 ? nil : key / divisor
        switch type {
        case .integer16, .integer32, .integer64, .boolean:
            try statement.bind(whole(number, &random), at: index)
        case .double, .float, .decimal:
            let fraction = number == nil ? Double(random.below(100)) / (type == .decimal ? 100 : 128) : 0
            try statement.bind(range.clamped(Double(whole(number, &random)) + fraction), at: index)
        case .date:
            // Seconds since 2001; unique dates and one in ten others are whole, which the column stores as integers.
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
        case .uuid: try statement.bind(random.uuid(), at: index)
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
        // Core Data archives the values of a transformable attribute; an archived text is the simplest such value.
        let content = type == .transformable ? Self.archive(of: "Value \(number)") : Array("Data \(number)".utf8)
        try statement.bind((isExternal ? [0x01] : []) + content, at: index)
    }

    /// A keyed archive of one text, as a transformable attribute without a custom transformer stores it.
    private static func archive(of text: String) -> [UInt8] {
        PropertyTree.dictionary([
            "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
            "$objects": .array([.string("$null"), .string(text)]), "$top": .dictionary(["root": .uid(1)]),
        ]).binary
    }

    private static let address = Array("https://example.org/".utf8)
}

/// The value for a row's primary key and its random numbers.
package typealias ValueMaker = @Sendable (_ primaryKey: Int64, _ random: inout SeededRandom) -> Value

/// The values that an attribute's type and validation allow.
struct ValueRange {
    /// The least whole number, date in seconds, or text length, by the attribute's type.
    let least: Int64
    /// The number of plausible values, at least 1.
    let count: Int64
    /// The number of different values that can be made.
    let capacity: Int64
    /// The pattern of texts, if the model has a regular expression that is simple enough.
    let pattern: TextPattern?
    /// Limits of numbers and dates with a fraction.
    private let bounds: (least: Double, most: Double)
    /// Whether the model limits the length of texts.
    let hasLengths: Bool

    init(_ attribute: Attribute) {
        let validation = attribute.validation
        let low = validation.minimum.map { ValueRange.whole($0.rounded(.up)) }
        let high = validation.maximum.map { ValueRange.whole($0.rounded(.down)) }
        bounds = (validation.minimum ?? -.infinity, validation.maximum ?? .infinity)
        /// Without bounds in the model: a plausible number of values, or for unique values all of the type.
        func range(_ plausible: Int64, all: ClosedRange<Int64>) -> (least: Int64, count: Int64, capacity: Int64) {
            let most = min(high ?? all.upperBound, all.upperBound)
            let least = max(low ?? (most < 0 ? most - min(plausible, most - all.lowerBound) : 0), all.lowerBound)
            // Both bounds are between two whole numbers: `clamped` moves the value into them.
            guard most >= least else { return (most, 1, 1) }
            let capacity = most.subtractingReportingOverflow(least - 1)
            let all = capacity.overflow ? Int64.max : capacity.partialValue
            return (least, low == nil || high == nil ? min(plausible, all) : all, all)
        }
        var pattern: TextPattern?
        switch attribute.type {
        case .integer16: (least, count, capacity) = range(1_000, all: Int64(Int16.min)...Int64(Int16.max))
        case .integer32: (least, count, capacity) = range(1_000_000, all: Int64(Int32.min)...Int64(Int32.max))
        case .integer64: (least, count, capacity) = range(1_000_000_000_000, all: Int64.min / 2...Int64.max / 2)
        case .boolean: (least, count, capacity) = (0, 2, 2)
        case .float: (least, count, capacity) = range(100, all: -(1 << 24)...(1 << 24))
        case .double, .decimal: (least, count, capacity) = range(1_000, all: -(1 << 53)...(1 << 53))
        case .date: (least, count, capacity) = range(700_000_000, all: -(1 << 40)...(1 << 40))
        case .string:
            let longest = max(0, min(high ?? .max, 10_000))
            least = max(0, min(low ?? 0, longest))
            count = longest - least + 1
            pattern = validation.pattern.flatMap(TextPattern.init)
            // Short unique texts are numbers.
            let digits = (0..<min(longest, 18)).reduce(Int64(1)) { power, _ in power * 10 }
            capacity = pattern?.capacity ?? (longest >= 18 ? .max : digits)
        case .uri, .uuid, .binary, .transformable: (least, count, capacity) = (0, 1, .max)
        case .undefined, .objectID, .composite: (least, count, capacity) = (0, 1, 0)
        }
        self.pattern = pattern
        hasLengths = attribute.type == .string && (low != nil || high != nil)
    }

    /// The number, or the nearest number that the model allows.
    func clamped(_ number: Double) -> Double { max(bounds.least, min(bounds.most, number)) }

    private static func whole(_ number: Double) -> Int64 { Int64(max(-0x1p62, min(0x1p62, number))) }
}
