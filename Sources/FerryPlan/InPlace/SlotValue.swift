internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// A column of a destination table and what each entity mapping puts into it; a mapping that is not named leaves it
/// empty.
struct ColumnSlot: Sendable, Equatable {
    var column: Column
    /// By the mapping's position.
    var values: [Int: SlotValue] = [:]
    /// The declared name, for messages.
    var property: PropertyKey
}

/// The value of a column in the rows of one entity mapping, from columns of the same row.
enum SlotValue: Sendable, Hashable {
    /// As it stands in a column of the source table.
    case column(String)
    case constant(DefaultValue)
    case computed(RowComputation)
    /// The number of the entity that a key leads to: translated from the old number, or the only possible one.
    case number(key: String, old: String?, [NumberPair])

    /// - Throws: ``FerryError`` when an expression is more than SQL can say of one row.
    init(_ value: ColumnSource, in source: StoreLayout) throws(FerryError) {
        switch value {
        case .column(let column): self = .column(column)
        case .constant(let constant): self = .constant(constant)
        case .expression(let expression): self = .computed(try RowComputation(expression, in: source))
        }
    }

    /// The column whose values it takes over as they stand.
    var column: String? { if case .column(let column) = self { column } else { nil } }

    /// The source column whose values it converts, when it reads no other.
    var base: String? {
        switch self {
        case .column(let column): column
        case .constant: nil
        case .computed(let computation): computation.base
        case .number(_, let old, _): old
        }
    }

    /// The SQL of the value.
    ///
    /// - Parameters:
    ///   - names: What the source's columns are called when the statement runs, where that is another name.
    ///   - values: Takes constants.
    /// - Returns: The SQL.
    func sql(names: [String: String] = [:], _ values: inout InPlaceValues) -> String {
        let name = { (column: String) in names[column] ?? column }
        switch self {
        case .column(let column): return name(column)
        case .constant(let value): return values.add(value)
        case .computed(let computation): return computation.sql(names: names, &values)
        case .number(let key, nil, let pairs):
            return "CASE WHEN \(name(key)) IS NOT NULL THEN \(pairs.first.map { String($0.new) } ?? "NULL") END"
        case .number(_, let old?, let pairs):
            return pairs.isEmpty ? "NULL" : "CASE \(name(old)) \(pairs.cases) END"
        }
    }
}

/// An entity's number in the store and in the new version.
struct NumberPair: Sendable, Hashable {
    var old: Int64
    var new: Int64
}

extension [NumberPair] {
    /// What stands in a CASE over the old number.
    var cases: String { map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ") }
}

/// An expression over the columns of its own row, translated once, for whatever the columns are called in a statement.
struct RowComputation: Sendable, Hashable {
    fileprivate enum Operand: Hashable {
        case column(String)
        case value(DefaultValue)
    }

    /// The source column whose values it converts, when it reads no other.
    let base: String?
    /// The SQL, taken apart at its operands: every second part is the place of one of them.
    private let parts: [String]
    private let operands: [Operand]

    /// - Throws: ``FerryError`` when the expression reads more than its own row.
    init(_ expression: ColumnExpression, in source: StoreLayout) throws(FerryError) {
        let mapping = expression.mapping
        var translator = SQLTranslator(
            scope: mapping.expressionScope(in: source.model),
            resolver: RowOperands(source: source, entity: mapping.source))
        let sql = try translator.sql(expression.computation(in: source.model))
        parts = sql.split(separator: RowOperands.mark, omittingEmptySubsequences: false).map(String.init)
        operands = translator.resolver.operands
        base = expression.base
    }

    func sql(names: [String: String], _ values: inout InPlaceValues) -> String {
        var texts: [String] = []
        for operand in operands {
            switch operand {
            case .column(let column): texts.append(names[column] ?? column)
            case .value(let value): texts.append(values.add(value))
            }
        }
        return parts.enumerated().map { $0.isMultiple(of: 2) ? $1 : Int($1).map { texts[$0] } ?? "" }.joined()
    }
}

/// Collects the columns of an expression in the row at hand, and its constants.
private struct RowOperands: PathResolver {
    /// Stands around the place of an operand; no SQL has it.
    static let mark: Character = "\0"

    let source: StoreLayout
    let entity: String
    private(set) var operands: [RowComputation.Operand] = []

    init(source: StoreLayout, entity: String) { (self.source, self.entity) = (source, entity) }

    private mutating func add(_ operand: RowComputation.Operand) -> String {
        operands.append(operand)
        return "\(Self.mark)\(operands.count - 1)\(Self.mark)"
    }

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        guard path.start == .source, path.hops.isEmpty, case .attribute(_, let property) = path.end,
            let column = source.column(of: property.joined(separator: "."), in: entity)?.name
        else { throw Self.tooMuch }
        return add(.column(column))
    }

    mutating func elementText() throws(FerryError) -> String { throw Self.tooMuch }

    mutating func parameter(program: [UInt8]) -> String { add(.value(.blob(program))) }

    mutating func parameter(_ value: SQLParameter) -> String {
        // Nothing that is inferred asks for the time.
        guard case .constant(let constant) = value, let stored = constant.stored else { return "NULL" }
        return add(.value(stored))
    }

    private static var tooMuch: FerryError {
        FerryError(.unsupported, "An expression reads more than the attributes of its own object.")
    }
}
