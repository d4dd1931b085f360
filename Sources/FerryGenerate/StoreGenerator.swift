package import FerryBase
package import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Fills a new store of a model with seeded, plausible data, in flat memory.
///
/// Everything follows from the seed and the rows' keys: the same model, options and seed give the same store.
package struct StoreGenerator: Sendable {
    private let version: ModelVersion
    private let options: GenerationOptions
    private let layout: StoreLayout
    private let counts: RowCounts

    /// Concrete entity to the rows it gets: what was asked for, or more where mandatory relationships need them.
    package var rows: [String: Int64] { counts.rows }

    /// - Throws: `unsupported` when no store can be laid out for the model, or the rows asked for cannot be related as
    ///   it demands.
    package init(_ version: ModelVersion, options: GenerationOptions) throws(FerryError) {
        self.version = version
        self.options = options
        layout = try StoreLayout.canonical(for: version.model)
        counts = try RowCounts(layout, options: options)
    }

    /// Makes the store and its external files.
    ///
    /// - Parameters:
    ///   - path: Where; nothing may be there yet.
    ///   - files: The file layer.
    ///   - progress: Is told rows as they are written.
    /// - Throws: `outputExists`; ``FerryError`` and ``DatabaseError`` of the layers below, after the unfinished files
    ///   were removed.
    package func generate(at path: String, files: FileLayer, progress: ProgressHook? = nil) throws {
        let support = ExternalData.supportFolder(forStore: path)
        for taken in [path, path + "-wal", path + "-journal", support] where try files.exists(taken) {
            throw FerryError(.outputExists, "\(taken) is there already.", remedy: "Name another path or remove it.")
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
        // The file is worthless until it is whole, so nothing need be undone in it.
        try connection.keepNoJournal()
        try connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -4096")
        try StoreCreation.prepare(connection)
        let ranges = KeyRanges(layout, rows: counts)
        var external = try ExternalFileMaker(
            forStore: path, values: externalValues(ranges), options: options, files: files)
        var report = Report(total: ranges.maximumKeys.values.reduce(0, +), hook: progress)
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ranges.maximumKeys, on: connection)
            try metadata.write(to: connection)
            try ModelCache.write(version.model, on: connection)
            for table in layout.tablesInOrder {
                for entity in layout.entities(inTableOf: table.root) {
                    let maker = try RowMaker(entity, table: table, in: layout, ranges: ranges, options: options)
                    try maker.write(to: connection, files: &external) { report.add($0, of: entity) }
                }
            }
            for table in layout.joinTables {
                let maker = JoinRowMaker(table, in: layout, ranges: ranges, options: options)
                try maker.write(to: connection) { report.addLinks($0, of: table.relationship) }
            }
            for index in layout.indexes { try connection.execute(index.sql) }
            try StoreCreation.finish(layout, on: connection)
        }
        if options.usesWriteAheadLog { try connection.execute("PRAGMA journal_mode = WAL") }
    }

    private var metadata: StoreMetadata {
        var random = SeededRandom(seed: options.seed, "uuid".stream, 0)
        return StoreMetadata.new(for: version, uuid: options.uuid ?? UUIDText.make(&random))
    }

    /// How many external values there will be at most.
    private func externalValues(_ ranges: KeyRanges) -> Int64 {
        ExternalData.attributes(of: layout).reduce(0) { $0 + (ranges.families[$1.key.entity]?.count ?? 0) }
    }

    private struct Report {
        /// Rows of entity tables; how many links there will be is not known beforehand.
        let total: Int64
        let hook: ProgressHook?
        private var done: Int64 = 0
        private var links: (relationship: PropertyKey?, done: Int64) = (nil, 0)

        init(total: Int64, hook: ProgressHook?) {
            self.total = total
            self.hook = hook
        }

        mutating func add(_ rows: Int64, of subject: String) {
            done += rows
            hook?(ProgressUpdate(phase: .rows, subject: subject, done: done, total: total))
        }

        mutating func addLinks(_ rows: Int64, of relationship: PropertyKey) {
            if links.relationship != relationship { links = (relationship, 0) }
            links.done += rows
            hook?(ProgressUpdate(phase: .rows, subject: "links of \(relationship.title)", done: links.done))
        }
    }
}
