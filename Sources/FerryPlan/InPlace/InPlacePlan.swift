package import FerryBase
package import FerryMapping
package import FerryModel
package import FerryStore

/// The statements that turn a store into the next version within itself, in order.
///
/// Does no I/O: given the names that the store has and those that the new version wants, the same statements follow.
/// Metadata and the cached model are not among them: the engine writes them before ``closing``.
package struct InPlacePlan: Sendable, Equatable {
    /// How the tables of the new version come to be, and what fills each of their columns.
    var tables: [TableMove] = []
    var joinTables: [JoinMove] = []
    /// Everything up to the indexes of the new version.
    package internal(set) var statements: [InPlaceStatement] = []
    /// Triggers and the app's views and triggers, when nothing is written any more.
    package internal(set) var closing: [InPlaceStatement] = []
    /// Tables of the new version whose rows were written, as they are called then.
    package internal(set) var touched: Set<String> = []
    /// Changes of history that go with their entities, to be counted before the statements.
    package internal(set) var droppedHistory: [CountedRows] = []

    /// Rows of an entity that a query counts.
    package struct CountedRows: Sendable, Equatable {
        package let entity: String
        package let sql: String
    }

    /// Plans a step whose mappings were inferred.
    ///
    /// `source` is the store's actual layout, and `destination` that of a new store; `shape` is what the step must leave of
    /// the schema, where that is not what altering and the new version's layout give.
    ///
    /// - Throws: ``InPlaceObstacle``.
    package init(
        _ step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        shape: InPlaceShape? = nil
    ) throws(InPlaceObstacle) {
        try Self.check(step)
        var builder = InPlaceBuilder(step, source: source, schema: schema, destination: destination, shape: shape)
        try builder.build()
        self = builder.plan
    }

    init() {}

    /// The names of what earlier versions had left and what is not there any more: it stood in the way, or in a table
    /// that was made anew.
    package func leftBehind(
        of leftovers: [Leftover], in catalog: StoreCatalog, _ destination: StoreLayout
    ) -> [String] {
        let known = Set(tables.map(\.destination.name) + joinTables.map(\.destination.name))
        let altered = altered
        let indexes = Set(catalog.indexes.map(\.name)).subtracting(destination.indexes.map(\.name))
        let lost = leftovers.filter { leftover in
            switch leftover.kind {
            case .table: known.contains(leftover.table) || catalog.table(leftover.table) == nil
            case .column: altered[leftover.table].flatMap { catalog.table($0)?.column(leftover.part ?? "") } == nil
            case .index: !indexes.contains(leftover.name)
            case .entityName: true
            }
        }
        return lost.map(\.name)
    }

    /// Tables of the new version to those of the store that they continue.
    package var continued: [String: String] {
        Dictionary(
            uniqueKeysWithValues: tables.compactMap { move in move.source.map { (move.destination.name, $0.name) } })
    }

    /// Tables of the store that stay as they are but for their columns, to what they are called then.
    package var altered: [String: String] {
        Dictionary(uniqueKeysWithValues: tables.compactMap(\.kept).map { ($0.name, $0.newName) })
    }

    /// The tables of the store that stay, for objects and for links.
    var kept: [KeptTable] { tables.compactMap(\.kept) + joinTables.compactMap(\.kept) }

    /// Makes what ANALYZE once found say what it is to say in the end, in rows of table, index and numbers.
    package mutating func setStatistics(_ rows: [[String?]]) {
        let reason = "what ANALYZE found, of tables and indexes that were not made anew"
        statements.append(InPlaceStatement("DELETE FROM sqlite_stat1", writesObjects: false, reason: reason))
        for row in rows {
            var values = InPlaceValues()
            let texts = row.map { text in text.map { values.add(.text($0)) } ?? "NULL" }
            statements.append(
                InPlaceStatement(
                    "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (\(texts.joined(separator: ", ")))",
                    values: values, writesObjects: false, reason: reason))
        }
    }

    /// Whether a step's mappings are of the kind that rows can keep their places under.
    private static func check(_ step: ResolvedStep) throws(InPlaceObstacle) {
        for mapping in step.entityMappings where !mapping.readsEveryObject || !mapping.unique.isEmpty {
            throw .needsCopy("entity mapping \(mapping.name) chooses, multiplies or merges objects")
        }
        if let obstacle = step.obstacleToKeepingKeys { throw .needsCopy(obstacle) }
    }
}

