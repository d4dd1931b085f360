extension Sequence<Int64> {
    /// Entity numbers as they stand between the parentheses of `Z_ENT IN (…)`, in their order.
    package var sqlList: String { map(String.init).joined(separator: ", ") }
}
