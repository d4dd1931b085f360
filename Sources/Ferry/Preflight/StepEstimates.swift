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
        var peak: Int64
        var work: RunWork.Step
        /// Only of a copy step.
        var program: StepProgram?
    }

    let planned: Planned
    let store: OpenedStore
    let configuration: Configuration

    private var plan: MigrationPlan { planned.plan }
    private var layout: StoreLayout { planned.layout }
    private var connection: Connection { store.sourceGuard.connection }
    private var allRows: Int64 { planned.rows.values.reduce(0, +) }

    /// The number of rows that are read to estimate the length of JSON arrays.
    private static let probes: Int64 = 200
    /// The longest text, in bytes, that is read: SQLite takes several times as much memory to parse it.
    private static let probedBytes = 1 << 18
    /// The assumed length of an element in a longer text.
    private static let elementBytes = 32
    /// Rows outside the sample can hold more elements.
    private static let margin = 1.5

    /// The journal of a step in place, and the sorting of its new indexes, as a share of the store.
    private static let shareInPlace = 0.3

    /// - Throws: ``DatabaseError``, and ``FerryError`` when a version cannot be laid out.
    func find() throws -> [Step] {
        let bytes = try store.contentBytes()
        let inPlace = Int64(Double(bytes) * Self.shareInPlace)
        guard plan.refusals.isEmpty, plan.steps.contains(where: { $0.mode == .copy }) else {
            return plan.steps.map { Step(peak: inPlace, work: RunWork.Step($0, rows: planned.rows, bytes: bytes)) }
        }
        var rows = try rowsOfStore()
        var found: Set<String> = []
        return try plan.steps.enumerated().map { index, step in
            let source =
                index == 0
                ? layout : try StoreLayout.canonical(for: step.resolved.source.model, foundTriggers: .assumed)
            let destination = try StoreLayout.canonical(
                for: step.resolved.destination.model, foundTriggers: .assumed)
            // The rows of later steps are unknown; those of the first are the best guess.
            let program = try StepProgram(
                index == 0 ? step : step.assuming(rows: allRows), source: source, destination: destination)
            let need = ScratchNeed(
                step, program, source: source, destination: destination, rows: rows, memory: configuration.memory,
                verifies: configuration.verify != .none)
            let work = RunWork.Step(
                step, program, from: source, to: destination, reads: rows, makes: need.rowsAfter, found: &found)
            rows = need.rowsAfter
            let isCopy = step.mode == .copy
            return Step(peak: isCopy ? need.peak : inPlace, work: work, program: isCopy ? program : nil)
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
        let escaped = key.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
        let sum = try connection.prepare(
            """
            WITH RECURSIVE places(place) AS (VALUES (?1) UNION ALL SELECT place + 1 FROM places WHERE place + 1 < ?2)
            SELECT sum(ifnull((
                SELECT CASE WHEN json_valid(\(text)) THEN json_array_length(\(text), ?4) END
                FROM \(name) WHERE Z_PK > place * ?3 ORDER BY Z_PK LIMIT 1), 0)) FROM places
            """)
        try sum.bind(max(1, last / Self.probes), at: 3)
        try sum.bind("$.\"\(escaped)\"", at: 4)
        let places = 0..<min(last, Self.probes)
        return try connection.with(.length, Self.probedBytes) { try elements(at: places, sum) } / Double(places.count)
    }

    /// The sum of the elements at all places; halves the range around a text that is too long.
    private func elements(at places: Range<Int64>, _ sum: Statement) throws -> Double {
        try sum.bind(places.lowerBound, at: 1)
        try sum.bind(places.upperBound, at: 2)
        do {
            defer { sum.reset() }
            return try sum.step() ? sum.real(0) : 0
        } catch {
            guard error.isTooBig else { throw error }
            if places.count == 1 { return Double(Self.probedBytes / Self.elementBytes) }
            let middle = places.lowerBound + Int64(places.count / 2)
            return try elements(at: places.lowerBound..<middle, sum) + elements(at: middle..<places.upperBound, sum)
        }
    }
}

/// The longest piece of work that cannot be divided: a budget may be overrun by that time.
extension StepEstimates {
    private typealias Unit = PlanReport.LongestUnit

    /// Rows per second on a current machine with a solid-state disk; only the order of magnitude matters.
    private enum Rate {
        static let index = 1_500_000.0
        static let joinTable = 1_000_000.0
        static let transaction = 1_000_000.0
        static let chunk = 500_000.0
    }

    /// The time that the chunk sizer aims at for a chunk.
    private static let chunkSeconds = 0.5

    /// The longest piece of work of the estimated steps; nil if the plan is refused.
    func longestUnit(of steps: [Step]) -> PlanReport.LongestUnit? {
        guard plan.refusals.isEmpty else { return nil }
        let all =
            plan.isInPlace
            ? [transaction(1)]
            : zip(plan.steps, steps).enumerated().flatMap { index, step in
                step.1.program.map { units(of: step.0, $0, index + 1) } ?? [transaction(index + 1)]
            }
        return all.max { $0.seconds < $1.seconds }
    }

