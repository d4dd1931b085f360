internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Counts what a store's rows hold of what a migration loses.
struct LossCounter {
    /// Tables up to here are counted in no time; of larger ones only the first rows are looked at.
    private static let fewRows: Int64 = 100_000

    /// The store, as `main`.
    let connection: Connection
    let layout: StoreLayout
    /// Rows of exactly each entity, as far as known.
    let rows: [String: Int64]
    /// What was counted on the way over the store's pages, where they were walked over.
    var walk: PageWalk?

    /// Whether rows have these, 1 or 0; what has no place in the store is left out.
    func presence(of properties: [StoredProperty]) throws -> [StoredProperty: Int64] {
        var known: [StoredProperty: Int64] = [:]
        for property in properties {
            guard let place = place(of: property.property, in: [property.entity]) else { continue }
            known[property] = try connection.integer(
                "SELECT EXISTS (SELECT 1 FROM \(place.table) WHERE \(place.condition))", place.numbers)
        }
        return known
    }

    /// The losses that some row has, or may have, with their counts; of large tables only where all are to be counted.
    func counted(_ losses: [ChainLoss], all: Bool) throws -> [ChainLoss] {
        try losses.compactMap { loss in
            var loss = loss
            switch loss.count {
            case .exactly: break
            case .about, .some, .unknown: loss.count = try count(loss, all: all)
            }
            return loss.count == .exactly(0) ? nil : loss
        }
    }

