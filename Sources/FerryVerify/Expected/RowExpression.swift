internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// An expression over constants and attributes of the source's own row, whose names are looked up once instead of row by
/// row; its values are those of ``PlainEvaluator``, by the same functions.
indirect enum RowExpression {
    case constant(PlainValue)
    case column(Int, Attribute)
    case call(String, [RowExpression])

    /// What the evaluator itself makes something of, beside ``PlainFunction``.
    private static let special: Set<String> = [
        "now", "noindex:", "castObject:toType:", "ifnil:then:", "count:", "sum:", "average:", "min:", "max:",
        "join:with:", "split:by:at:", "median:", "mode:", "stddev:", "random", "random:", "randomn:",
        SetOperator.union.rawValue, SetOperator.intersect.rawValue, SetOperator.minus.rawValue,
        Expression.tableSelector,
    ]

    /// Nil where anything else is asked for than the row at hand.
    init?(
        _ expression: Expression, of mapping: ResolvedEntityMapping, rows: SourceRows, in context: VerificationContext
    ) {
        switch expression {
        case .constant(let constant): self = .constant(PlainEvaluator.value(ofConstant: constant))
        case .keyPath(let base, let steps):
            guard base == .variable("source") || base == .evaluatedObject, steps.count == 1,
                case .key(let name)? = steps.first,
                context.sourceModel.relationship(name, of: mapping.source) == nil,
                let attribute = context.sourceModel.attribute(name, of: mapping.source),
                attribute.type != .composite, let column = rows.column(of: name, in: mapping.source)
            else { return nil }
            self = .column(column, attribute)
        case .predefined(let selector, let arguments):
            if Self.special.contains(selector) { return nil }
            var operands: [RowExpression] = []
            for argument in arguments {
                guard let operand = RowExpression(argument, of: mapping, rows: rows, in: context) else { return nil }
                operands.append(operand)
            }
            self = .call(selector, operands)
        default: return nil
        }
    }

    /// The value for a row whose columns can all be read.
    func value(in row: Statement) throws -> PlainValue {
        switch self {
        case .constant(let value): return value
        case .column(let column, let attribute): return try StoredValue.decode(row, column, as: attribute)
        case .call(let selector, let operands):
            let values = try operands.map { try $0.value(in: row).plain }
            if let value = try PlainTypedFunction.value(of: selector, values) { return value }
            return try PlainFunction.value(of: selector, values)
        }
    }
}
