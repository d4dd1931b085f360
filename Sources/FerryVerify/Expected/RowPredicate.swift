internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite

/// An entity mapping's filter: the source's row decides alone, if it has all values.
struct RowFilter {
    private let condition: Predicate
    private let own: RowPredicate?
    private let rows: MappedSourceRows
    private let evaluator: PlainEvaluator

    /// Nil if the mapping has none.
    init?(
        _ mapping: ResolvedEntityMapping, of rows: MappedSourceRows, by evaluator: PlainEvaluator,
        in context: VerificationContext
    ) {
        guard let condition = mapping.filter else { return nil }
        (self.condition, self.rows, self.evaluator) = (condition, rows, evaluator)
        own = RowPredicate.make(condition, of: mapping, rows: rows, in: context)
    }

    /// Whether the current row decides alone, without a scope.
    var isOwn: Bool { own != nil && rows.isOwn }

    func passes(_ scope: PlainScope?) throws -> Bool {
        if let own, rows.isOwn { return try own.holds(rows.row.walk) }
        return try evaluator.holds(condition, in: scope ?? PlainScope(source: rows.object))
    }
}

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
