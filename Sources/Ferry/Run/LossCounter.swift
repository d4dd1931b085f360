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

    /// The losses with their counts, without those that no row has.
    ///
    /// - Parameters:
    ///   - losses: What is lost.
    ///   - all: Whether large tables are counted, too.
    /// - Returns: Those that some row has, or may have.
    /// - Throws: ``DatabaseError``.
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
        var isNarrowed = false
        if case .narrowed = loss.cause { isNarrowed = true }
        guard !isNarrowed || loss.step == 1, let place = place(of: loss.property, in: loss.entities) else {
            return loss.count
        }
        let size = rowsToRead(loss)
        let condition = place.condition + (isNarrowed ? place.fraction : "")
        if all || size <= Self.fewRows {
            return .exactly(
                try connection.integer("SELECT count(*) FROM \(place.table) WHERE \(condition)", place.numbers) ?? 0)
        }
        if loss.property == nil { return loss.count }
        let isThere = try connection.integer(
            """
            SELECT EXISTS (SELECT 1 FROM \(place.table) WHERE \(condition) AND rowid <= ifnull(
                (SELECT rowid FROM \(place.table) ORDER BY rowid LIMIT 1 OFFSET \(Self.fewRows - 1)), \(Int64.max)))
            """,
            place.numbers)
        return isThere == 1 ? .some : .unknown
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
        /// Further: whether a number has a part that a whole one has not.
        var fraction = ""
        var numbers: [Value]
    }

    private func place(of property: String?, in entities: [String]) -> Place? {
        guard let first = entities.first, let table = layout.table(of: first) else { return nil }
        let numbers = entities.compactMap { layout.number(of: $0) }.map { Value.integer($0) }
        let own = "Z_ENT IN (\(numbers.map { _ in "?" }.joined(separator: ", ")))"
        guard let property else {
            return Place(table: Connection.quoted(table.name), condition: own, numbers: numbers)
        }
        if let column = layout.column(of: property, in: first) {
            let name = Connection.quoted(column.name)
            return Place(
                table: Connection.quoted(table.name), condition: "\(own) AND \(name) IS NOT NULL",
                fraction: " AND \(name) <> CAST(\(name) AS INTEGER)", numbers: numbers)
        }
        switch layout.storage(of: property, in: first) {
        case .foreignKey(_, let column, _, _):
            return Place(
                table: Connection.quoted(table.name),
                condition: "\(own) AND \(Connection.quoted(column)) IS NOT NULL", numbers: numbers)
        case .inverseForeignKey(let table, let column, _, _), .inverseless(let table, let column),
            .join(let table, let column, _, _, _):
            // Links, of whichever entity of the hierarchy: the keys alone do not tell.
            return Place(
                table: Connection.quoted(table), condition: "\(Connection.quoted(column)) IS NOT NULL", numbers: [])
        case nil: return nil
        }
    }
}