/// One statement of a migration in place, with the values that it binds and why it is there.
package struct InPlaceStatement: Sendable, Hashable {
    package var sql: String
    /// Named parameters, as `:v0`.
    package var values: [InPlaceValues.Named]
    package var reason: String
    /// The entity of the new version all of whose rows, and no other row, the statement writes.
    ///
    /// It does not number them anew, and they alone belong into their table. So the rows that it changes need not be
    /// counted again.
    package let countedEntity: String?
    /// What an ALTER TABLE is about; nil for every other statement.
    package var alteration: Alteration?

    /// Whether it only writes objects and links: neither the schema nor what is as small as that.
    package let writesObjects: Bool

    package struct Alteration: Sendable, Hashable {
        package var table: String
        /// The table's name afterwards.
        package var newName: String
    }

    init(
        _ sql: String, values: InPlaceValues = InPlaceValues(), writesObjects: Bool, reason: String,
        alteration: Alteration? = nil, countedEntity: String? = nil
    ) {
        self.sql = sql
        self.countedEntity = countedEntity
        self.writesObjects = writesObjects
        self.values = values.named
        self.reason = reason
        self.alteration = alteration
    }

    /// Gives the rows of a relationship that becomes ordered their positions, in the order of the keys.
    static func numbering(
        _ column: String, of table: String, key: String, group: String, by order: String
    ) -> InPlaceStatement {
        InPlaceStatement(
            OrderPosition.numbering(column, of: table, key: key, group: group, by: order), writesObjects: true,
            reason: "the relationship is ordered")
    }
}

/// A table of the store that stays, under whatever name, with the changes of its columns.
struct KeptTable: Sendable, Equatable {
    let name: String
    let newName: String
    let columns: [String]
    /// Why columns are added.
    let reason: String
    var renames: [Renaming] = []
    var additions: [Column] = []
}

/// A column of the store and what the new version calls it.
struct Renaming: Sendable, Hashable {
    var from: String
    var to: String
}

/// The values that a statement is bound to: values of a model never stand in SQL text, only entity numbers do.
package struct InPlaceValues: Sendable, Hashable {
    package struct Named: Sendable, Hashable {
        package var name: String
        package var value: DefaultValue
    }

    private(set) var named: [Named] = []

    mutating func addNamed(_ name: String, _ value: DefaultValue) { named.append(Named(name: name, value: value)) }

    /// Adds a value and returns the parameter that stands for it.
    mutating func add(_ value: DefaultValue) -> String {
        if let known = named.first(where: { $0.value == value }) { return known.name }
        let name = ":v\(named.count)"
        named.append(Named(name: name, value: value))
        return name
    }
}

/// Why a step cannot be taken in place.
package enum InPlaceObstacle: Error, Sendable {
    /// A copy can do it; in words that follow "because".
    case needsCopy(String)
    /// Nothing can: the store holds what would lose its meaning.
    case refused(FerryError)
}

