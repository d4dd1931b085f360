/// What is made of two collections as sets, in which equal members are one: `a UNION b` and its kin.
package enum SetOperator: String, Sendable, CaseIterable {
    case union = "union:with:"
    case intersect = "intersect:with:"
    case minus = "minus:with:"

    /// The word between the two.
    package var symbol: String {
        switch self {
        case .union: "UNION"
        case .intersect: "INTERSECT"
        case .minus: "MINUS"
        }
    }

    init?(symbol: String) {
        guard let found = Self.allCases.first(where: { $0.symbol == symbol }) else { return nil }
        self = found
    }
}
