extension Sequence where Element: FixedWidthInteger {
    /// The sum of numbers that a file names: at the end of the range where they go past it, as only a damaged one's do.
    package var clampedSum: Element {
        var sum: Element = 0
        for number in self {
            let (next, overflow) = sum.addingReportingOverflow(number)
            if overflow { return number < 0 ? .min : .max }
            sum = next
        }
        return sum
    }
}
