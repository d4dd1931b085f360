internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite

/// A condition over constants and the source row's columns, found once; it holds as in ``PlainEvaluator``.
indirect enum RowPredicate {
    case constant(Bool)
    /// Whether a value is NULL, or is not.
    case isNull(RowExpression, Bool)
    case compared(RowExpression, Predicate.Comparison.Operator, RowExpression, PlainComparison)
    case and([RowPredicate])
    case or([RowPredicate])
    case not(RowPredicate)

    /// - Returns: Nil if the condition needs more than the current row.
    static func make(
        _ predicate: Predicate, of mapping: ResolvedEntityMapping, rows: MappedSourceRows,
        in context: VerificationContext
    ) -> RowPredicate? {
        func all(_ parts: [Predicate]) -> [RowPredicate]? {
            let made = parts.compactMap { make($0, of: mapping, rows: rows, in: context) }
            return made.count == parts.count ? made : nil
        }
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return all(parts).map { .and($0) }
        case .or(let parts): return all(parts).map { .or($0) }
        case .not(let part): return make(part, of: mapping, rows: rows, in: context).map { .not($0) }
        case .quantified: return nil
        case .comparison(let comparison):
            if comparison.comparator == .isIn { return nil }
            guard let left = RowExpression.make(comparison.left, of: mapping, rows: rows, in: context),
                let right = RowExpression.make(comparison.right, of: mapping, rows: rows, in: context)
            else { return nil }
            if comparison.comparator == .equal || comparison.comparator == .notEqual,
                [comparison.left, comparison.right].contains(.constant(.null))
            {
                let other = comparison.right == .constant(.null) ? left : right
                return .isNull(other, comparison.comparator == .equal)
            }
            return .compared(
                left, comparison.comparator, right,
                PlainComparison(options: comparison.options, patterns: PlainPatterns()))
        }
    }

    /// Whether the condition holds for a row without large values.
    func holds(in row: Statement) throws -> Bool {
        switch self {
        case .constant(let value): return value
        case .isNull(let expression, let isNull): return try expression.isNull(in: row) == isNull
        case .compared(let left, let comparator, let right, let comparison):
            let first = try left.value(in: row).plain
            return try comparison.holds(first, comparator, try right.value(in: row).plain)
        case .and(let parts): return try parts.allSatisfy { try $0.holds(in: row) }
        case .or(let parts): return try parts.contains { try $0.holds(in: row) }
        case .not(let part): return try !part.holds(in: row)
        }
    }
}