/// What a plan in place must know of a store beside the layout of its model.
package struct InPlaceSchema: Sendable {
    /// Upper-case name of every ordinary table to the statement that made it.
    package var tables: [String: String]
    /// Upper-case name of a join table to the columns of its primary key, in its order.
    package var joinKeys: [String: [String]] = [:]
    /// Indexes on the model's tables that Core Data has made.
    package var indexes: [IndexDefinition]
    /// Core Data's triggers, which call functions that only Apple registers, and R-Trees.
    package var triggers: [String] = []
    package var rTrees: [String] = []
    /// Tables of earlier versions of the model.
    package var leftoverTables: [String] = []
    /// The app's views and triggers on tables that keep their meaning, with their statements.
    package var views: [(name: String, sql: String)] = []
    package var appTriggers: [(name: String, sql: String)] = []
    package var history: HistoryTables?
    /// CloudKit's tables that name entities by number (`ZENTITYID`).
    package var numberedCloudKitTables: [String] = []
    /// Derived attributes under the names of the store; one that is missing is computed anew.
    package var derivedValues: [DerivedValue] = []

    package init(tables: [String: String], indexes: [IndexDefinition]) {
        self.tables = tables
        self.indexes = indexes
    }

    /// The schema of a store that Core Data would make anew, for plans without a store.
    package init(of layout: StoreLayout) {
        let entityTables = layout.tables.values.map { ($0.name.uppercased(), $0.sql) }
        let joinTables = layout.joinTables.map { ($0.name.uppercased(), $0.sql) }
        tables = Dictionary(entityTables + joinTables, uniquingKeysWith: { first, _ in first })
        indexes = layout.indexes
        derivedValues = layout.derivedValues
        triggers = layout.allTriggers.map(\.name)
        rTrees = layout.rTrees.map(\.name)
        for table in layout.joinTables { joinKeys[table.name.uppercased()] = table.keyColumns }
    }
}

/// What several steps in place, one after the other, leave of a schema; one step must leave it as they do.
///
/// Altered tables keep traces of every alteration: the order of their columns, quotes around names.
package struct InPlaceShape: Sendable {
    /// A table as it is in the end.
    package struct Table: Sendable, Hashable {
        package var sql: String
        /// Names of all its columns, in order.
        package var columns: [String]

        package init(sql: String, columns: [String]) {
            self.sql = sql
            self.columns = columns
        }
    }

    /// By upper-case name.
    package var tables: [String: Table]
    /// Indexes on Core Data's tables.
    package var indexes: [IndexDefinition]
    /// Tables of the new version whose rows the steps write.
    package var touched: Set<String>
    /// Upper-case names of tables that altering would leave in another form.
    package var remade: Set<String> = []
    /// Names of indexes that stay, but would say so in other words.
    package var rewritten: Set<String> = []

    package init(tables: [String: Table], indexes: [IndexDefinition], touched: Set<String>) {
        self.tables = tables
        self.indexes = indexes
        self.touched = touched
    }

    func sql(of table: String) -> String? { tables[table.uppercased()]?.sql }

    /// The place of a column in its table.
    func place(of column: String, in table: String) -> Int {
        tables[table.uppercased()]?.columns.firstIndex { $0.uppercased() == column.uppercased() } ?? .max
    }
}

/// What a step in place computes of the rows of one entity, as SQL over the table that they stand in before it.
package struct InPlaceComputations: Sendable {
    /// The entity of the older version.
    package let entity: String
    package let table: String
    /// `Z_ENT` of its rows.
    package let number: Int64
    /// Attributes of the newer version with their values.
    package let columns: [(property: String, sql: String)]
    package let values: [InPlaceValues.Named]

    /// Nil where nothing is computed.
    fileprivate init?(_ rows: TableMove.Rows, in move: TableMove) {
        let computed = move.slots.filter { slot in
            if case .computed? = slot.values[rows.position] { true } else { false }
        }
        guard let source = move.source, !computed.isEmpty else { return nil }
        var values = InPlaceValues()
        columns = computed.map { ($0.property.property, $0.values[rows.position]?.sql(&values) ?? "NULL") }
            .sorted { $0.property < $1.property }
        self.values = values.named
        (entity, table, number) = (rows.source, source.name, rows.numbers.old)
    }
}

extension InPlacePlan {
    /// What it computes, in the order of the entity mappings.
    package var computations: [InPlaceComputations] {
        tables.flatMap { move in move.rows.map { (rows: $0, move: move) } }
            .sorted { $0.rows.position < $1.rows.position }
            .compactMap { InPlaceComputations($0.rows, in: $0.move) }
    }
}
