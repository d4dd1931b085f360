internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite

/// A condition over constants and the source row's columns, found once; it holds as in ``PlainEvaluator``.
struct RowPredicate {
    /// Whether the condition holds for a row without large values.
    let holds: (Statement) throws -> Bool

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
        case .constant(let value): return RowPredicate { _ in value }
        case .and(let parts):
            return all(parts).map { parts in RowPredicate { row in try parts.allSatisfy { try $0.holds(row) } } }
        case .or(let parts):
            return all(parts).map { parts in RowPredicate { row in try parts.contains { try $0.holds(row) } } }
        case .not(let part):
            return make(part, of: mapping, rows: rows, in: context).map { part in
                RowPredicate { row in try !part.holds(row) }
            }
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
                let isNull = comparison.comparator == .equal
                return RowPredicate { row in try other.isNull(in: row) == isNull }
            }
            let rule = PlainComparison(options: comparison.options, patterns: PlainPatterns())
            return RowPredicate { row in
                try rule.holds(left.value(row).plain, comparison.comparator, right.value(row).plain)
            }
        }
    }
}
