internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Counts of one destination table's rows for several checks, in one reading: rows of each entity, those with NULL in a
/// mandatory attribute, foreign keys with wrong companion columns.
struct TableTally: Sendable {
    private enum Item: Hashable, Sendable {
        case entity(String)
        /// In one count for all attributes, which few rows or none need one by one.
        case empty(entity: String)
        case companions(PropertyKey)
    }

    /// An item with the SQL condition of the rows that it counts.
    private typealias Counted = (item: Item, condition: String)

    private var counts: [Item: Int64] = [:]
    private(set) var rows: Int64 = 0
    /// Whether no statement could write the table: its rows are those of the source, and were not read.
    private var isKept = false

    // MARK: Parts

    /// Parts that count the rows of all tables that a statement could write.
    static func parts(in context: VerificationContext) throws -> [CheckPart] {
        try context.destinationTables.filter { !KeptTables.hold($0.name, in: context) }.flatMap { table in
            let conditions = try items(of: table, in: context).map(\.condition)
            let indexed = try context.indexedTables.get()[table.name]?.rows ?? IndexedRows([])
            let key = context.progress.state.hashKey
            return try ranges(of: table, in: context).map { name, range in
                CheckPart(name: name, subject: table.name) { context, outcome in
                    let (sums, counts) = try indexed.sums(
                        in: table.name, where: range.condition(on: "Z_PK"), counting: conditions, key: key, context)
                    (outcome.sums, outcome.tally) = (sums, counts)
                }
            }
        }
    }

    /// The parts that read an entity's table for its counts and its indexes; nil for another table.
    static func parts(forIndexesOf table: String, in context: VerificationContext) throws -> [String]? {
        try context.destinationTables.first { $0.name == table }.map { try ranges(of: $0, in: context).map(\.name) }
    }

    static func all(in context: VerificationContext) throws -> [String: TableTally] {
        var tallies: [String: TableTally] = [:]
        for table in context.destinationTables { tallies[table.root] = try TableTally(of: table, in: context) }
        return tallies
    }

    init(of table: EntityTable, in context: VerificationContext) throws {
        if KeptTables.hold(table.name, in: context) {
            isKept = true
            return
        }
        let items = try Self.items(of: table, in: context).map(\.item)
        for (name, _) in try Self.ranges(of: table, in: context) {
            let found = context.progress.state.outcomes[name]?.tally ?? []
            rows += found.first ?? 0
            for (item, count) in zip(items, found.dropFirst()) { counts[item, default: 0] += count }
        }
    }

    private static func ranges(
        of table: EntityTable, in context: VerificationContext
    ) throws -> [(name: String, range: KeyRange)] {
        try KeyRange.parts(
            "tally:\(table.root)", of: "destination.\(table.name)", columns: table.columns.count, on: context.connection
        )
    }

    // MARK: Counted items

    private static func items(
        of table: EntityTable, in context: VerificationContext
    ) throws -> [Counted] {
        let (model, layout) = (context.destinationModel, context.destination)
        var items: [Counted] = []
        for entity in model.family(of: table.root) {
            let number = try context.destinationNumber(of: entity)
            items.append((.entity(entity), "Z_ENT = \(number)"))
            let empty = mandatory(of: entity, in: context).map { "\($0.column) IS NULL" }
            if empty.isEmpty { continue }
            items.append((.empty(entity: entity), "Z_ENT = \(number) AND (\(empty.balanced(by: "OR")))"))
        }
        for key in context.foreignKeys[table.name] ?? [] {
            guard
                case .foreignKey(table.name, let column, let entityColumn, let orderColumn)? =
                    layout.relationshipStorage[key],
                let relationship = model.relationship(key.property, of: key.entity)
            else { continue }
            // Rows of no entity in the table are counted in any case.
            var wrong =
                key.entity == table.root
                ? [] : ["Z_ENT NOT IN (\(context.destinationNumbers(ofFamily: key.entity)))"]
            // With several entities, the object itself must be read.
            let isOne = model.family(of: relationship.destinationEntity).count == 1
            let other = isOne ? try context.destinationNumber(of: relationship.destinationEntity) : nil
            if let entityColumn, let other { wrong.append("\(entityColumn) IS NOT \(other)") }
            if let orderColumn { wrong.append("typeof(\(orderColumn)) <> 'integer'") }
            let without = [entityColumn, orderColumn].compactMap { $0 }.map { "\($0) IS NOT NULL" }
            if wrong.isEmpty, without.isEmpty { continue }
            func any(_ conditions: [String]) -> String {
                conditions.isEmpty ? "0" : conditions.joined(separator: " OR ")
            }
            items.append((.companions(key), "CASE WHEN \(column) IS NULL THEN \(any(without)) ELSE \(any(wrong)) END"))
        }
        return items
    }

    static func mandatory(
        of entity: String, in context: VerificationContext
    ) -> [(attribute: String, column: String)] {
        context.destinationModel.leaves(of: entity).compactMap { attribute in
            attribute.isOptional || attribute.isTransient || attribute.isDerived
                ? nil : context.destination.column(of: attribute.name, in: entity).map { (attribute.name, $0.name) }
        }
    }

    // MARK: Results

    var rowsByEntity: [String: Int64] {
        var rows: [String: Int64] = [:]
        for case (.entity(let entity), let count) in counts where count > 0 { rows[entity] = count }
        return rows
    }

    var hasOnlyKnownEntities: Bool { isKept || rows == rowsByEntity.values.reduce(0, +) }

    /// Whether no row of an entity has NULL in a mandatory attribute; nil if the table was not read.
    func isComplete(_ entity: String) -> Bool? { isKept ? nil : counts[.empty(entity: entity)] ?? 0 == 0 }

    /// Whether only rows of its entities have a foreign key, with companion columns exactly where it is not NULL.
    func hasSoundCompanions(_ key: PropertyKey) -> Bool {
        hasOnlyKnownEntities && counts[.companions(key), default: 0] == 0
    }
}

/// Makes the counts of ``TableTally`` for other checks; it reports nothing itself.
struct TallyCheck: Check {
    static let name = "tally"

    func parts(in context: VerificationContext) throws -> [CheckPart] { try TableTally.parts(in: context) }
}