    private func transaction(_ number: Int) -> Unit {
        var rows = allRows
        // The schema shows which tables a single step writes.
        if number == 1, plan.steps.count == 1 || !plan.isInPlace, let touched = touchedTables {
            let (tables, joins) = (planned.inspection.entities, planned.inspection.joinTables)
            rows = tables.filter { touched.contains($0.table.uppercased()) }.map(\.rows).reduce(0, +)
            rows += joins.filter { touched.contains($0.table.uppercased()) }.map(\.rows).reduce(0, +)
        }
        return unit(.transaction, FileLayer.name(of: store.path), number, rows: rows, at: Rate.transaction)
    }

    /// The tables that the first step writes in place, in upper case.
    private var touchedTables: Set<String>? {
        do {
            return try planned.statements.map { Set(try $0.plan().touched.map { $0.uppercased() }) }
        } catch {
            // Preflight reports the error; the number of all rows is an upper bound.
            return nil
        }
    }

    private func units(of step: StepPlan, _ program: StepProgram, _ number: Int) -> [Unit] {
        var found: [Unit] = []
        for case (.index(let index), let rows) in program.operations.map({ ($0.work, $0.rows) }) {
            found.append(unit(.index, index.name, number, rows: rows ?? 0, at: Rate.index))
        }
        let tables = planned.inspection.joinTables
        let links = tables.map(\.rows).max() ?? 0
        found += program.joinTables.map { fill in
            let known = tables.first { $0.table == fill.table.name }?.rows
            return unit(
                .joinTable, fill.table.name, number, rows: known ?? max(links, fill.owners), at: Rate.joinTable)
        }
        var largest: (name: String, rows: Int64) = ("", 0)
        for mapping in (number == 1 ? step : step.assuming(rows: allRows)).partitions.flatMap(\.entityMappings)
        where mapping.rows >= largest.rows {
            largest = (mapping.mapping.name, mapping.rows)
        }
        let size: Int64 =
            switch configuration.chunkSize {
            case .rows(let rows): Int64(rows)
            case .automatic: Int64(Rate.chunk * Self.chunkSeconds)
            }
        return found + [unit(.chunk, largest.name, number, rows: min(size, largest.rows), at: Rate.chunk)]
    }

    private func unit(_ kind: Unit.Kind, _ name: String, _ step: Int, rows: Int64, at rate: Double) -> Unit {
        Unit(kind: kind, name: name, step: step, rows: rows, seconds: Double(rows) / rate)
    }
}

/// The disk space that a run needs beside the store at its peak, per volume.
struct DiskNeed {
    private struct Volume {
        var folder: String
        var bytes: Int64
    }

    private let files: FileLayer
    private var volumes: [UInt64: Volume] = [:]

    /// The size of a new store relative to the old one: it may have more columns and indexes.
    private static let destinationShare = 1.2
    /// For the swap's transaction: its journal or `-wal`, and the growth of the old store.
    private static let swapShare = 1.4
    /// The size of a database compressed by zstd or zlib at level 1; text and numbers compress rather to a third.
    private static let snapshotShare = 0.6

    /// Adds up the space of `stores` new stores at one time: a step reads the destination of the step before.
    ///
    /// `scratch` is the space of each remaining step beside its new store; a finished step frees its own. The old
    /// store, into which the swap writes, is on the volume of the run folder.
    ///
    /// - Throws: ``FerryError`` when a folder cannot be read.
    init(
        contentBytes: Int64, stores: Int, scratch: [Int64], swapsStore: Bool, runFolder: String,
        snapshotFolder: String?, files: FileLayer
    ) throws(FerryError) {
        self.files = files
        guard let largest = scratch.max() else { return }
        let content = Double(contentBytes)
        let destinations = content * Self.destinationShare * Double(min(scratch.count, stores))
        let swap = swapsStore ? content * (Self.destinationShare + Self.swapShare) : 0
        // A verification beside the next step has its lookups beside that step's scratch.
        try add(max(Int64(destinations) + largest * Int64(stores - 1), Int64(swap)), at: runFolder)
        if let snapshotFolder { try add(Int64(content * Self.snapshotShare), at: snapshotFolder) }
    }

    private mutating func add(_ bytes: Int64, at path: String) throws(FerryError) {
        // The folder may not exist yet.
        var folder = path
        while try !files.exists(folder), FileLayer.parent(of: folder) != folder {
            folder = FileLayer.parent(of: folder)
        }
        let volume = try files.volume(of: folder)
        volumes[volume, default: Volume(folder: folder, bytes: 0)].bytes += bytes
    }

    /// Bytes, keyed by a folder on each volume.
    var bytesByFolder: [String: Int64] {
        Dictionary(volumes.values.map { ($0.folder, $0.bytes) }, uniquingKeysWith: +)
    }

    func refusals() throws(FerryError) -> [FerryError] {
        var refusals: [FerryError] = []
        for volume in volumes.values.sorted(by: { $0.folder < $1.folder }) {
            let free = try files.freeBytes(at: volume.folder)
            guard free < volume.bytes else { continue }
            refusals.append(
                FerryError(
                    .diskFull,
                    "The volume of \(volume.folder) has \(free) bytes free; the migration can need \(volume.bytes).",
                    remedy: "Make room there, or put the snapshot on another volume with \(setting: .snapshotFolder)."))
        }
        return refusals
    }
}
