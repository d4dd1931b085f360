internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Reads the source objects of one entity mapping for Swift, one row per element of its iteration, in order.
final class RowReader {
    static let keyPlace = 0
    static let versionPlace = 1
    static let ordinalPlace = 2
    static let elementKeyPlace = 3

    struct DestinationColumn {
        var name: String
        var value: RowValue
        /// Nil for what belongs to a relationship.
        var attribute: Attribute?
    }

    /// The statement at its current row.
    let select: Statement
    let row: StatementRow
    /// What the mapping sets, in the order of its attributes, then its foreign keys.
    let columns: [DestinationColumn]
    /// The values by which an object is found, in the order of `unique`.
    let uniqueValues: [RowValue]
    /// The places of the source's attributes, where all of them are read.
    let attributePlaces: [String: Int]
    private let filter: RowEvaluator?
    private let skipsInvalid: Bool

    init(_ sql: RowStatements, withAllAttributes: Bool = false, on connection: Connection) throws {
        let (context, mapping) = (sql.context, sql.mapping)
        let expressions = ExpressionSQL(context: context, mapping: mapping)
        var scope = try sql.scope(filtered: false)
        var selection = RowSelection()
        // An element of JSON has a place, one of a relationship a key; where there is neither, NULL stands twice.
        let ordinal = mapping.iteration.map { scope.jsonElements[$0.variable] == nil ? nil : scope.elementOrder } ?? nil
        let fixed = ["s.Z_PK", "s.Z_OPT", ordinal ?? "NULL AS ordinal", scope.elementKey ?? "NULL AS element"]
        for column in fixed { _ = selection.place(of: column) }
        filter = try mapping.filter.map { try expressions.rowCondition($0, in: &scope, &selection) }
        var columns: [DestinationColumn] = []
        var values: [String: RowValue] = [:]
        for rule in mapping.attributes {
            guard let attribute = context.destination.model.attribute(rule.name, of: mapping.destination),
                let column = context.destination.column(of: rule.name, in: mapping.destination)
            else {
                throw FerryError(
                    .internalError, "The new store has no column for \(mapping.destination).\(rule.name).")
            }
            let value = try expressions.rowValue(of: attribute, from: rule, in: &scope, &selection)
            guard let value else { continue }
            values[rule.name] = value
            columns.append(DestinationColumn(name: column.name, value: value, attribute: attribute))
        }
        for (assignment, contribution) in context.assignments.inline(of: mapping) {
            let keys = try ForeignKeySQL(context: context, mapping: mapping)
                .columns(of: assignment, contribution, in: &scope)
            for (column, value) in keys {
                columns.append(DestinationColumn(name: column, value: .column(selection.place(of: value))))
            }
        }
        var attributePlaces: [String: Int] = [:]
        if withAllAttributes {
            for (key, column) in context.source.attributeColumns(of: mapping.source) {
                attributePlaces[key.property] = selection.place(of: "s.\(column.name)")
            }
        }
        self.attributePlaces = attributePlaces
        self.columns = columns
        uniqueValues = mapping.unique.map { values[$0] ?? .constant(.null) }
        skipsInvalid = mapping.iteration?.skipsInvalid ?? false
        let text = """
            SELECT \(selection.columns.joined(separator: ", ")) FROM \(scope.from)\(scope.where) ORDER BY \(scope.order)
            """
        select = try RowStatements.SQL(text: text, parameters: scope.parameters).prepare(on: connection)
        row = StatementRow(select)
    }

    /// Begins with the rows of a range.
    func start(_ range: KeyRanges.Range) throws {
        try select.bind(.integer(range.low), named: ":low")
        try select.bind(.integer(range.high), named: ":high")
    }

    /// Whether the current row is carried: its JSON is valid or need not be, and the filter lets it through.
    func isTaken() throws -> Bool {
        if skipsInvalid, select.isNull(Self.ordinalPlace) { return false }
        return try filter?.holds(in: row) ?? true
    }
}

/// The objects that are found by the values of `unique`, one after another.
final class UniqueObjects {
    private let lookup: ObjectLookup
    private let search: Statement

    init(_ sql: RowStatements, on connection: Connection) throws {
        let lookup = try sql.lookup()
        self.lookup = lookup
        let count = sql.mapping.unique.count
        let function = "ferry_seek_\(sql.mapping.position)"
        try connection.register(function, arguments: count, deterministic: false) { [weak lookup] arguments, result in
            if let key = try lookup?.find(arguments, from: 0) { result.set(key) }
        }
        search = try connection.prepare(
            "SELECT \(function)(\((1...count).map { "?\($0)" }.joined(separator: ", ")))")
        search.isSilent = true
    }

    /// Makes sure that all objects are known; to be called first in each unit.
    func begin(after last: Int64) throws { try lookup.begin(after: last) }

    /// The object that has the values of the current row, if there is one.
    func find(_ reader: RowReader) throws -> Int64? {
        for (index, value) in reader.uniqueValues.enumerated() {
            switch value {
            case .column(let place): try search.bind(column: place, of: reader.select, at: index + 1)
            case .evaluated(let evaluator): try search.bind(try evaluator.value(in: reader.row), at: index + 1)
            case .constant(let value): try search.bind(value, at: index + 1)
            }
        }
        defer { search.reset() }
        return try search.step() && !search.isNull(0) ? search.integer(0) : nil
    }

    /// Makes a new object known by the values that were looked for last.
    func add(_ destination: Int64) throws { try lookup.add(destination) }
}
