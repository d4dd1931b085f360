internal import CFloor
internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A careful migration by hand: plain SQL fills the new store's tables from the old store.
///
/// The rules are the same for every floor: the library that Ferry uses, `journal_mode=TRUNCATE`, `synchronous=FULL`, 8
/// MiB of page cache, no helper threads, and the page size and `auto_vacuum` of Core Data's stores.
struct SQLFloor {
    let connection: Connection
    let layout: StoreLayout

    /// The layouts of both stores, computed before the measured work.
    struct Plan {
        /// The old store.
        let source: String
        let old: StoreLayout
        let new: StoreLayout

        init(_ data: String) throws {
            try self.init(source: Subject.store(data), Subject.catalog(data), from: "Version1", to: Subject.target)
        }

        init(source: String, _ catalog: ModelCatalog, from old: String, to new: String) throws {
            self.source = source
            self.old = try StoreLayout.canonical(for: catalog.version(named: old).model)
            self.new = try StoreLayout.canonical(for: catalog.version(named: new).model)
        }

        /// Returns `Z_ENT` of an entity in the new store.
        func number(of entity: String) throws -> Int64 {
            guard let number = new.number(of: entity) else {
                throw FerryError(.internalError, "The new store has no entity \(entity).")
            }
            return number
        }
    }

    /// Opens the new store with its empty tables, and attaches the old one as `source`.
    init(_ plan: Plan, work: String) throws { try self.init(plan, at: "\(work)/Floor.sqlite") }

    init(_ plan: Plan, at path: String) throws {
        layout = plan.new
        connection = try Connection(path: path, mode: .create)
        try StoreCreation.prepare(connection)
        try Self.setRules(connection)
        try connection.attach(path: plan.source, as: "source", mode: .immutable)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
        }
    }

    /// Sets the pragmas that all floors share.
    static func setRules(_ connection: Connection) throws {
        try connection.execute(
            """
            PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; PRAGMA threads = 0;
            PRAGMA secure_delete = OFF; PRAGMA temp.cache_size = -8192
            """)
    }

    /// Runs the statements in one durable transaction.
    func together(_ statements: [String]) throws {
        try connection.transaction { for statement in statements { try connection.execute(statement) } }
    }

    /// Runs the statement over ranges of keys (`?1` exclusive, `?2`), each range in a durable transaction.
    func chunked(_ sql: String, table: String, rows: Int) throws {
        let statement = try connection.prepare(sql)
        let highest = try connection.integer("SELECT max(Z_PK) FROM source.\(table)") ?? 0
        for low in stride(from: 0, to: highest, by: rows) {
            try connection.transaction {
                try statement.bind(low, at: 1)
                try statement.bind(low + Int64(rows), at: 2)
                try statement.run()
            }
        }
    }

    /// The statements that make the new store's secondary indexes.
    var indexes: [String] { layout.indexes.map(\.sql) }

    /// Runs the loop in C in one durable transaction.
    func carry(_ read: String, _ write: String, scaled: Int32, by factor: Double) throws {
        try connection.transaction {
            var rows: Int64 = 0
            let code = cfloor_carry(connection.handle, read, write, scaled, factor, &rows)
            guard code == 0 else { throw connection.error(code) }
        }
    }

    /// Throws when the floor carried fewer rows than Ferry: such a floor cannot be compared.
    static func require(_ rows: Int, in table: String, work: String, file: String = "Floor.sqlite") throws {
        let connection = try Connection(path: "\(work)/\(file)", mode: .readOnly)
        let found = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
        guard found == Int64(rows) else {
            throw FerryError(.internalError, "A floor wrote \(found) rows into \(table) instead of \(rows).")
        }
    }
}

extension StoreLayout {
    /// The join table of a many-to-many relationship, seen from one side.
    struct Join {
        var table: String
        var own: String
        var other: String
        /// Whether the table's primary key begins with this side's column.
        var isOwnFirst: Bool
    }

    func join(_ entity: String, _ relationship: String) throws -> Join {
        let key = PropertyKey(entity, relationship)
        for table in joinTables {
            if table.relationship == key {
                return Join(
                    table: table.name, own: table.firstColumn, other: table.secondColumn, isOwnFirst: true)
            }
            if table.inverse == key {
                return Join(
                    table: table.name, own: table.secondColumn, other: table.firstColumn, isOwnFirst: false)
            }
        }
        throw FerryError(.internalError, "\(entity).\(relationship) has no join table.")
    }
}
