internal import FerryGenerate
internal import FerrySQLite

/// The values of subjects, none of them empty.
enum MadeValue {
    /// The prefix and the row's primary key: a different text for each row.
    static func numbered(prefix: String) -> ValueMaker { { key, _ in .text("\(prefix)\(key)") } }

    /// The prefix and one of `count` numbers with equal probability.
    static func distinct(prefix: String, count: Int64) -> ValueMaker {
        { _, random in .text("\(prefix)\(random.below(count) + 1)") }
    }

    static func oneOf(_ texts: [String]) -> ValueMaker {
        { _, random in .text(texts[Int(random.below(Int64(texts.count)))]) }
    }

    static func integers(_ range: ClosedRange<Int64>) -> ValueMaker {
        { _, random in .integer(range.lowerBound + random.below(Int64(range.count))) }
    }
}
