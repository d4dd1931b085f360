internal import FerryBase
internal import FerryEngine
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// Counts the rows and values of a store that a migration loses.
package struct LossCounter {
    /// The most rows that are counted in no time.
    private static let fewRows: Int64 = 100_000

    /// The store, as `main`.
    let connection: Connection
    let layout: StoreLayout
    /// The number of rows of exactly each entity, if known.
    let rows: [String: Int64]
    /// The scans of tables whose rows are all counted.
    var scans: TableScans?
    /// The time for filters that ask for it, which is that of the run.
    let now: Double
    /// Whether tables with more than ``fewRows`` rows are read, too.
    let readsAll: Bool

    package init(
        of layout: StoreLayout, on connection: Connection, rows: [String: Int64] = [:], scans: TableScans? = nil,
        now: Double, readsAll: Bool = true
    ) {
        (self.connection, self.layout, self.rows, self.scans) = (connection, layout, rows, scans)
        (self.now, self.readsAll) = (now, readsAll)
    }

    /// Whether any row has a value of each property, as 1 or 0; properties without storage in the store are left out.
    package func presence(of properties: [StoredProperty]) throws -> [StoredProperty: Int64] {
        var known: [StoredProperty: Int64] = [:]
        for property in properties {
            guard let place = place(of: property.property, in: [property.entity]) else { continue }
            known[property] = try connection.integer(
                "SELECT EXISTS (SELECT 1 FROM \(place.table) WHERE \(place.condition))", place.numbers)
        }
        return known
    }

    /// Says what will be counted by scans, so that each table is read once.
    package func ask(for losses: [ChainLoss], _ properties: [StoredProperty]) {
        let asked = losses.map { ($0.property, $0.entities) } + properties.map { ($0.property, [$0.entity]) }
        for (property, entities) in asked {
            guard let place = place(of: property, in: entities), let column = place.column else { continue }
            for place in scanned(place) { scans?.ask(forRowsWithoutAny: [column], in: place) }
        }
    }

    /// The losses that some row has, or may have, with their counts.
    package func counted(_ losses: [ChainLoss]) throws -> [ChainLoss] {
        let merged = try countsOfMerged(losses)
        let counted = try losses.enumerated().compactMap { index, loss in
            var loss = loss
            if case .exactly = loss.count {} else { loss.count = try merged[index] ?? count(loss) }
            return loss.count == .exactly(0) ? nil : loss
        }
        // One value may be lost for several reasons.
        return counted.map { loss in
            guard counted.contains(where: { $0.mayCountValues(of: loss) }) else { return loss }
            var loss = loss
            loss.count = .atMost(loss.count.number)
            return loss
        }
    }

    /// The values, links, orders or objects that can be concerned, and of these the lost ones if the store's rows show them.
    private func count(_ loss: ChainLoss) throws -> ChainLoss.Count {
        guard let place = place(of: loss.property, in: loss.entities) else { return loss.count }
        let all = try held(loss, place)
        if all == .exactly(0) { return all }
        let most = ChainLoss.Count.atMost(all.number)
        switch loss.cause {
        case .removed, .noEntityMapping, .removedByMapping, .notCarried: return all
        case _ where loss.pass != 1: return most
        case .unordered, .orderedAnew: return all
        case .relatedToOne:
            guard let key = place.key, reads(loss) else { return most }
            // Keys beyond the first key of each object that has some.
            let count = try number(
                "SELECT count(*) - count(DISTINCT \(key)) FROM \(place.table) WHERE \(place.condition)", place)
            return loss.isBound && count > 0 ? most : .exactly(count)
        case .filtered, .carriedInPart, .narrowed, .contested:
            return try countOfSomeObjects(loss, place, most)
        case .leftToPolicy, .overruled, .merged, .shared, .damaged, .unfit, .history, .inTheWay: return most
        }
    }

    /// The properties with values that are computed anew, by the entities that declare them; the number of values is nil
    /// if they were not counted.
    package func transformed(
        _ properties: [StoredProperty]
    ) throws -> [(entity: String, property: String, values: Int64?)] {
        var found: [(entity: String, property: String, values: Int64?)] = []
        for property in properties {
            guard let name = property.property, let place = place(of: name, in: [property.entity]) else { continue }
            let loss = ChainLoss(
                entity: property.entity, property: name, entities: [property.entity], version: "", step: 1,
                cause: .removed)
            let held = try held(loss, place)
            if held == .exactly(0) { continue }
            let values: Int64? = if case .exactly(let count) = held { count } else { nil }
            let entity = layout.model.declaringEntity(of: name, in: property.entity) ?? property.entity
            if let known = found.firstIndex(where: { $0.entity == entity && $0.property == name }) {
                found[known].values = values.flatMap { count in found[known].values.map { $0 + count } }
            } else {
                found.append((entity, name, values))
            }
        }
        return found
    }

    /// How many values, links, orders or objects of the loss's property the store has.
    private func held(_ loss: ChainLoss, _ place: Place) throws -> ChainLoss.Count {
        if loss.isOfOrder {
            guard let key = place.key, reads(loss) else { return loss.count }
            // Objects with several related objects, which therefore have an order.
            let orders = "SELECT 1 FROM \(place.table) WHERE \(place.condition) GROUP BY \(key) HAVING count(*) > 1"
            let count = try number("SELECT count(*) FROM (\(orders))", place)
            return loss.pass == 1 || count == 0 ? .exactly(count) : .atMost(count)
        }
        if let counted = try countedByScan(place, of: loss.entities) { return .exactly(counted) }
        if reads(loss) {
            return .exactly(try number("SELECT count(*) FROM \(place.table) WHERE \(place.condition)", place))
        }
        return loss.property == nil ? loss.count : .atMost(loss.count.number)
    }

    private func number(_ sql: String, _ place: Place) throws -> Int64 {
        try connection.integer(sql, place.numbers) ?? 0
    }

    func reads(_ loss: ChainLoss) -> Bool { readsAll || rowsToRead(loss) <= Self.fewRows }

    /// Rows with a value in the column, or all rows of the entities; nil if they are not scanned.
    private func countedByScan(_ place: Place, of entities: [String]) throws -> Int64? {
        guard let scans, let table = place.ownTable, scans.include(table) else { return nil }
        let all = entities.reduce(0) { $0 + (rows[$1] ?? 0) }
        guard let column = place.column else { return all }
        return try scanned(place).reduce(all) { try $0 - scans.rows(withoutAny: [column], in: $1) }
    }

    /// The places of the entities' own rows in a scanned table.
    private func scanned(_ place: Place) -> [TableScans.Place] {
        guard let table = place.ownTable, scans?.include(table) == true else { return [] }
        return place.numbers.compactMap(\.integer).map { (table, $0) }
    }

    // MARK: Losses of some objects

    /// Counts the values of the objects that lose them, or the links that a later rule replaces.
    private func countOfSomeObjects(
        _ loss: ChainLoss, _ place: Place, _ most: ChainLoss.Count
    ) throws -> ChainLoss.Count {
        guard reads(loss) else { return most }
        // Of links in other rows no more is known, unless the rules show which are lost.
        let linked = loss.objects.links == nil ? nil : place.key.map { (place.table, $0) }
        guard loss.property == nil || place.ownColumn != nil || linked != nil else { return most }
        var value = place.ownColumn.map { " AND o.\($0) IS NOT NULL" } ?? ""
        if case .narrowed(let new) = loss.cause {
            guard let column = place.ownColumn else { return most }
            try ChangedValue.register(on: connection)
            value += " AND \(ChangedValue.sql("o.\(column)", in: new))"
        }
        do {
            var objects = ReadObjects(in: layout, now: now)
            let numbers = place.numbers.compactMap(\.integer).map { objects.parameter(.integer($0)) }
                .joined(separator: ", ")
            let table = layout.table(of: loss.entities[0])?.name ?? ""
            let own = ReadObjects.Object(key: "o.Z_PK", row: ("o", table))
            guard let condition = try condition(of: loss, own, place.end, &objects) else { return most }
            let other = place.ownColumn == nil ? linked.map { " CROSS JOIN \($0) AS l ON l.\($1) = o.Z_PK" } ?? "" : ""
            let rows = """
                \(Connection.quoted(table)) AS o\(other)
                WHERE o.Z_ENT IN (\(numbers))\(value) AND \(condition)
                """
            let count = try objects.integer("SELECT count(*) FROM \(rows)", on: connection)
            return loss.isBound && count > 0 ? .atMost(count) : .exactly(count)
        } catch let error as DatabaseError where !error.isInterrupted {
            // A filter or a conversion fails on some value, which the run reports.
            return most
        }
    }

    /// The condition of the rows that lose their value or link; nil if there is none in SQL.
    private func condition(
        of loss: ChainLoss, _ own: ReadObjects.Object, _ end: ReadObjects.Object?, _ objects: inout ReadObjects
    ) throws(FerryError) -> String? {
        let links = loss.objects.links
        guard let other = end ?? (links == nil ? own : nil) else { return nil }
        func all(_ readings: [ChainLoss.Reading], _ object: ReadObjects.Object) throws(FerryError) -> [String]? {
            var parts: [String] = []
            for reading in readings {
                guard let part = try objects.condition(reading, of: object) else { return nil }
                parts.append(part)
            }
            return parts
        }
        guard let of = try all(loss.objects.of, own), let except = try all(loss.objects.except, own),
            let ends = try all(links?.ends ?? [], other), let owners = try all(links?.except.map(\.owner) ?? [], own),
            let related = try all(links?.except.map(\.end) ?? [], other)
        else { return nil }
        let pairs = Set(zip(owners, related).map { "(\($0) AND \($1))" })
        // No row loses what every reader carries: SQLite reads none for a constant condition.
        let areAllCarried = of.allSatisfy { owner in ends.allSatisfy { pairs.contains("(\(owner) AND \($0))") } }
        if !of.isEmpty, Set(of).isSubset(of: except) || (!ends.isEmpty && areAllCarried) { return "0" }
        func any(_ parts: some Collection<String>) -> [String] {
            parts.isEmpty ? [] : ["(\(Set(parts).sorted().joined(separator: " OR ")))"]
        }
        let conditions = any(of) + any(ends) + any(except + pairs).map { "NOT \($0)" }
        return conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
    }

    /// Rows of the tables that a count reads: of all entities in them, and of the tables that a relationship leads to.
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

    /// The storage of a property: a table, and the condition of the rows that have a value.
    private struct Place {
        var table: String
        var condition: String
        var numbers: [Value]
        /// The table's name, if the rows are those of the entities.
        var ownTable: String?
        /// The column of the values; nil for the objects themselves.
        var column: String?
        /// The column of keys that several rows may share; only of a relationship.
        var key: String?
        /// The related objects, by the row `o` of the objects or the row `l` that links them.
        var end: ReadObjects.Object?
        /// The quoted column of the values or keys, if the objects' own rows have it.
        var ownColumn: String?
    }

    /// The quoted column of the values or keys of a loss, if the objects' own rows have it.
    func ownColumn(of loss: ChainLoss) -> String? { place(of: loss.property, in: loss.entities)?.ownColumn }

    private func place(of property: String?, in entities: [String]) -> Place? {
        guard let first = entities.first, let table = layout.table(of: first) else { return nil }
        let numbers = entities.compactMap { layout.number(of: $0) }.map { Value.integer($0) }
        let own = "Z_ENT IN (\(numbers.map { _ in "?" }.joined(separator: ", ")))"
        var place = Place(table: Connection.quoted(table.name), condition: own, numbers: numbers)
        guard let property else {
            place.ownTable = table.name
            return place
        }
        if let column = layout.column(of: property, in: first) {
            place.condition += " AND \(Connection.quoted(column.name)) IS NOT NULL"
            (place.ownTable, place.column) = (table.name, column.name)
            place.ownColumn = Connection.quoted(column.name)
            return place
        }
        switch layout.storage(of: property, in: first) {
        case .foreignKey(_, let column, _, _):
            let key = Connection.quoted(column)
            place.condition += " AND \(key) IS NOT NULL"
            (place.key, place.ownColumn, place.end) = (key, key, .init(key: "o.\(key)"))
        case .inverseForeignKey(let links, let column, _, _), .inverseless(let links, let column),
            .join(let links, let column, _, _, _):
            if case .join(_, _, let other, _, _) = layout.storage(of: property, in: first) {
                place.end = .init(key: "l.\(Connection.quoted(other))")
            } else {
                place.end = .init(key: "l.Z_PK", row: ("l", links))
            }
            // A row of the other table belongs to the object whose key the column holds.
            let key = Connection.quoted(column)
            place.condition = "\(key) IS NOT NULL AND \(key) IN (SELECT Z_PK FROM \(place.table) WHERE \(own))"
            (place.table, place.key) = (Connection.quoted(links), key)
        case nil: return nil
        }
        return place
    }
}

extension ChainLoss {
    /// Whether another loss of the same property in the same pass may count a value of this one, too.
    fileprivate func mayCountValues(of other: ChainLoss) -> Bool {
        guard property != nil, property == other.property, pass == other.pass, cause != other.cause,
            isOfOrder == other.isOfOrder, !Set(entities).isDisjoint(with: other.entities)
        else { return false }
        // A value that some object carries may be changed; the others are those that none carries.
        return ![cause, other.cause].allSatisfy {
            switch $0 {
            case .narrowed, .carriedInPart: true
            default: false
            }
        }
    }
}
