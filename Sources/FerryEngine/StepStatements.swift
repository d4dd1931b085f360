package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
internal import FerryStore

/// The statements that a step runs, in their order.
///
/// They are not worked out a second time: the step is taken, by the code that takes it on the store, on one without
/// rows, and what it prepares is listed. A statement that only rows ask for (a value that is too large for its chunk, a
/// row that is damaged) is not among them.
package struct StepStatements: Sendable {
    /// Statements that serve one purpose.
    package struct Group: Sendable {
        /// Nil for what makes the new store's tables.
        package var phase: Phase?
        /// What a step in place says of its statement.
        package var reason: String?
        package var statements: [Planned] = []
    }

    package struct Planned: Sendable {
        package var sql: String
        /// Constants of the models and mapping models, by the names of their parameters.
        package var values: [(name: String, value: Value)] = []
    }

    package let groups: [Group]

    // MARK: The stores without rows

    /// Makes a store with the schema of another one and without its rows.
    ///
    /// - Throws: ``DatabaseError`` for what cannot be made here (a module or collation of the app's).
    package static func makeEmptyStore(like store: Connection, at path: String) throws {
        let empty = try SchemaRehearsal(of: store, at: path).connection
        let metadata = try StoreMetadata.read(from: store)
        try metadata.write(to: empty)
    }

    /// Takes a step on a store without rows; in place it changes that one.
    ///
    /// Gives the path of the store that the next step starts from, too.
    package static func of(
        _ step: StepPlan, from store: String, in folder: String, dropping: Set<String>
    ) throws -> (StepStatements, store: String) {
        var step = step
        // Counts of the store's rows do not hold here.
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
            // Of an empty store nothing is asked but its statements.
            try InPlaceRun.run([step], on: connection, options: options) { _ in { _, _ in } }
        case .copy:
            // Code of the app's is not called to show a plan; what a policy writes by itself is for the policy to say.
            let policies = step.resolved.entityMappings.compactMap { mapping in
                mapping.policy.map {
                    ($0, { SilentPolicy(functionNames: mapping.policyFunctions ?? []) } as PolicyFactory)
                }
            }
            let run = StepRun(
                step: step, sourcePath: store, isSourcePrivate: true, folder: folder, options: options,
                policies: PolicyRegistry(Dictionary(policies, uniquingKeysWith: { first, _ in first })))
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

/// A policy that does what Core Data's own class does.
private struct SilentPolicy: EntityMigrationPolicy {
    let functionNames: Set<String>

    var functions: [String: PolicyFunction] {
        Dictionary(uniqueKeysWithValues: functionNames.map { ($0, { _ in .null }) })
    }
}

/// Statements on their way into groups.
private struct StatementList {
    let isInPlace: Bool
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

    /// What each chunk has another value for.
    private static let rangeNames: Set<String> = [":low", ":high", ":last", ":skipped"]
    private static let reads = ["SELECT", "WITH", "VALUES"]
    private static let bookkeeping = [
        "PRAGMA", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH",
    ]

    /// Leaves out how the run keeps its own books, and what only looks at the schema or checks.
    private func isShown(_ sql: String) -> Bool {
        let start = sql.prefix { $0.isLetter }.uppercased()
        if Self.bookkeeping.contains(start) { return false }
        if sql.contains("main.ferry_progress") || sql.contains("scratch.last_unit") { return false }
        guard Self.reads.contains(start) else { return true }
        return !isInPlace && phase != nil && !sql.contains("sqlite_master") && !sql.contains("pragma_")
    }
}
