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
                index == 0 ? step : step.assuming(rows: allRows), source: source, destination: destination)
            let need = ScratchNeed(
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
            work.setWidths(of: step, contents, source)
            let next = StoreContents(
                step, from: contents, source: source, to: destination, rows: need.rowsAfter.objects,
                links: need.rowsAfter.links)
            let after = min(Int64(Double(previous) * next.ratio(to: contents)), Self.mostGrowth * bytes)
            defer { (contents, previous) = (next, after) }
            return Step(peak: need.peak, work: work, program: program, destinationBytes: after)
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

    /// The longest piece of work of the estimated steps; nil if the plan is refused.
    ///
    /// `swapsStore` says whether the run writes the last step's store into the old one, in one transaction.
    func longestUnit(of steps: [Step], swapsStore: Bool) -> PlanReport.LongestUnit? {
        guard plan.refusals.isEmpty, !steps.isEmpty else { return nil }
        let name = FileLayer.name(of: store.path)
        if plan.isInPlace, configuration.output == nil {
            let seconds = steps.reduce(WorkCosts.commit) { $0 + $1.work.secondsInPlace }
            return unit(.transaction, name, 1, rows: Double(allRows), seconds: seconds)
        }
        var all = zip(plan.steps, steps).enumerated().flatMap { index, step in
            step.1.program.map { units(of: step.0, $0, step.1.work, index + 1) }
                ?? [unit(.transaction, name, index + 1, rows: Double(allRows), seconds: step.1.work.secondsInPlace)]
        }
        if swapsStore, let last = steps.last {
            let seconds = WorkCosts.phase + Double(last.destinationBytes) * WorkCosts.swap
            all.append(unit(.swap, name, steps.count, rows: Double(allRows), seconds: seconds))
        }
        return all.max { $0.seconds < $1.seconds }
    }

    private func units(of step: StepPlan, _ program: StepProgram, _ work: RunWork.Step, _ number: Int) -> [Unit] {
        var found = work.indexes.map { index in
            unit(
                .index, index.names.first ?? "", number, rows: index.rows,
                seconds: WorkCosts.item + RunWork.seconds(ofIndex: index))
        }
        found += work.joins.map { join in
            unit(
                .joinTable, join.names.first ?? "", number, rows: join.rows,
                seconds: WorkCosts.item + join.rows * WorkCosts.link)
        }
        found += work.mappings.filter { $0.foundIn != nil }.map { mapping in
            unit(
                .verification, mapping.name, number, rows: mapping.rows,
                seconds: configuration.verify == .none
                    ? 0 : mapping.rows * (WorkCosts.verifiedFound + WorkCosts.sortedFound))
        }
        found += work.mappings.map { mapping in
            let width = max(1, mapping.width ?? work.width)
            let perRow = RunWork.secondsPerRow(of: mapping, work.width)
            var rows = mapping.rows
            switch configuration.chunkSize {
            case .rows(let most): rows = min(rows, Double(most))
            case .automatic:
                rows = min(
                    rows, Double(configuration.chunkBytes) / width,
                    configuration.chunkTime.inSeconds / (perRow * machine), Double(ChunkSizer.mostRows))
            }
            return unit(.chunk, mapping.name, number, rows: rows, seconds: WorkCosts.item + rows * perRow)
        }
        return found
    }

    private func unit(_ kind: Unit.Kind, _ name: String, _ step: Int, rows: Double, seconds: Double) -> Unit {
        // No store has more rows.
        Unit(kind: kind, name: name, step: step, rows: Int64(min(rows, 0x1p52)), seconds: seconds * machine)
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

    /// Estimated sizes of new stores, and of journals, may be low by a tenth.
    private static let margin = 1.1
    /// The bytes of a snapshot for one byte of content, if no sample is at hand; most compress rather to a third.
    static let usualSnapshot = 0.6
    /// Empty tables, records of the run, side files.
    private static let base: Int64 = 1 << 16

    /// Adds up the space of `stores` new stores at one time: a step reads the destination of the step before.
    ///
    /// The old store, into which the swap writes, is on the volume of the run folder.
    ///
    /// - Throws: ``FerryError`` when a folder cannot be read.
    init(
        _ steps: [StepEstimates.Step], contentBytes: Int64, way: Way, runFolder: String, snapshot: Snapshot?,
        files: FileLayer
    ) throws(FerryError) {
        self.files = files
        guard let largest = steps.map(\.peak).max() else { return }
        var bytes = largest
        switch way {
        case .inPlace: bytes = steps.reduce(0) { $0 + $1.peak }
        case .copies(let stores, let swapsStore):
            let sizes = steps.map(\.destinationBytes)
            let destinations = sizes.sorted().suffix(stores).reduce(0, +)
            // A verification beside the next step has its lookups beside that step's scratch.
            bytes = destinations + largest * Int64(max(1, min(stores, steps.count) - 1))
            // The swap keeps the old content in its journal, and the new one is in the run folder until its end.
            if swapsStore, let last = sizes.last {
                bytes = max(bytes, last + contentBytes + max(0, last - contentBytes))
            }
        }
        try add(Int64(Double(bytes) * Self.margin) + Self.base, at: runFolder)
        if let snapshot { try add(Int64(Double(contentBytes) * snapshot.share) + Self.base, at: snapshot.folder) }
    }

    enum Way {
        /// One transaction on the store itself.
        case inPlace
        /// As many stores at one time; the last one may replace the content of the old store.
        case copies(stores: Int, swapsStore: Bool)
    }

    struct Snapshot {
        var folder: String
        /// The bytes of the archive for one byte of content.
        var share: Double
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
