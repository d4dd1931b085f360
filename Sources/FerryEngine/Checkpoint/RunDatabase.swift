internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The destination, the scratch database and the source on one connection.
///
/// Destination and scratch are committed together: with `journal_mode=TRUNCATE` and `synchronous` on for both, SQLite
/// writes a super-journal, so that rows, progress, associations and lookups are one atomic commit.
struct RunDatabase {
    let run: StepRun

    /// Small caches are as fast as large ones for building tables in key order, and small sorters quicker than large ones;
    /// a chunk that is staged is read several times.
    private static let cacheParts: KeyValuePairs = ["main": 2, "scratch": 2, "source": 2, "temp": 4]

    /// Opens a run or begins it.
    ///
    /// - Returns: The context, and whether an earlier call has done a part of the work.
    /// - Throws: ``FerryError`` or ``DatabaseError``.
    func open() throws -> (StepContext, resumed: Bool) {
        let connection = try connect()
        try connection.attach(path: run.scratchPath, as: "scratch")
        try connection.attach(
            path: run.sourcePath, as: "source", readOnly: !run.isSourcePrivate, immutable: run.isSourcePrivate)
        try configure(connection)
        let resolved = run.step.resolved
        let source = try StoreLayout.actual(for: resolved.source.model, on: connection, schema: "source")
        let destination = try StoreLayout.canonical(for: resolved.destination.model, foundTriggers: .of(source))
        let assignments = RelationshipAssignments(step: run.step, source: source, destination: destination)
        let known = try ProgressTable.exists(on: connection)
        if known {
            try checkAgreement(on: connection)
        } else {
            try begin(connection, destination: destination, assignments: assignments)
        }
        try FunctionRegistry.register(on: connection)
        try ExternalContents(
            folder: run.options.externalFolder ?? ExternalData.folder(forStore: run.sourcePath),
            dropsMissing: run.options.damaged == .drop
        ).register(on: connection)
        let context = try StepContext(
            step: run.step, connection: connection, source: source, destination: destination,
            assignments: assignments, options: run.options)
        return (context, try known && context.progress.lastUnit() > 0)
    }

    /// Takes the progress table out and leaves no journal beside the destination.
    func finish() throws {
        let connection = try connect()
        try connection.execute("PRAGMA main.synchronous = FULL")
        try connection.execute("DROP TABLE IF EXISTS main.\(ProgressTable.name)")
        try connection.execute("PRAGMA main.journal_mode = DELETE")
    }

    // MARK: Opening

    private func connect() throws -> Connection {
        try Connection(path: run.destinationPath, mode: .create, vfs: run.options.vfs, trace: run.options.trace)
    }

    private func configure(_ connection: Connection) throws {
        // Zeroing what is deleted would write every page of the temporary tables twice.
        try connection.execute("PRAGMA secure_delete = OFF")
        // Temporary tables hold one chunk; when a chunk is given up, so is the connection, and with it these tables.
        try connection.execute("PRAGMA temp_store = FILE; PRAGMA temp.journal_mode = OFF")
        try connection.shareCaches(run.options.memory.workingCaches, among: Self.cacheParts)
        for schema in ["main", "scratch"] {
            try connection.execute("PRAGMA \(schema).journal_mode = TRUNCATE")
            try connection.execute("PRAGMA \(schema).synchronous = FULL")
            // Without these two no super-journal is written, and a crash could keep rows and lose their lookups.
            let journal = try connection.value("PRAGMA \(schema).journal_mode")
            let isSynchronous = try connection.integer("PRAGMA \(schema).synchronous") ?? 0 >= 1
            guard journal == .text("truncate"), isSynchronous else {
                throw FerryError(
                    .internalError, "SQLite does not give the \(schema) database a journal that survives a crash.",
                    remedy: "Use a file system that supports file locking.")
            }
        }
    }

    // MARK: Beginning

    /// Makes all tables in one transaction: a destination either is empty or has its progress table.
    private func begin(
        _ connection: Connection, destination: StoreLayout, assignments: RelationshipAssignments
    ) throws {
        let resolved = run.step.resolved
        let metadata = try StoreMetadata.read(from: connection, schema: "source").restamped(for: resolved.destination)
        let hasModelCache = try ModelCache.hasTable(connection, schema: "source")
        try StoreCreation.prepare(connection)
        try connection.transaction("BEGIN IMMEDIATE") {
            try StoreCreation.createTables(of: destination, on: connection, hasModelCache: hasModelCache)
            try StoreCreation.writeEntityNumbers(of: destination, maximumKeys: [:], on: connection)
            try metadata.write(to: connection)
            if try ModelCache.hasModel(connection, schema: "source") {
                try ModelCache.write(resolved.destination.model, on: connection)
            }
            try ProgressTable.create(on: connection)
            try dropScratch(connection)
            try ScratchDatabase.createUnit(on: connection)
            for mapping in resolved.entityMappings where assignments.associated.contains(mapping.position) {
                try ScratchDatabase.createAssociation(
                    of: mapping, isReversible: resolved.hasPolicies, on: connection)
            }
            for table in assignments.gathered { try ScratchDatabase.createLinks(of: table, on: connection) }
            if resolved.hasPolicies {
                for table in assignments.gathered { try ScratchDatabase.indexLinks(of: table, on: connection) }
                try ScratchDatabase.createPolicyTables(on: connection)
            }
            for (entity, lists) in StepContext.lookups(of: run.step).sorted(by: { $0.key < $1.key }) {
                for attributes in lists {
                    let columns = attributes.compactMap { destination.column(of: $0, in: entity) }
                    try ScratchDatabase.createLookup(of: entity, by: attributes, columns: columns, on: connection)
                }
            }
        }
    }

    /// What a destination that was lost left behind in scratch.
    private func dropScratch(_ connection: Connection) throws {
        let names = try connection.rows(
            "SELECT name FROM scratch.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for name in names.compactMap({ $0[0].text }) {
            try connection.execute("DROP TABLE scratch.\(Connection.quoted(name))")
        }
    }

    /// Both files must know the same last unit, else one of them is not of this run.
    private func checkAgreement(on connection: Connection) throws {
        let recorded = try ProgressTable(on: connection).lastScratchUnit()
        guard try ScratchDatabase.lastUnit(on: connection) == recorded else {
            throw FerryError(
                .runDiffers, "The scratch database in \(run.folder) does not belong to the destination beside it.",
                remedy: "Begin the run anew with --restart.")
        }
    }
}
