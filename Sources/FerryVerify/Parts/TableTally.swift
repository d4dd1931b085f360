internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Counts of one destination table's rows for several checks, in one reading: rows of each entity, NULLs in mandatory
/// attributes, foreign keys with wrong companion columns.
struct TableTally: Sendable {
    fileprivate enum Item: Hashable, Sendable {
        case entity(String)
        case empty(PropertyKey)
        case companions(PropertyKey)
    }

    /// An item with the rows that it counts.
    struct Counted: Sendable {
        fileprivate let item: Item
        /// As an SQL condition, and as what a reader of rows looks at.
        let condition: String
        let rows: Rows

        enum Rows: Sendable {
            /// Rows with this `Z_ENT`.
            case entity(Int64)
            /// Those with NULL in a column.
            case empty(Int64, column: String)
            case companions(Companions)
        }

        /// A foreign key with its companion columns: rows in which they do not agree.
        struct Companions: Sendable {
            let column: String
            let entityColumn: String?
            let orderColumn: String?
            /// The numbers of `Z_ENT` of the objects that have the key.
            let holders: [Int64]
            /// The number that the entity column must hold; nil if only the object at the key can tell.
            let other: Int64?
        }
    }

    private var counts: [Item: Int64] = [:]
    private(set) var rows: Int64 = 0
    /// Whether no statement could write the table: its rows are those of the source, and only their number is known.
    private var isKept = false

    /// Limits of a query's columns, together below SQLite's 2,000.
    private static let mostColumns = 200
    private static let mostRowColumns = 1_000

    // MARK: Parts

    /// Parts that count the rows of all tables, except tables whose rows are compared and counted in one reading.
    static func parts(in context: VerificationContext) throws -> [CheckPart] {
        try context.destinationTables.filter {
            try !KeptTables.hold($0.name, in: context) && !isCountedWithRows($0, in: context)
        }.flatMap { table in
            let conditions = try items(of: table, in: context).map(\.condition)
            let indexed = try Self.parts(forIndexesOf: table.name, in: context).map { _ in
                try Self.indexed(table.name, in: context)
            }
            let key = context.progress.hashKey()
            return try ranges(of: table, in: context).map { name, range in
                CheckPart(name: name, subject: indexed == nil ? nil : table.name) { context, outcome in
                    guard let indexed else {
                        outcome.tally = try count(conditions, of: table.name, in: range, context)
                        return
                    }
                    let (sums, counts) = try indexed.sums(
                        in: table.name, where: range.condition(on: "Z_PK"), counting: conditions, key: key, context)
                    (outcome.sums, outcome.tally) = (sums, counts)
                }
            }
        }
    }

    /// The counts to be made when a table's rows are compared; nil if they need a reading of their own.
    static func counting(ofRowsOf table: EntityTable, in context: VerificationContext) throws -> RowCounting? {
        guard try isCountedWithRows(table, in: context) else { return nil }
        return RowCounting(
            items: try items(of: table, in: context), indexed: try indexed(table.name, in: context),
            key: context.progress.hashKey())
    }

    private static func indexed(_ table: String, in context: VerificationContext) throws -> IndexedRows {
        try context.indexReadings.get().indexes(of: table)?.rows ?? IndexedRows([])
    }

    /// Whether the row comparison reads all rows, range by range.
    private static func isCountedWithRows(_ table: EntityTable, in context: VerificationContext) throws -> Bool {
        let verification = context.verification
        guard verification.mode == .full, !verification.isAlone, context.newKeyMappings(into: table.root).isEmpty,
            RowWalk.isDivisible(table.root, in: context)
        else { return false }
        // No range includes the lowest of all keys.
        let lowest = try KeyRange.keys(of: "destination.\(table.name)", on: context.connection).lowest
        return try lowest > .min && table.columns.count <= mostRowColumns
            && items(of: table, in: context).count <= mostColumns
    }

    /// The parts that read a table for its counts and its indexes; nil if the indexes need parts of their own.
    static func parts(forIndexesOf table: String, in context: VerificationContext) throws -> [String]? {
        guard let known = context.destinationTables.first(where: { $0.name == table }),
            try context.indexReadings.get().indexes(of: table)?.compared.isEmpty == false,
            try items(of: known, in: context).count <= mostColumns
        else { return nil }
        return try ranges(of: known, in: context).map(\.name)
    }

