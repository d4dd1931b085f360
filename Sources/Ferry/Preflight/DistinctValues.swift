internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Estimates how many objects a mapping with `unique` makes, from the values of a few source rows.
///
/// What a mapping computes has at most as many values as the attributes from which it does.
package struct DistinctValues {
    let plan: MigrationPlan
    let layout: StoreLayout
    let connection: Connection
    /// Longer values are not read.
    let longestValue: Int

    /// The rows that are read: of 400 values, even some of 20,000 different ones are equal.
    private static let probes: Int64 = 400
    /// The most elements of one row's array.
    private static let elementsOfRow = 8

    /// The numbers of different values among the samples, and their sum.
    package struct Sample {
        private var counts: [Int: Int] = [:]
        package private(set) var values = 0.0

        package init() {}

        package mutating func add(_ hash: Int) {
            counts[hash, default: 0] += 1
            values += 1
        }

        /// The number of different values among `all`, estimated by those seen once and twice (Chao); nil without
        /// values.
        package func distinct(among all: Double) -> Double? {
            guard values > 0 else { return nil }
            let (once, twice) = (Double(counts.values.count { $0 == 1 }), Double(counts.values.count { $0 == 2 }))
            if once == values { return all }
            let seen = Double(counts.count)
            return min(all, twice > 0 ? seen + once * once / (2 * twice) : seen + once * (once - 1) / 2)
        }
    }

    /// The number of different values of a mapping's `unique`, among as many as it seeks; nil if it cannot be told.
    func number(for mapping: ResolvedEntityMapping, step index: Int, among all: Double) throws -> Double? {
        guard all > 0, mapping.policy == nil, let parts = parts(of: mapping) else { return nil }
        do {
            if case .json(let text, let key)? = mapping.iteration?.elements {
                guard index == 0, parts.source.isEmpty, let name = text.sourceKey,
                    let column = layout.column(of: name, in: mapping.source)?.name
                else { return nil }
                return try elements(parts.element.sorted(), under: key, in: column, of: mapping.source)
                    .distinct(among: all)
            }
            guard mapping.iteration == nil, parts.element.isEmpty,
                let (entity, names) = origin(of: parts.source, in: mapping.source, before: index)
            else { return nil }
            return try rows(names.sorted(), of: entity).distinct(among: all)
        } catch let error as DatabaseError where !error.isInterrupted {
            // Without a sample, the most that the mapping can make counts; preflight reports damage.
            return nil
        }
    }

    // MARK: Attributes

    /// The attributes of source and element that the values of `unique` depend on; nil if they depend on others.
    private func parts(of mapping: ResolvedEntityMapping) -> (source: Set<String>, element: Set<String>)? {
        var (source, element): (Set<String>, Set<String>) = ([], [])
        func add(_ expression: Expression) -> Bool {
            if let key = expression.sourceKey {
                source.insert(key)
                return true
            }
            switch expression {
            case .constant: return true
            case .keyPath(.variable(mapping.iteration?.variable), let steps):
                guard case .key(let key)? = steps.first else { return false }
                element.insert(key)
                return true
            case .keyPath(.variable, _), .variable, .evaluatedObject, .fetch, .subquery, .function: return false
            default: return expression.parts.allSatisfy(add)
            }
        }
        for name in mapping.unique {
            guard let value = mapping.attributes.first(where: { $0.name == name })?.expression, add(value) else {
                return nil
            }
        }
        return (source, element)
    }

    /// The entity and the attributes of the old store from which those of a later step follow.
    private func origin(
        of names: Set<String>, in entity: String, before index: Int
    ) -> (entity: String, names: Set<String>)? {
        var (names, entity) = (names, entity)
        for step in plan.steps[..<index].reversed() {
            let makers = step.resolved.entityMappings.filter { $0.destination == entity }
            guard makers.count == 1, let maker = makers.first, maker.iteration == nil, maker.unique.isEmpty,
                maker.policy == nil
            else { return nil }
            var before: Set<String> = []
            for name in names {
                guard let value = maker.attributes.first(where: { $0.name == name })?.expression else { return nil }
                var alone = maker
                (alone.unique, alone.attributes) = ([name], [ResolvedAttribute(name: name, expression: value)])
                guard let parts = parts(of: alone), parts.element.isEmpty else { return nil }
                before.formUnion(parts.source)
            }
            (names, entity) = (before, maker.source)
        }
        return (entity, names)
    }

    // MARK: Samples

    private func rows(_ names: [String], of entity: String) throws -> Sample {
        var sample = Sample()
        let columns = names.compactMap { layout.column(of: $0, in: entity)?.name }
        guard columns.count == names.count, !columns.isEmpty, let table = layout.table(of: entity)?.name,
            let number = layout.number(of: entity)
        else { return sample }
        let list = columns.map(Connection.quoted).joined(separator: ", ")
        let row = try connection.prepare(
            "SELECT Z_ENT, \(list) FROM \(Connection.quoted(table)) WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1")
        try forEachPlace(in: table, row) {
            let values = (1...columns.count).map { row.value($0) }
            if row.integer(0) == number, values.contains(where: { $0 != .null }) { sample.add(values.hashValue) }
        }
        return sample
    }

    private func elements(_ keys: [String], under key: String, in column: String, of entity: String) throws -> Sample {
        var sample = Sample()
        guard !keys.isEmpty, let table = layout.table(of: entity)?.name else { return sample }
        let values = keys.indices.map { "json_extract(e.value, ?\($0 + 3))" }.joined(separator: ", ")
        let row = try connection.prepare(
            """
            SELECT \(values) FROM (
                SELECT \(Connection.quoted(column)) AS text FROM \(Connection.quoted(table))
                WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1) AS row,
            json_each(CASE WHEN json_valid(row.text) THEN row.text ELSE '[]' END, ?2) AS e
            WHERE e.type = 'object' LIMIT \(Self.elementsOfRow)
            """)
        try row.bind(Self.path(key), at: 2)
        for (index, key) in keys.enumerated() { try row.bind(Self.path(key), at: index + 3) }
        try forEachPlace(in: table, row) {
            let values = keys.indices.map { row.value($0) }
            if values.contains(where: { $0 != .null }) { sample.add(values.hashValue) }
        }
        return sample
    }

    /// The JSON path of a key.
    static func path(_ key: String) -> String {
        "$.\"\(key.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\""))\""
    }

    /// Runs a statement for keys at even distances, and reads each of its rows that is not too long.
    private func forEachPlace(in table: String, _ statement: Statement, _ read: () -> Void) throws {
        let name = Connection.quoted(table)
        guard let first = try connection.integer("SELECT min(Z_PK) FROM \(name)"),
            let last = try connection.integer("SELECT max(Z_PK) FROM \(name)"),
            case let (range, isTooWide) = last.subtractingReportingOverflow(first), !isTooWide
        else { return }
        let places = min(Self.probes, range + 1)
        try connection.with(.length, longestValue) {
            for place in 0..<places {
                defer { statement.reset() }
                try statement.bind(first + range / places * place, at: 1)
                do {
                    while try statement.step() { read() }
                } catch let error as DatabaseError where error.isTooBig {
                    continue
                }
            }
        }
    }
}
