package import FerryBase
internal import FerryMapping
package import FerryPlan
package import FerrySQLite
internal import FerryStore

/// The statements that a step runs, in their order.
///
/// The engine runs the step on a store without rows and lists the statements that it prepares. The list lacks
/// statements that only certain rows need: a value too large for its chunk, or a damaged row.
package struct StepStatements: Sendable {
    /// The statements of one phase, or of one reason in place.
    package struct Group: Sendable {
        /// Nil for the statements that create the new store's tables.
        package var phase: Phase?
        /// The reason that a step in place gives for its statements.
        package var reason: String?
        package var statements: [Planned] = []
    }

    package struct Planned: Sendable {
        package var sql: String
        /// Constants of the models and mapping models, with the names of their parameters.
        package var values: [(name: String, value: Value)] = []
    }

    package let groups: [Group]

    // MARK: The stores without rows

    /// Creates a store with the schema and metadata of another store, without rows.
    ///
    /// - Throws: ``DatabaseError`` if the schema needs a module or a collation of the app.
    package static func makeEmptyStore(like store: Connection, at path: String) throws {
        let empty = try SchemaRehearsal(of: store, at: path).connection
        let metadata = try StoreMetadata.read(from: store)
        try metadata.write(to: empty)
    }

    /// Runs a step on a store without rows and lists its statements; a step in place changes that store.
    ///
    /// Also returns the path of the store from which the next step starts.
    package static func of(
        _ step: StepPlan, from store: String, in folder: String, dropping: Set<String>
    ) throws -> (StepStatements, store: String) {
        var step = step
        // The plan's row counts belong to the original store.
        step.forgetSourceRows()
        let list = Locked(StatementList(isInPlace: step.mode == .inPlace))
        var options = EngineOptions(
            chunkSize: .automatic, now: 0,
            progress: { update in
                list.withLock { $0.begin(update) }
            })
        options.onStatement = { event in list.withLock { $0.take(event) } }
        options.sourceDamage = []
        options.dropping = dropping
        var next = store
        switch step.mode {
        case .none: break
        case .inPlace:
            let connection = try Connection(path: store, mode: .readWrite)
            connection.onStatement = options.onStatement
            // The statements are the only result: no check runs on a store without rows.
            try InPlaceRun.run([step], on: connection, options: options) { _ in { _, _ in } }
        case .copy:
            // Showing a plan does not call the app's policies; statements that a policy runs by itself are not listed.
            let policies = step.resolved.entityMappings.compactMap { mapping in
                mapping.policy.map {
                    ($0, { DefaultOnlyPolicy(functionNames: mapping.policyFunctions ?? []) } as PolicyFactory)
                }
            }
            var run = StepRun(
                step: step, sourcePath: store, isSourcePrivate: true, folder: folder, options: options,
                policies: PolicyRegistry(Dictionary(policies, uniquingKeysWith: { first, _ in first })),
                keepsTables: true)
            if let part = step.partInPlace {
                let source = try Connection(path: store, mode: .readOnly)
                run.closing = try PartInPlace.closing(of: part, on: source, dropping: dropping)
                try makeEmptyStore(like: source, at: run.destinationPath)
                let copy = try Connection(path: run.destinationPath, mode: .readWrite)
                copy.onStatement = options.onStatement
                list.withLock { $0.isInPlace = true }
                try PartInPlace.run(part, on: copy, options: options)
                list.withLock { $0.isInPlace = false }
            }
            _ = try run.run()
            try run.finish()
            next = run.destinationPath
        }
        return (StepStatements(groups: list.withLock { $0.groups }), next)
    }
}

extension StepPlan {
    fileprivate mutating func forgetSourceRows() {
        sourceRows = nil
        for index in parts.indices { parts[index].forgetSourceRows() }
    }
}

/// A policy with the default behaviour of `NSEntityMigrationPolicy`.
private struct DefaultOnlyPolicy: EntityMigrationPolicy {
    let functionNames: Set<String>

    var functions: [String: PolicyFunction] {
        Dictionary(uniqueKeysWithValues: functionNames.map { ($0, { _ in .null }) })
    }
}

private struct StatementList {
    var isInPlace: Bool {
        didSet { if !isInPlace { reason = nil } }
    }
    var groups: [StepStatements.Group] = []
    private var phase: Phase?
    private var reason: String?
    private var known: Set<String> = []

    init(isInPlace: Bool) { self.isInPlace = isInPlace }

    mutating func begin(_ update: ProgressUpdate) {
        phase = update.phase
        if isInPlace { reason = update.subject }
    }

    mutating func take(_ event: StatementEvent) {
        switch event {
        case .statement(let sql):
            guard isShown(sql), known.insert(sql).inserted else { return }
            if groups.last?.phase != phase || groups.last?.reason != reason || groups.isEmpty {
                groups.append(.init(phase: phase, reason: reason))
            }
            groups[groups.count - 1].statements.append(.init(sql: sql))
        case .binding(let sql, let name, let value):
            guard !Self.rangeNames.contains(name) else { return }
            for group in groups.indices.reversed() {
                guard let index = groups[group].statements.firstIndex(where: { $0.sql == sql }) else { continue }
                if !groups[group].statements[index].values.contains(where: { $0.name == name }) {
                    groups[group].statements[index].values.append((name, value))
                }
                return
            }
        }
    }

    /// Parameters with a different value in each chunk.
    private static let rangeNames: Set<String> = [":low", ":high", ":last", ":skipped"]
    private static let reads = ["SELECT", "WITH", "VALUES"]
    private static let bookkeeping = [
        "PRAGMA", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH",
    ]

    /// Whether the list shows a statement: progress records, schema reads and checks are left out.
    private func isShown(_ sql: String) -> Bool {
        let start = sql.prefix { $0.isLetter }.uppercased()
        if Self.bookkeeping.contains(start) { return false }
        if sql.contains("main.ferry_progress") || sql.contains("scratch.last_unit") { return false }
        guard Self.reads.contains(start) else { return true }
        return !isInPlace && phase != nil && !sql.contains("sqlite_master") && !sql.contains("pragma_")
    }
}
