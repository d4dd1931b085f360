internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The estimates of a plan's steps: their disk space beside the new stores, and their work.
struct StepEstimates {
    struct Step {
        /// The most bytes beside the new store; of a step in place, those of its journal, its growth and its sorting.
        var peak: Int64
        var work: RunWork.Step
        /// Only of a copy step.
        var program: StepProgram?
        /// The bytes of the store that the step makes, or leaves.
        var destinationBytes: Int64

        /// A copy of a store as it is.
        static func copy(of bytes: Int64) -> Self {
            Self(
                peak: 0, work: RunWork.Step(isCopy: true, bytes: Double(bytes), objects: 0), destinationBytes: bytes)
        }
    }

    let planned: Planned
    let store: OpenedStore
    let configuration: Configuration
    /// The time of work on this machine, relative to that of ``WorkCosts``.
    let machine: Double

    var plan: MigrationPlan { planned.plan }
    private var layout: StoreLayout { planned.layout }
    private var connection: Connection { store.sourceGuard.connection }
    var allRows: Int64 { planned.rows.values.reduce(0, +) }

    /// The number of rows that are read to estimate the length of JSON arrays.
    private static let probes: Int64 = 200
    /// The longest text, in bytes, that SQLite parses, which takes several times as much memory.
    ///
    /// Of a longer text only so many bytes are read.
    private static let probedBytes = 1 << 18
    /// Rows outside the sample can hold more elements.
    private static let margin = 1.2
    /// The estimate of different values may be low.
    private static let distinctMargin = 1.2
    /// The most that the stores of later steps count, relative to the first one.
    private static let mostGrowth: Int64 = 8

