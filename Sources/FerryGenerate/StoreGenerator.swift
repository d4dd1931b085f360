package import FerryBase
package import FerryModel
internal import FerrySQLite
package import FerryStore

/// Fills a new store of a model with seeded, plausible data, in constant memory.
///
/// All values follow from the seed and the rows' keys: the same model, options and seed give the same store.
package struct StoreGenerator: Sendable {
    private let version: ModelVersion
    private let options: GenerationOptions
    private let layout: StoreLayout
    private let counts: RowCounts

    /// Concrete entities and their numbers of rows: the requested number, or more if mandatory relationships need more.
    package var rows: [String: Int64] { counts.rows }

    /// - Throws: `unsupported` if the model has no store layout, or demands relations that the rows cannot have.
    package init(_ version: ModelVersion, options: GenerationOptions) throws(FerryError) {
        self.version = version
        self.options = options
        layout = try StoreLayout.canonical(for: version.model)
        counts = try RowCounts(layout, options: options)
    }

    /// Creates the store and its external files at a free path.
    ///
    /// - Throws: `outputExists`; ``FerryError`` and ``DatabaseError`` from below, after unfinished files are removed.
    package func generate(at path: String, files: FileLayer, progress: ProgressHook? = nil) throws {
        let support = ExternalData.supportFolder(forStore: path)
        for taken in [path, path + "-wal", path + "-journal", support] where try files.exists(taken) {
            throw FerryError(.outputExists, "\(taken) already exists.", remedy: "Name another path or remove it.")
        }
        do {
            try fill(path, files, progress)
        } catch {
            for leftover in [path, path + "-wal", path + "-shm", path + "-journal", support] {
                try files.removeTree(leftover)
            }
            throw error
        }
    }

    private func fill(_ path: String, _ files: FileLayer, _ progress: ProgressHook?) throws {
        let connection = try Connection(path: path, mode: .create)
        // An unfinished file is removed, so it needs no rollback.
        try connection.keepNoJournal()
        try connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -4096")
        try StoreCreation.prepare(connection)
        let ranges = KeyRanges(layout, rows: counts)
        var external = try ExternalFileMaker(
            forStore: path, values: externalValues(ranges), options: options, files: files)
        var report = Report(hook: progress)
        let total = ranges.maximumKeys.values.reduce(0, +)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ranges.maximumKeys, on: connection)
            try metadata.write(to: connection)
            try ModelCache.write(version.model, on: connection)
            for table in layout.tablesInOrder {
                for entity in layout.entities(inTableOf: table.root) {
                    let maker = try RowMaker(entity, table: table, in: layout, ranges: ranges, options: options)
                    report.begin(entity, total: total)
                    try maker.write(to: connection, files: &external) { report.add($0) }
                    report.send()
                }
            }
            for table in layout.joinTables {
                let maker = JoinRowMaker(table, in: layout, ranges: ranges, options: options)
                report.begin("links of \(table.relationship.title)", total: nil)
                try maker.write(to: connection) { report.add($0) }
                report.send()
            }
            for index in layout.indexes { try connection.execute(index.sql) }
            try StoreCreation.finish(layout, on: connection)
        }
        if options.usesWriteAheadLog { try connection.execute("PRAGMA journal_mode = WAL") }
    }

    private var metadata: StoreMetadata {
        var random = SeededRandom(seed: options.seed, "uuid".stream, 0)
        return StoreMetadata.new(for: version, uuid: random.uuid().uuidText)
    }

    /// The highest possible number of external values.
    private func externalValues(_ ranges: KeyRanges) -> Int64 {
        ExternalData.attributes(of: layout).reduce(0) { $0 + (ranges.families[$1.key.entity]?.count ?? 0) }
    }

    /// Reports the written rows, ten thousand at a time.
    private struct Report {
        let hook: ProgressHook?
        private var subject = ""
        private var total: Int64?
        private var done: Int64 = 0
        private var unreported: Int64 = 0

        init(hook: ProgressHook?) { self.hook = hook }

        /// Begins an entity, whose rows add up to the total, or links, whose number is unknown (nil).
        mutating func begin(_ subject: String, total: Int64?) {
            (self.subject, self.total) = (subject, total)
            if total == nil { done = 0 }
        }

        mutating func add(_ rows: Int64) {
            done += rows
            unreported += rows
            if unreported >= 10_000 { send() }
        }

        mutating func send() {
            guard unreported > 0 else { return }
            unreported = 0
            hook?(ProgressUpdate(phase: .rows, subject: subject, done: done, total: total))
        }
    }
}

/// The content of a generated store.
package struct GenerationOptions: Sendable {
    /// Rows of an entity that ``rowsOfEntity`` does not name; abstract entities have none.
    package var rows: Int64
    package var rowsOfEntity: [String: Int64]
    package var seed: UInt64
    /// The percentage of optional values and relationships that are empty.
    package var emptyPercent: Int64
    /// The number of external values in files; the other values are stored in their rows.
    package var externalFiles: Int
    package var externalFileBytes: ClosedRange<Int>
    /// Value makers by declaring entity and attribute; other values are plausible.
    package var values: [PropertyKey: ValueMaker]
    /// Numbers of related objects, by declaring entity and many-to-many relationship (the side that names the table).
    package var links: [PropertyKey: ClosedRange<Int64>]
    /// Whether the store stays in WAL mode, Core Data's default.
    package var usesWriteAheadLog: Bool

    package init(
        rows: Int64 = 1_000, rowsOfEntity: [String: Int64] = [:], seed: UInt64 = 1, emptyPercent: Int64 = 10,
        externalFiles: Int = 8, externalFileBytes: ClosedRange<Int> = 100_000...5_000_000,
        values: [PropertyKey: ValueMaker] = [:], links: [PropertyKey: ClosedRange<Int64>] = [:],
        usesWriteAheadLog: Bool = true
    ) {
        self.rows = rows
        self.rowsOfEntity = rowsOfEntity
        self.seed = seed
        self.emptyPercent = emptyPercent
        self.externalFiles = externalFiles
        self.externalFileBytes = externalFileBytes
        self.values = values
        self.links = links
        self.usesWriteAheadLog = usesWriteAheadLog
    }
}
