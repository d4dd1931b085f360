internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryPreflight
internal import FerrySQLite
internal import FerryStore

/// The rows of a store's tables and their average bytes, from which the bytes of every operation follow.
struct TableSizes {
    private struct Table {
        /// By entity number; the rows of a join table have number 0.
        var rows: [Int64: Double] = [:]
        /// The bytes of all rows.
        var bytes = 0.0

        var count: Double { rows.values.reduce(0, +) }
    }

    let layout: StoreLayout
    /// By upper-case name.
    private var tables: [String: Table] = [:]

    /// The work on a row or an index entry beside its values, in bytes: finding its place takes as long as writing so
    /// many.
    static let rowWork = 50.0
    /// The bytes of a row of integers, with key and header; of an index entry with a number, and with a text.
    private static let rowOfIntegers = 20.0
    private static let entry = (ofNumber: 20.0, ofText: 40.0)
    /// The typical bytes of a JSON element.
    private static let element = 64.0
    /// The rows of smaller tables count as average ones, unless the store's rows are long.
    private static let (smallTable, averageRow, longRow) = (500.0, 100.0, 4_000.0)

    private init(_ layout: StoreLayout) { self.layout = layout }

    /// - Throws: ``DatabaseError``.
    init(of facts: StoreFacts, on connection: Connection) throws {
        self.init(facts.layout)
        let used = Double(try connection.contentBytes())
        let share = used / Double(max(1, facts.rows.values.reduce(0, +)))
        let areLong = share > Self.longRow
        for table in layout.tablesInOrder {
            let rows = layout.entities(inTableOf: table.root).map { ($0, Double(facts.rows[$0] ?? 0)) }
            let isRead = rows.reduce(0) { $0 + $1.1 } >= (areLong ? 1 : Self.smallTable)
            let average = try isRead ? RowSizes.average(of: table, on: connection) : nil
            // Rows with texts too long to be read have their share of the file.
            let bytes = average ?? (areLong ? share : Self.averageRow)
            for (entity, count) in rows { add(count, bytes: count * bytes, of: entity) }
        }
        for table in layout.joinTables {
            add(Double(facts.inspection.joinTables.first { $0.table == table.name }?.rows ?? 0), to: table)
        }
        guard bytes > 0 else { return }
        // Averages are trusted up to this factor: a file has free and half-full pages.
        let scale = min(max(used / bytes, 0.4), 2.5)
        for name in tables.keys { tables[name]?.bytes *= scale }
    }

    func has(_ table: String) -> Bool { tables[table.uppercased()] != nil }

    func rows(in table: String) -> Double { tables[table.uppercased()]?.count ?? 0 }

    func rows(of entity: String) -> Double {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else { return 0 }
        return tables[table.name.uppercased()]?.rows[number] ?? 0
    }

    func bytes(of table: String) -> Double { tables[table.uppercased()]?.bytes ?? 0 }

    func bytes(of index: IndexDefinition) -> Double {
        rows(in: index.table) * (layout.holdsTexts(index) ? Self.entry.ofText : Self.entry.ofNumber)
    }

    /// The work of reading or writing rows of a table, all with nil.
    func work(on table: String, rows: Double? = nil) -> Double {
        let count = self.rows(in: table)
        return (rows ?? count) * (bytes(of: table) / max(1, count) + Self.rowWork)
    }

    func work(of entity: String, rows: Double) -> Double { work(on: layout.table(of: entity)?.name ?? "", rows: rows) }

    /// The work of making an index.
    func work(on index: IndexDefinition) -> Double { rows(in: index.table) * Self.rowWork + bytes(of: index) }

    /// The bytes of all tables and indexes.
    var bytes: Double {
        tables.values.reduce(0) { $0 + $1.bytes } + layout.indexes.reduce(0) { $0 + bytes(of: $1) }
    }

    // MARK: The next version

    /// The objects that a mapping makes, at most, from the objects of this store.
    func objects(madeBy mapping: ResolvedEntityMapping) -> Double {
        let read = rows(of: mapping.source)
        switch mapping.iteration?.elements {
        case nil: return read
        case .json(_, _)?: return max(read, read * bytes(ofRowOf: mapping.source) / Self.element)
        case let elements?:
            guard let name = elements.sourceKey else { return tables.values.reduce(0) { $0 + $1.count } }
            return links(of: name, from: mapping.source)
        }
    }

    private func links(of name: String, from entity: String) -> Double {
        guard let relationship = layout.model.relationship(name, of: entity), relationship.isToMany else {
            return rows(of: entity)
        }
        if case .join(let table, _, _, _, _)? = layout.storage(of: name, in: entity) { return rows(in: table) }
        return layout.model.family(of: relationship.destinationEntity).reduce(0) { $0 + rows(of: $1) }
    }

    /// The sizes of the store that a step makes: an object has its share of the bytes by the attributes that it takes.
    func after(_ step: ResolvedStep, in destination: StoreLayout) -> TableSizes {
        var next = TableSizes(destination)
        var links: [String: [String: Double]] = [:]
        for mapping in step.entityMappings {
            let made = objects(madeBy: mapping)
            let taken = mapping.attributes.count { $0.expression != nil }
            let share = min(1, Double(taken + 1) / Double(layout.model.attributes(of: mapping.source).count + 1))
            // The elements of a JSON text divide its bytes among them.
            let rows = if case .json? = mapping.iteration?.elements { rows(of: mapping.source) } else { made }
            let bytes = max(made * Self.rowOfIntegers, rows * share * bytes(ofRowOf: mapping.source))
            next.add(made, bytes: bytes, of: mapping.destination)
            for rule in mapping.relationships {
                guard case .join(let table, _, _, _, _)? = destination.storage(of: rule.name, in: mapping.destination)
                else { continue }
                links[table, default: [:]][rule.name, default: 0] +=
                    rule.sourceRelationship.map { self.links(of: $0, from: mapping.source) } ?? made
            }
        }
        // Either side may have the rule.
        for table in destination.joinTables { next.add(links[table.name]?.values.max() ?? 0, to: table) }
        return next
    }

    private func bytes(ofRowOf entity: String) -> Double { work(of: entity, rows: 1) - Self.rowWork }

    private mutating func add(_ rows: Double, bytes: Double, of entity: String) {
        guard let name = layout.table(of: entity)?.name.uppercased(), let number = layout.number(of: entity) else {
            return
        }
        tables[name, default: Table()].rows[number, default: 0] += rows
        tables[name]?.bytes += bytes
    }

    private mutating func add(_ links: Double, to table: JoinTable) {
        tables[table.name.uppercased()] = Table(rows: [0: links], bytes: links * Self.rowOfIntegers)
    }
}
