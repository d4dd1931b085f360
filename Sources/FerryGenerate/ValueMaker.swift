package import FerrySQLite

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