    static func all(in context: VerificationContext) throws -> [String: TableTally] {
        var tallies: [String: TableTally] = [:]
        for table in context.destinationTables { tallies[table.root] = try TableTally(of: table, in: context) }
        return tallies
    }

    init(of table: EntityTable, in context: VerificationContext) throws {
        if KeptTables.hold(table.name, in: context) {
            isKept = true
            rows = context.progress.state.outcomes[KeptTables.name(of: table.name)]?.counted ?? 0
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
        if try isCountedWithRows(table, in: context) { return try RowsCheck.ranges(of: table, in: context) }
        return try KeyRange.parts(
            "tally:\(table.root)", of: "destination.\(table.name)", columns: table.columns.count, on: context.connection
        )
    }

    static func count(
        _ conditions: [String], of table: String, in range: KeyRange, _ context: VerificationContext
    ) throws -> [Int64] {
        try context.announce(table)
        var counts: [Int64] = []
        var rest = conditions[...]
        repeat {
            // As the condition of a CASE, a test for NULL does not read the value; as a result column it does.
            let columns = rest.prefix(mostColumns).map { "count(CASE WHEN \($0) THEN 1 END)" }
            rest = rest.dropFirst(mostColumns)
            let row = try context.connection.rows(
                """
                SELECT \((["count(*)"] + columns).joined(separator: ", ")) FROM destination.\(table) NOT INDEXED
                WHERE \(range.condition(on: "Z_PK"))
                """)
            let found = (row.first ?? []).map { $0.integer ?? 0 }
            counts += counts.isEmpty ? found[...] : found.dropFirst()
        } while !rest.isEmpty
        return counts
    }

    // MARK: Counted items

    private static func items(
        of table: EntityTable, in context: VerificationContext
    ) throws -> [Counted] {
        let (model, layout) = (context.destinationModel, context.destination)
        var items: [Counted] = []
        for entity in model.family(of: table.root) {
            let number = try context.destinationNumber(of: entity)
            items.append(Counted(item: .entity(entity), condition: "Z_ENT = \(number)", rows: .entity(number)))
            for (attribute, column) in mandatory(of: entity, in: context) {
                items.append(
                    Counted(
                        item: .empty(PropertyKey(entity, attribute)),
                        condition: "Z_ENT = \(number) AND \(column) IS NULL", rows: .empty(number, column: column)))
            }
        }
        for key in context.foreignKeys[table.name] ?? [] {
            guard
                case .foreignKey(table.name, let column, let entityColumn, let orderColumn)? =
                    layout.relationshipStorage[key],
                let relationship = model.relationship(key.property, of: key.entity)
            else { continue }
            var wrong = ["Z_ENT NOT IN (\(context.destinationNumbers(ofFamily: key.entity)))"]
            // With several entities, the object itself must be read.
            let isOne = model.family(of: relationship.destinationEntity).count == 1
            let other = isOne ? try context.destinationNumber(of: relationship.destinationEntity) : nil
            if let entityColumn, let other { wrong.append("\(entityColumn) IS NOT \(other)") }
            if let orderColumn { wrong.append("typeof(\(orderColumn)) <> 'integer'") }
            let without = [entityColumn, orderColumn].compactMap { $0 }.map { "\($0) IS NOT NULL" } + ["0"]
            items.append(
                Counted(
                    item: .companions(key),
                    condition: """
                        CASE WHEN \(column) IS NULL THEN \(without.joined(separator: " OR "))
                        ELSE \(wrong.joined(separator: " OR ")) END
                        """,
                    rows: .companions(
                        Counted.Companions(
                            column: column, entityColumn: entityColumn, orderColumn: orderColumn,
                            holders: context.destination.numbers(ofFamily: key.entity), other: other))))
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

    /// The rows of an entity with NULL in a mandatory attribute.
    func empty(_ attribute: String, of entity: String) -> Int64 { counts[.empty(PropertyKey(entity, attribute))] ?? 0 }

    /// Whether only rows of its entities have a foreign key, with companion columns exactly where it is not NULL.
    func hasSoundCompanions(_ key: PropertyKey) -> Bool { isKept || counts[.companions(key)] == 0 }
}

/// Makes the counts of ``TableTally`` for other checks; it reports nothing itself.
struct TallyCheck: Check {
    static let name = "tally"
    static let isQuick = true
    static let scope = CheckScope.any

    func parts(in context: VerificationContext) throws -> [CheckPart] { try TableTally.parts(in: context) }
}
