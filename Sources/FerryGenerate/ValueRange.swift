internal import FerryModel

/// The values that an attribute's type and validation allow: what the generator draws from.
struct ValueRange {
    /// Whole numbers, dates in seconds, or lengths of a text, by the attribute's type.
    let least: Int64
    /// How many of them, at least 1.
    let count: Int64
    /// How many values that differ can be made.
    let capacity: Int64
    /// Set where texts follow a regular expression that is simple enough.
    let pattern: TextPattern?
    /// Numbers and dates between two whole ones are kept within these.
    private let bounds: (least: Double, most: Double)
    /// Whether the model says how long texts may be.
    let hasLengths: Bool

    init(_ attribute: Attribute) {
        let validation = attribute.validation
        let low = validation.minimum.map { ValueRange.whole($0.rounded(.up)) }
        let high = validation.maximum.map { ValueRange.whole($0.rounded(.down)) }
        bounds = (validation.minimum ?? -.infinity, validation.maximum ?? .infinity)
        /// Where the model says nothing: as many values as look plausible, or all there are for unique ones.
        func range(_ plausible: Int64, all: ClosedRange<Int64>) -> (least: Int64, count: Int64, capacity: Int64) {
            let most = min(high ?? all.upperBound, all.upperBound)
            let least = max(low ?? (most < 0 ? most - min(plausible, most - all.lowerBound) : 0), all.lowerBound)
            // Bounds between two whole numbers: fractions do the rest.
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
        case .double: (least, count, capacity) = range(1_000, all: -(1 << 53)...(1 << 53))
        case .decimal: (least, count, capacity) = range(1_000, all: -(1 << 53)...(1 << 53))
        case .date: (least, count, capacity) = range(700_000_000, all: -(1 << 40)...(1 << 40))
        case .string:
            let longest = max(0, min(high ?? .max, 10_000))
            least = max(0, min(low ?? 0, longest))
            count = longest - least + 1
            pattern = validation.pattern.flatMap(TextPattern.init)
            // Short texts that differ are numbers.
            let digits = (0..<min(longest, 18)).reduce(Int64(1)) { power, _ in power * 10 }
            capacity = pattern?.capacity ?? (longest >= 18 ? .max : digits)
        case .uri, .uuid, .binary, .transformable: (least, count, capacity) = (0, 1, .max)
        case .undefined, .objectID, .composite: (least, count, capacity) = (0, 1, 0)
        }
        self.pattern = pattern
        hasLengths = attribute.type == .string && (low != nil || high != nil)
    }

    /// The number, or the nearest one that the model allows.
    func clamped(_ number: Double) -> Double { max(bounds.least, min(bounds.most, number)) }

    private static func whole(_ number: Double) -> Int64 { Int64(max(-0x1p62, min(0x1p62, number))) }
}
