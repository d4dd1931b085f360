internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// A column of a destination table and what each entity mapping puts into it; a mapping that is not named leaves it
/// empty.
struct ColumnSlot {
    var column: Column
    /// By the mapping's position.
    var values: [Int: SlotValue] = [:]
    /// The declared name, for messages.
    var property: PropertyKey
}

/// The value of a column in the rows of one entity mapping, from columns of the same row.
enum SlotValue: Hashable {
    /// As it stands in a column of the source table.
    case column(String)
    case constant(DefaultValue)
    case expression(Expression, Attribute, ResolvedEntityMapping)
    /// The number of the entity that a key leads to: translated from the old number, or the only possible one.
    case number(key: String, old: String?, [NumberPair])

    /// The source column whose rows it converts, when it reads no other.
    func base(in source: StoreLayout) -> String? {
        switch self {
        case .column(let column): return column
        case .constant: return nil
        case .number(_, let old, _): return old
        case .expression(let expression, _, let mapping):
            return expression.plainAttribute.flatMap { source.column(of: $0, in: mapping.source)?.name }
        }
    }

    /// The SQL of the value.
    ///
    /// - Parameters:
    ///   - names: What the source's columns are called when the statement runs.
    ///   - source: The source's layout.
    ///   - values: Takes constants.
    /// - Returns: The SQL.
    /// - Throws: ``FerryError`` when an expression is more than SQL can say of one row.
    func sql(
        names: [String: String], source: StoreLayout, values: inout InPlaceValues
    ) throws(FerryError) -> String {
        let name = { (column: String) in names[column] ?? column }
        switch self {
        case .column(let column): return name(column)
        case .constant(let value): return values.add(value)
        case .number(let key, nil, let pairs):
            return "CASE WHEN \(name(key)) IS NOT NULL THEN \(pairs.first.map { String($0.new) } ?? "NULL") END"
        case .number(_, let old?, let pairs):
            let cases = pairs.map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ")
            return cases.isEmpty ? "NULL" : "CASE \(name(old)) \(cases) END"
        case .expression(let expression, let attribute, let mapping):
            let scope = ExpressionScope(model: source.model, entity: mapping.source)
            let columns = RowColumns(source: source, mapping: mapping, names: names, values: values)
            var translator = SQLTranslator(scope: scope, resolver: columns)
            do throws(FerryError) {
                let sql = try translator.value(expression, for: attribute)
                values = translator.resolver.values
                return sql
            } catch {
                var error = error
                error.place.entityMapping = mapping.name
                throw error
            }
        }
    }
}

/// An entity's number in the store and in the new version.
struct NumberPair: Hashable {
    var old: Int64
    var new: Int64
}

extension Expression {
    /// The attribute of the source object that the whole expression is about; nil when it is several.
    fileprivate var plainAttribute: String? {
        switch self {
        case .keyPath: return sourceKeys
        case .predefined("ifnil:then:", let operands):
            guard operands.count == 2, case .constant = operands[1] else { return nil }
            return operands[0].plainAttribute
        default: return nil
        }
    }
}

/// Finds the columns of an expression in the row at hand.
private struct RowColumns: PathResolver {
    let source: StoreLayout
    let mapping: ResolvedEntityMapping
    let names: [String: String]
    var values: InPlaceValues

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        guard path.start == .source, path.hops.isEmpty, case .attribute(_, let property) = path.end,
            let column = source.column(of: property.joined(separator: "."), in: mapping.source)?.name
        else { throw Self.tooMuch }
        return names[column] ?? column
    }

    mutating func elementText() throws(FerryError) -> String { throw Self.tooMuch }

    mutating func parameter(program: [UInt8]) -> String { values.add(.blob(program)) }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        // Nothing that is inferred asks for the time.
        case .now, .constant(.null): "NULL"
        case .constant(.boolean(let flag)): values.add(.integer(flag ? 1 : 0))
        case .constant(.integer(let integer)): values.add(.integer(integer))
        case .constant(.double(let double)): values.add(.real(double))
        case .constant(.string(let string)): values.add(.text(string))
        }
    }

    private static var tooMuch: FerryError {
        FerryError(.unsupported, "An expression reads more than the attributes of its own object.")
    }
}
