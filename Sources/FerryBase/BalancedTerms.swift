extension [String] {
    /// The most terms in a row; a chain of this length is far below every limit of depth.
    private static var longestChain: Int { 32 }

    /// Joins terms by an associative operator, in nested parentheses if there are many.
    ///
    /// SQLite reads n terms in a row as a tree of depth n and rejects depths above 1,000. In groups the depth grows with
    /// the logarithm of n. The terms must bind more tightly than the operator.
    package func balanced(by symbol: String) -> String {
        var terms = self
        while terms.count > Self.longestChain {
            terms = stride(from: 0, to: terms.count, by: Self.longestChain).map { start in
                let group = terms[start..<Swift.min(start + Self.longestChain, terms.count)]
                return "(\(group.joined(separator: " \(symbol) ")))"
            }
        }
        return terms.joined(separator: " \(symbol) ")
    }
}
