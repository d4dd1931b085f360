internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What the copy steps of a plan take beside their new stores, step by step.
struct ScratchNeeds {
    let plan: MigrationPlan
    let configuration: Configuration
    let store: OpenedStore
    /// The store's actual layout.
    let layout: StoreLayout
    /// Rows of exactly each entity.
    let rows: [String: Int64]

    /// Rows that are looked at to learn how long JSON is.
    private static let probes: Int64 = 200
    /// Rows that nobody looked at can hold more than the others.
    private static let margin = 1.5

    /// The journal of a step in place, and what its new indexes sort.
    private static let shareInPlace = 0.3

    /// The peak of each step, in their order.
    ///
    /// - Throws: ``DatabaseError``, and ``FerryError`` when a version cannot be laid out.
    func find() throws -> [Int64] {
        let inPlace = Int64(Double(try store.contentBytes()) * Self.shareInPlace)
        guard plan.refusals.isEmpty, plan.steps.contains(where: { $0.mode == .copy }) else {
            return plan.steps.map { _ in inPlace }
        }
        var rows = try rowsOfStore()
        return try plan.steps.enumerated().map { index, step in
            let source =
                index == 0
                ? layout : try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed)
            let destination = try StoreLayout.canonical(
                for: step.resolved.destination.model, foundTriggers: .assumed)
            let need = ScratchNeed(
                step, source: source, destination: destination, rows: rows, memory: configuration.memory,
                verifies: configuration.verify != .none)
            rows = need.rowsAfter
            return step.mode == .copy ? need.peak : inPlace
        }
    }

    private func rowsOfStore() throws -> ScratchNeed.Rows {
        let connection = store.sourceGuard.connection
        var links: [PropertyKey: Int64] = [:]
        for table in layout.joinTables {
            // From one end of the b-tree: counting would read all of it.
            let count = try connection.integer("SELECT max(rowid) FROM \(Connection.quoted(table.name))") ?? 0
            (links[table.relationship], links[table.inverse]) = (count, count)
        }
        var elements: [PropertyKey: Double] = [:]
        for mapping in plan.steps.first?.resolved.entityMappings ?? [] {
            guard case .json(let text, let key)? = mapping.iteration?.elements, let name = text.sourceKeys,
                let column = layout.column(of: name, in: mapping.source)?.name,
                let table = layout.table(of: mapping.source)
            else { continue }
            let average = try averageElements(under: key, in: column, of: table.name)
            elements[PropertyKey(mapping.source, name)] = average * Self.margin
        }
        return ScratchNeed.Rows(objects: rows, links: links, elements: elements, bytes: try store.contentBytes())
    }

    /// From rows at even distances.
    private func averageElements(under key: String, in column: String, of table: String) throws -> Double {
        let connection = store.sourceGuard.connection
        let name = Connection.quoted(table)
        let last = try connection.integer("SELECT max(Z_PK) FROM \(name)") ?? 0
        let text = Connection.quoted(column)
        let probe = try connection.prepare(
            """
            SELECT CASE WHEN json_valid(\(text)) THEN json_array_length(\(text), ?2) END
            FROM \(name) WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1
            """)
        let escaped = key.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
        try probe.bind("$.\"\(escaped)\"", at: 2)
        var (elements, count) = (0.0, 0.0)
        for place in 0..<min(last, Self.probes) {
            try probe.bind(1 + last / Self.probes * place + (last < Self.probes ? place : 0), at: 1)
            if try probe.step() {
                elements += Double(probe.integer(0))
                count += 1
            }
            probe.reset()
        }
        return count == 0 ? 0 : elements / count
    }
}