    private func count(_ loss: ChainLoss, all: Bool) throws -> ChainLoss.Count {
        // What a filter or a conversion takes away of objects is known to the run alone.
        guard loss.cause != .filtered else { return loss.count }
        var change = ""
        if case .narrowed(let type) = loss.cause {
            // Later steps convert what the rows of the store do not tell.
            guard loss.step == 1, let column = column(of: loss) else { return loss.count }
            try registerRounding()
            change = " AND " + Self.changes(column, in: type)
        }
        guard let place = place(of: loss.property, in: loss.entities) else { return loss.count }
        let (condition, isSmall) = (place.condition + change, all || rowsToRead(loss) <= Self.fewRows)
        func number(_ sql: String) throws -> Int64 { try connection.integer(sql, place.numbers) ?? 0 }
        if case .relatedToOne(let isExact) = loss.cause {
            guard loss.step == 1 else { return loss.count }
            guard isSmall, let key = place.key else { return .unknown }
            // Links beyond the first of each object that has some.
            let count = try number(
                "SELECT count(*) - count(DISTINCT \(key)) FROM \(place.table) WHERE \(condition)")
            return isExact || count == 0 ? .exactly(count) : .some
        }
        if loss.isOfOrder {
            guard isSmall, let key = place.key else { return .unknown }
            // Objects that have several related ones, and so an order among these.
            let count = try number(
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM \(place.table) WHERE \(condition) GROUP BY \(key) HAVING count(*) > 1)
                """)
            // What steps before it leave of them only the run knows.
            return loss.step == 1 || count == 0 ? .exactly(count) : .unknown
        }
        if change.isEmpty, let counted = countedOnTheWay(place) { return .exactly(counted) }
        if isSmall { return .exactly(try number("SELECT count(*) FROM \(place.table) WHERE \(condition)")) }
        if loss.property == nil { return loss.count }
        let isThere = try number(
            """
            SELECT EXISTS (SELECT 1 FROM \(place.table) WHERE \(condition) AND rowid <= ifnull(
                (SELECT rowid FROM \(place.table) ORDER BY rowid LIMIT 1 OFFSET \(Self.fewRows - 1)), \(Int64.max)))
            """)
        return isThere == 1 ? .some : .unknown
    }

    /// Rows that have what stands in a column, or all of the entities; nil where they were not counted.
    private func countedOnTheWay(_ place: Place) -> Int64? {
        guard let table = place.own, let tally = walk?.tallies[table] else { return nil }
        var count: Int64 = 0
        for number in place.numbers.compactMap(\.integer) {
            count += tally.rows[number] ?? 0
            guard let column = place.column else { continue }
            guard let empty = tally.empty(column, of: number) else { return nil }
            count -= empty
        }
        return count
    }

    // MARK: Narrowed values

    private func column(of loss: ChainLoss) -> String? {
        guard let property = loss.property, let entity = loss.entities.first else { return nil }
        return layout.column(of: property, in: entity).map { Connection.quoted($0.name) }
    }

    /// Whether a value is another one in a type that does not hold all of them, or less of it.
    private static func changes(_ column: String, in type: AttributeType) -> String {
        switch type {
        // Everything that is not zero becomes 1.
        case .boolean: "\(column) NOT IN (0, 1)"
        case .float: "\(rounding)(\(column))"
        case .double: "\(column) <> CAST(\(column) AS REAL)"
        // The fraction goes; a text is taken for the number that it is.
        default: "CAST(\(column) AS NUMERIC) <> CAST(CAST(\(column) AS NUMERIC) AS INTEGER)"
        }
    }

    private static let rounding = "ferry_changes_as_float"

    /// SQLite has no numbers of 32 bits to compare with.
    private func registerRounding() throws(DatabaseError) {
        try connection.register(Self.rounding, arguments: 1, deterministic: true) { arguments, result in
            switch arguments.numericStorageClass(0) {
            case .integer:
                let integer = arguments.integer(0)
                result.set(Int64(exactly: Float(integer)) == integer ? 0 as Int64 : 1)
            case .real:
                let real = arguments.real(0)
                result.set(Double(Float(real)) == real ? 0 as Int64 : 1)
            default: result.set(0 as Int64)
            }
        }
    }

    /// Rows of the tables that counting reads: of all entities in them, and of those that a relationship leads to.
    private func rowsToRead(_ loss: ChainLoss) -> Int64 {
        let model = layout.model
        var roots = Set(loss.entities.map { model.root(of: $0) })
        if let property = loss.property, let first = loss.entities.first,
            let relationship = model.relationship(property, of: first)
        {
            roots.insert(model.root(of: relationship.destinationEntity))
        }
        return rows.filter { roots.contains(model.root(of: $0.key)) }.values.reduce(0, +)
    }

    /// Where a property stands: a table, and the condition of the rows that have it.
    private struct Place {
        var table: String
        var condition: String
        var numbers: [Value]
        /// The table's name, where the rows are the entities' own.
        var own: String?
        /// The column whose values they are; nil for the objects themselves.
        var column: String?
        /// The column of keys of which several rows have the same; of a relationship alone.
        var key: String?
    }

    private func place(of property: String?, in entities: [String]) -> Place? {
        guard let first = entities.first, let table = layout.table(of: first) else { return nil }
        let numbers = entities.compactMap { layout.number(of: $0) }.map { Value.integer($0) }
        let own = "Z_ENT IN (\(numbers.map { _ in "?" }.joined(separator: ", ")))"
        var place = Place(table: Connection.quoted(table.name), condition: own, numbers: numbers)
        guard let property else {
            place.own = table.name
            return place
        }
        if let column = layout.column(of: property, in: first) {
            place.condition += " AND \(Connection.quoted(column.name)) IS NOT NULL"
            (place.own, place.column) = (table.name, column.name)
            return place
        }
        switch layout.storage(of: property, in: first) {
        case .foreignKey(_, let column, _, _):
            let key = Connection.quoted(column)
            place.condition += " AND \(key) IS NOT NULL"
            place.key = key
        case .inverseForeignKey(let links, let column, _, _), .inverseless(let links, let column),
            .join(let links, let column, _, _, _):
            // A link is that of the object whose key stands there.
            let key = Connection.quoted(column)
            place.condition = "\(key) IS NOT NULL AND \(key) IN (SELECT Z_PK FROM \(place.table) WHERE \(own))"
            (place.table, place.key) = (Connection.quoted(links), key)
        case nil: return nil
        }
        return place
    }
}

extension Configuration {
    /// The refusal of losses that are not allowed; nil when all of them are.
    func refusal(of losses: [ChainLoss]) -> FerryError? {
        guard refusesLosses else { return nil }
        let open = losses.filter { !allowedLosses.contains($0.name) && !allowedLosses.contains($0.entity) }
        guard !open.isEmpty else { return nil }
        var names: [String] = []
        for name in open.map(\.name) where !names.contains(name) { names.append(name) }
        return FerryError(
            .lossRefused, open.map(\.sentence).joined(separator: " "),
            remedy: """
                \(Self.way(out: open)), \
                or allow the loss with \(setting: .allowedLosses, each: names.map { .element($0) }, separator: " ").
                """,
            place: .init(entity: open[0].entity, property: open[0].property))
    }

    private static func way(out losses: [ChainLoss]) -> String {
        if losses.allSatisfy(\.isDamage) { return "Repair these rows with the app" }
        return losses.allSatisfy(\.isOfOrder)
            ? "Keep the order in the new version and in its mapping models" : "Give it an heir in a mapping model"
    }
}

extension ChainLoss {
    fileprivate var isDamage: Bool { if case .damaged = cause { true } else { false } }
}