    /// - Throws: ``DatabaseError``, and ``FerryError`` when a version cannot be laid out.
    func find() throws -> [Step] {
        let bytes = try store.contentBytes()
        guard plan.refusals.isEmpty else {
            return plan.steps.map {
                Step(peak: 0, work: RunWork.Step($0, rows: planned.rows, bytes: bytes), destinationBytes: bytes)
            }
        }
        var contents = try ContentSample(
            layout: layout, inspection: planned.inspection, rows: planned.rows, connection: connection
        ).contents()
        guard plan.steps.contains(where: { $0.mode == .copy }) else {
            return try InPlaceEstimates(planned: planned, machine: machine).steps(from: &contents, bytes: bytes)
        }
        var rows = try rowsOfStore()
        let values = DistinctValues(
            plan: plan, layout: layout, connection: connection, longestValue: Self.probedBytes)
        var found: Set<String> = []
        var previous = bytes
        return try plan.steps.enumerated().map { index, step in
            let source =
                index == 0
                ? layout : try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed)
            let destination = try StoreLayout.canonical(
                for: step.resolved.destination.model, foundTriggers: .assumed)
            // The rows of later steps are unknown; those of the first are the best guess.
            let program = try StepProgram(
                copying: index == 0 ? step : step.assuming(rows: allRows), source: source, destination: destination)
            for mapping in step.resolved.entityMappings where !mapping.unique.isEmpty {
                let all = Double(ScratchNeed.objects(madeBy: mapping, source, rows))
                let number = try values.number(for: mapping, step: index, among: all)
                rows.distinct[mapping.name] = number.map { Int64($0 * Self.distinctMargin) + 1 }
            }
            var need = ScratchNeed(
                step, program, source: source, destination: destination, rows: rows, memory: configuration.memory,
                verifies: configuration.verify != .none)
            var work = RunWork.Step(
                step, program, from: source, to: destination, reads: rows, makes: need.rowsAfter, found: &found)
            defer { rows = need.rowsAfter }
            guard step.mode == .copy else {
                let inPlace = try InPlaceEstimates(planned: planned, machine: machine)
                    .step(step, isFirst: index == 0, source: source, from: &contents)
                work.lists = inPlace.lists
                let after = previous + inPlace.growth
                defer { previous = after }
                return Step(peak: inPlace.peak, work: work, destinationBytes: after)
            }
            var keeping: InPlaceEstimates.Found?
            if let part = step.partInPlace {
                var changed = contents
                let found = try InPlaceEstimates(planned: planned, machine: machine)
                    .step(part, isFirst: false, source: source, from: &changed)
                try work.leaveTables(of: step, statements: found.lists)
                keeping = found
            }
            work.setWidths(of: step, contents, source)
            let next = StoreContents(
                step, from: contents, source: source, to: destination, rows: need.rowsAfter.objects,
                links: need.rowsAfter.links)
            work.setWidths(ofTablesIn: next)
            need.setLargestIndex(bytes: Int64(min(next.largestIndexBytes, 0x1p52)))
            var after = min(Int64(Double(previous) * next.ratio(to: contents)), Self.mostGrowth * bytes)
            // The pages of dropped tables stay in the file.
            if keeping != nil { after = max(after, previous) }
            defer { (contents, previous) = (next, after) }
            return Step(
                peak: max(need.peak, keeping?.peak ?? 0), work: work, program: program, destinationBytes: after)
        }
    }

    private func rowsOfStore() throws -> ScratchNeed.Rows {
        let bytes = try store.contentBytes()
        var links: [PropertyKey: Int64] = [:]
        for table in layout.joinTables {
            // The last rowid takes one page read: a count would read the whole b-tree.
            let last = try connection.integer("SELECT max(rowid) FROM \(Connection.quoted(table.name))") ?? 0
            // Rowids may have large gaps; a row takes 4 bytes at least.
            let count = max(0, min(last, bytes / 4))
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
        return ScratchNeed.Rows(objects: planned.rows, links: links, elements: elements, bytes: bytes)
    }

    /// The average over rows at even distances.
    private func averageElements(under key: String, in column: String, of table: String) throws -> Double {
        let (name, text) = (Connection.quoted(table), Connection.quoted(column))
        let last = try connection.integer("SELECT max(Z_PK) FROM \(name)") ?? 0
        guard last > 0 else { return 0 }
        let sum = try connection.prepare(
            """
            WITH RECURSIVE places(place) AS (VALUES (?1) UNION ALL SELECT place + 1 FROM places WHERE place + 1 < ?2)
            SELECT sum(ifnull((
                SELECT CASE WHEN json_valid(\(text)) THEN json_array_length(\(text), ?4) END
                FROM \(name) WHERE Z_PK > place * ?3 ORDER BY Z_PK LIMIT 1), 0)) FROM places
            """)
        try sum.bind(max(1, last / Self.probes), at: 3)
        try sum.bind(DistinctValues.path(key), at: 4)
        let places = 0..<min(last, Self.probes)
        let found = try connection.with(.length, Self.probedBytes) {
            try elements(at: places, sum) { place in
                try firstElements(under: key, in: column, of: table, above: place * max(1, last / Self.probes))
            }
        }
        return found / Double(places.count)
    }

    /// The elements of the long text in the next row above a key, by its first bytes.
    private func firstElements(
        under key: String, in column: String, of table: String, above row: Int64
    ) throws -> Double {
        // Only the row's key is read.
        let next = try connection.integer(
            "SELECT Z_PK FROM \(Connection.quoted(table)) WHERE Z_PK > ? ORDER BY Z_PK LIMIT 1", [.integer(row)])
        guard let next else { return 0 }
        let text = try BlobHandle(column, of: table, row: next, schema: "main", on: connection)
        return try withUnsafeTemporaryAllocation(byteCount: min(text.count, Self.probedBytes), alignment: 1) { buffer in
            try text.read(into: buffer, at: 0)
            return JSONSample.elements(under: key, in: UnsafeRawBufferPointer(buffer), of: text.count) ?? 0
        }
    }

    /// The sum of the elements at all places; halves the range around a text that is too long.
    private func elements(
        at places: Range<Int64>, _ sum: Statement, ofLong: (_ place: Int64) throws -> Double
    ) throws -> Double {
        try sum.bind(places.lowerBound, at: 1)
        try sum.bind(places.upperBound, at: 2)
        do {
            defer { sum.reset() }
            return try sum.step() ? sum.real(0) : 0
        } catch {
            guard error.isTooBig else { throw error }
            if places.count == 1 { return try ofLong(places.lowerBound) }
            let middle = places.lowerBound + Int64(places.count / 2)
            return try elements(at: places.lowerBound..<middle, sum, ofLong: ofLong)
                + elements(at: middle..<places.upperBound, sum, ofLong: ofLong)
        }
    }
}
