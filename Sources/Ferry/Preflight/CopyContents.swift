internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

extension StoreContents {
    /// The contents of the store that a copy step makes, with these rows and links.
    init(
        _ step: StepPlan, from old: StoreContents, source: StoreLayout, to destination: StoreLayout,
        rows: [String: Int64], links: [PropertyKey: Int64]
    ) {
        self.init(tables: [:])
        scale = old.scale
        for table in destination.tablesInOrder {
            var new = Table(rows: [:], width: 0)
            var bytes = 0.0
            for entity in destination.entities(inTableOf: table.root) {
                guard let number = destination.number(of: entity), let count = rows[entity], count > 0 else { continue }
                new.rows[number] = Double(count)
                let mapping = step.resolved.entityMappings.first { $0.destination == entity }
                bytes += Double(count) * Self.width(of: entity, by: mapping, old, source, destination, &new.columns)
            }
            new.width = (bytes / max(1, new.count) + Double(table.columns.count)) * scale
            new.indexes = destination.indexes.filter { $0.table == table.name }
            tables[table.name.uppercased()] = new
        }
        for table in destination.joinTables {
            var new = Table.ofLinks(Double(links[table.relationship] ?? 0), table)
            new.indexes = destination.indexes.filter { $0.table == table.name }
            tables[table.name.uppercased()] = new
        }
    }

    /// The bytes of an object's row without one for each column, and what its columns hold.
    private static func width(
        of entity: String, by mapping: ResolvedEntityMapping?, _ old: StoreContents, _ source: StoreLayout,
        _ destination: StoreLayout, _ columns: inout [String: Column]
    ) -> Double {
        let from = mapping.flatMap { source.table(of: $0.source) }
        let known = from.flatMap { old.tables[$0.name.uppercased()] }
        // A table of few rows is not sampled.
        if let known, known.columns.count <= 3 { return known.width / old.scale - Double(from?.columns.count ?? 0) }
        // A foreign key has a few bytes, and most relationships have one on either side.
        var width = 9 + 2 * Double(mapping?.relationships.count ?? 0)
        for attribute in mapping?.attributes ?? [] {
            guard let column = destination.column(of: attribute.name, in: entity) else { continue }
            let name = attribute.expression == nil ? nil : attribute.expression?.sourceKeys
            let carried = name.flatMap { name in mapping.flatMap { source.column(of: name, in: $0.source)?.name } }
            let computed = Column(width: column.hasVariableLength ? 16 : 6, isVaried: true)
            let found =
                attribute.expression == nil
                ? Column(width: 1, isVaried: false)
                : carried.flatMap { known?.columns[$0.uppercased()] } ?? computed
            columns[column.name.uppercased()] = found
            width += found.width
        }
        return width
    }

    /// An iteration is counted with the most objects that it can make, which may be far too many.
    private static let ratios = 0.3...3.0

    /// The bytes of the entries of the largest index.
    var largestIndexBytes: Double {
        tables.values.flatMap { table in table.indexes.map { table.count * entry(of: $0).width } }.max() ?? 0
    }

    /// The bytes of these contents relative to others.
    func ratio(to others: StoreContents) -> Double {
        func sum(_ contents: StoreContents) -> Double {
            contents.tables.values.reduce(1) { $0 + $1.bytes + contents.indexBytes(of: $1) }
        }
        return min(max(sum(self) / sum(others), Self.ratios.lowerBound), Self.ratios.upperBound)
    }
}

extension RunWork.Step {
    /// Gives the passes of a copy step the widths of the rows that they read.
    mutating func setWidths(of step: StepPlan, _ contents: StoreContents, _ source: StoreLayout) {
        let byName = Dictionary(first: step.resolved.entityMappings.map { ($0.name, $0) })
        for index in mappings.indices {
            guard let mapping = byName[mappings[index].name], let table = source.table(of: mapping.source),
                let known = contents.tables[table.name.uppercased()], known.count > 0
            else { continue }
            mappings[index].width = known.width
        }
    }

    /// Gives the tables of the new store the widths of their rows: a table of new objects can have much shorter ones
    /// than the objects that they are made of.
    mutating func setWidths(ofTablesIn contents: StoreContents) {
        for index in tables.indices {
            guard let known = contents.tables[tables[index].names[0].uppercased()], known.count > 0 else { continue }
            tables[index].width = known.width
        }
    }
}
