internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The shared state of the checks: a connection to both stores and the lookup file, the two layouts, and the report.
///
/// The connection has the stores as `source` and `destination`, and the lookup file as `lookups`. Two files at rest are
/// attached read-only to the lookup file's connection; each walker has a context of its own, without lookups. Inside the
/// transaction that has made it the destination is the connection's main database, and one connection does all.
final class VerificationContext {
    let verification: Verification
    /// The step, in which mappings whose policies kept all keys count as mappings that keep keys.
    let step: ResolvedStep
    let connection: Connection
    /// The layout with the names found in the source store.
    let source: StoreLayout
    /// The layout with the names that the destination must have, or with those found if they may differ.
    let destination: StoreLayout
    var report = VerificationSummary()
    /// Set by a check if the destination's tables cannot be read as the model requires.
    var isUnreadable = false
    /// What an inferred mapping continues; nil with versions between, where the two models alone do not determine it.
    private(set) lazy var matching: ModelMatching? =
        step.mappingModels.contains(where: \.isInferred) && step.middle.isEmpty
        ? ModelMatching(source: sourceModel, destination: destinationModel) : nil
    private var keptColumns: [String: [KeptColumn]] = [:]
    private(set) lazy var keptDamage = KeptDamage(self)
    private(set) lazy var keptUnknownRows = KeptUnknownRows(self)
    let conversion: ColumnConversion
    /// The associations that ``RowsCheck`` writes and ``RelationshipsCheck`` reads, by the position of the mapping.
    private(set) var associations: [Int: AssociationTable] = [:]
    /// The relations whose pairs are being gathered; they hold the context, too.
    var pairs: [RelationPairs] = []

    let progress: VerificationProgress
    // What the checks of rows, relations and indexes read once.
    private(set) lazy var relationForms = Result { try RelationForms(in: self) }
    private(set) lazy var sourceLinks = Result { try SourceLinks.all(in: self) }
    private(set) lazy var indexedTables = Result { try TableIndexes.all(in: self) }

    /// Whether the destination is not committed yet, so that no other connection can read it.
    let isInTransaction: Bool
    private(set) lazy var sourceEntities = source.entitiesByNumber
    private(set) lazy var destinationEntities = destination.entitiesByNumber
    /// The mappings by the root of their destination entity; those that give new keys in the order of these.
    private lazy var mappingsByRoot = Dictionary(grouping: step.entityMappings) {
        destinationModel.root(of: $0.destination)
    }
    private var newKeyMappings: [String: [ResolvedEntityMapping]] = [:]
    /// The destination's foreign keys by table, ordered by name, and its columns of to-many links without inverse.
    private(set) lazy var foreignKeys = Dictionary(
        grouping: destination.relationshipStorage.compactMap { key, storage -> (table: String, key: PropertyKey)? in
            if case .foreignKey(let table, _, _, _) = storage { return (table, key) }
            return nil
        }, by: \.table
    ).mapValues { $0.map(\.key).sorted() }
    private(set) lazy var inverseless = destination.relationshipStorage.values.compactMap { storage in
        if case .inverseless(let table, let column) = storage { return (table: table, column: column) }
        return nil
    }
    /// The destination's entity tables, ordered by their root entities.
    private(set) lazy var destinationTables = destination.tables.values.inOrder { codeUnitOrder($0.root, $1.root) }
    /// The look-ups of equal values that conditions asked for; nil where a scan must do.
    private var equalValues: [EqualValues.Key: EqualValues?] = [:]
    let soundLinks: SoundLinks
    /// Gets the progress of the work on this thread.
    var onProgress: ((ProgressUpdate) -> Void)?
    /// Called at every announcement, to handle events of walkers between two rows.
    var onAnnouncement: (() throws -> Void)?
    private var rowsSinceAnnouncement = 0
    static let rowsPerAnnouncement = 4096
    /// The last comparison of kept objects, whose statements serve the next range of its table.
    private var lastWalk: RowWalk?

    /// The context of the calling thread, with the lookup file.
    convenience init(_ verification: Verification, lookups: LookupFile, key: String?) throws {
        // SQLite's sorter files are created in the work folder too.
        let vfs = try VFS(temporaryFolder: verification.workFolder, for: .reading)
        let connection = try Connection(path: lookups.path, mode: .create, vfs: vfs, trace: verification.trace)
        // A file that no later call resumes needs no protection against a kill.
        if key == nil {
            try connection.keepNoJournal()
            try lookups.unlink()
        } else {
            try connection.setPragma("journal_mode", to: "TRUNCATE")
        }
        try connection.execute("PRAGMA main.synchronous = OFF")
        connection.nameMain("lookups")
        try VerificationContext.attachStores(of: verification, to: connection)
        let source = try StoreLayout.actual(for: verification.step.source.model, on: connection, schema: "source")
        let model = verification.step.destination.model
        let destination =
            verification.mayHaveOtherNames
            ? try StoreLayout.actual(for: model, on: connection, schema: "destination")
            : try StoreLayout.canonical(for: model, foundTriggers: .of(source))
        try self.init(verification, connection, key: key, source: source, destination: destination)
        // The share for as long as walkers run.
        try takeCaches(verification.ownCacheBytes)
        report = progress.state.report
    }

    /// Inside the transaction that has made the destination; ``Verification/attach(workFolder:to:)`` has prepared the
    /// connection.
    convenience init(_ verification: Verification, before connection: Connection) throws {
        let source = try StoreLayout.actual(for: verification.step.source.model, on: connection, schema: "source")
        try self.init(
            verification, connection, source: source,
            destination: StoreLayout.canonical(
                for: verification.step.destination.model, foundTriggers: .of(source)), isInTransaction: true)
    }

    /// Makes the contexts of threads that read the same stores by connections of their own, without lookups.
    func walkerContexts(caches: Int) throws -> @Sendable () throws -> VerificationContext {
        let relationForms = try relationForms.get()
        return { [verification, source, destination, soundLinks, hashKey = progress.state.hashKey] in
            let vfs = try VFS(temporaryFolder: verification.workFolder, for: .reading)
            let connection = try Connection(path: ":memory:", mode: .create, vfs: vfs, trace: verification.trace)
            try VerificationContext.attachStores(of: verification, to: connection)
            // A sorter takes as much memory as the cache of `main`, which is empty here.
            try connection.shareCaches(caches, among: ["main": 2, "source": 3, "destination": 3, "temp": 1])
            let context = try VerificationContext(
                verification, connection, source: source, destination: destination, soundLinks: soundLinks)
            context.relationForms = .success(relationForms)
            context.progress.state.hashKey = hashKey
            try connection.execute("BEGIN")
            return context
        }
    }

    private init(
        _ verification: Verification, _ connection: Connection, key: String? = nil, source: StoreLayout,
        destination: StoreLayout, soundLinks: SoundLinks = SoundLinks(), isInTransaction: Bool = false
    ) throws {
        self.verification = verification
        onProgress = verification.progress
        step = verification.step.taking(verification.policies)
        self.connection = connection
        progress = try VerificationProgress(of: verification, on: connection, key: key)
        self.source = source
        self.destination = destination
        self.soundLinks = soundLinks
        conversion = try ColumnConversion(on: connection)
        self.isInTransaction = isInTransaction
        if isInTransaction { return }
        connection.limit(.length, verification.rowLimit)
        connection.abandonStatements(on: verification.stop)
    }

    /// Frees what was read once; nothing reads it afterwards.
    func forgetReadings() {
        let freed = FerryError(.internalError, "The readings were freed.")
        (relationForms, sourceLinks, indexedTables) = (.failure(freed), .failure(freed), .failure(freed))
    }

    /// Divides these bytes among the caches of the connection's databases.
    func takeCaches(_ bytes: Int) throws {
        // The lookup file has the random accesses.
        let shares: KeyValuePairs =
            isInTransaction
            ? ["main": 3, "source": 3, "lookups": 4, "temp": 2] : ["main": 4, "source": 3, "destination": 3, "temp": 2]
        try connection.shareCaches(bytes, among: shares)
    }

    private static func attachStores(of verification: Verification, to connection: Connection) throws {
        let destinationMode = verification.isDestinationImmutable ? Connection.Mode.unlocked : .readOnly
        let sourceMode =
            if verification.isAlone {
                destinationMode
            } else if verification.isSourcePrivate {
                Connection.Mode.unlocked
            } else {
                Connection.Mode.readOnly
            }
        try connection.attach(path: verification.sourcePath, as: "source", mode: sourceMode)
        try connection.attach(path: verification.destinationPath, as: "destination", mode: destinationMode)
    }

    /// The comparison of a root table's kept objects, from the part before if there is one.
    func keptWalk(of root: String, make: () throws -> RowWalk) throws -> RowWalk {
        if let lastWalk, lastWalk.root == root { return lastWalk }
        lastWalk = nil
        let walk = try make()
        lastWalk = walk
        return walk
    }

    /// Forgets statements that serve several parts, before another kind of work; they hold the context, too.
    func forgetWalk() { lastWalk = nil }

    var sourceModel: ManagedObjectModel { verification.step.source.model }
    var destinationModel: ManagedObjectModel { verification.step.destination.model }

    // MARK: Reporting

    func report(
        _ check: any Check.Type, entity: String?, property: String? = nil, count: Int64 = 1, example: String?
    ) {
        report.add(check: check.name, entity: entity, property: property, count: count, example: example)
    }

    /// Announces progress and checks for a stop request every few thousand rows; cheap enough for every row.
    func advance(_ subject: String, done: Int64, total: Int64?) throws {
        rowsSinceAnnouncement += 1
        guard rowsSinceAnnouncement >= Self.rowsPerAnnouncement else { return }
        try announce(subject, done: done, total: total)
    }

    /// Announces progress and checks for a stop request now.
    func announce(_ subject: String, done: Int64 = 0, total: Int64? = nil) throws {
        rowsSinceAnnouncement = 0
        try verification.stop.check()
        onProgress?(ProgressUpdate(phase: .verify, subject: subject, done: done, total: total))
        try onAnnouncement?()
    }

    // MARK: Names

    func sourceTable(of entity: String) throws -> EntityTable {
        try Self.known(source.table(of: entity), entity, in: "source")
    }

    func destinationTable(of entity: String) throws -> EntityTable {
        try Self.known(destination.table(of: entity), entity, in: "destination")
    }

    func sourceNumber(of entity: String) throws -> Int64 {
        try Self.known(source.number(of: entity), entity, in: "source")
    }

    func destinationNumber(of entity: String) throws -> Int64 {
        try Self.known(destination.number(of: entity), entity, in: "destination")
    }

    func destinationNumbers(ofFamily entity: String) -> String { destination.numbers(ofFamily: entity).sqlList }

    private static func known<Found>(_ found: Found?, _ entity: String, in side: String) throws -> Found {
        guard let found else {
            throw FerryError(.internalError, "The \(side) store has no table or number for entity \(entity).")
        }
        return found
    }

    func statement(of type: String? = nil, _ name: String, on table: String? = nil) throws -> String? {
        try connection.value(
            """
            SELECT sql FROM destination.sqlite_master
            WHERE name = ?1 AND type IS ifnull(?2, type) AND tbl_name IS ifnull(?3, tbl_name)
            """, [.text(name), type.map { .text($0) } ?? .null, table.map { .text($0) } ?? .null])?.text
    }

    /// The look-up of an attribute's or a relationship's values; nil if a scan must do.
    func equalValues(_ key: EqualValues.Key) throws -> EqualValues? {
        if let known = equalValues[key] { return known }
        let values = try EqualValues(key, number: equalValues.count, in: self)
        equalValues[key] = .some(values)
        return values
    }

    /// The root entity of a destination table; nil if no entity has it.
    func root(ofTable name: String) -> String? { destinationTables.first { $0.name == name }?.root }

    // MARK: Mappings

    /// The number of rows expected in a destination table, for progress: as the run wrote them, else as found.
    func expectedRows(in table: EntityTable) throws -> Int64? {
        guard let counts = verification.counts else {
            return try connection.integer("SELECT count(*) FROM destination.\(table.name)")
        }
        return counts.filter { $0.destination.map { destinationModel.root(of: $0) } == table.root }
            .reduce(0) { $0 + $1.written }
    }

    /// Entity mappings that keep `Z_PK` and write into a destination root table.
    func keepingMappings(into root: String) -> [ResolvedEntityMapping] {
        mappings(into: root).filter(\.mayKeepPrimaryKeys)
    }

    func associations(of position: Int) throws(DatabaseError) -> AssociationTable {
        if let known = associations[position] { return known }
        let table = try AssociationTable("lookups.association_\(position)", on: connection)
        associations[position] = table
        return table
    }

    /// The columns of a root table that continue those of the source.
    func keptColumns(of root: String) -> [KeptColumn] {
        if let known = keptColumns[root] { return known }
        let found = KeptColumn.all(of: root, in: self)
        keptColumns[root] = found
        return found
    }

    /// Entity mappings that write into a destination root table.
    func mappings(into root: String) -> [ResolvedEntityMapping] {
        mappingsByRoot[root] ?? []
    }

    /// The source root entity whose objects keep their keys in a destination root table: only those of one can.
    func sourceRoot(into root: String) -> String? {
        keepingMappings(into: root).first.map { sourceModel.root(of: $0.source) }
    }

    /// The highest `Z_PK` and `Z_MAX` of the source whose keys stay in a root table: new keys begin above it.
    func highestKeptKey(in root: String) throws -> Int64 {
        guard let source = sourceRoot(into: root) else { return 0 }
        let largest = try connection.integer("SELECT max(Z_PK) FROM source.\(try sourceTable(of: source).name)")
        let recorded = try connection.integer(
            "SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer(try sourceNumber(of: source))])
        return max(0, largest ?? 0, recorded ?? 0)
    }

    /// Entity mappings that give new keys in a destination root table, in the order in which they give keys.
    ///
    /// A mapping with `unique` comes after those without it that write its destination entity; else the mappings' order
    /// counts. A migration policy can give keys in any root table.
    func newKeyMappings(into root: String) -> [ResolvedEntityMapping] {
        let known = newKeyMappings[root] ?? orderedNewKeyMappings(into: root)
        newKeyMappings[root] = known
        return known
    }

    private func orderedNewKeyMappings(into root: String) -> [ResolvedEntityMapping] {
        var waiting = step.entityMappings.filter { mapping in
            if mapping.policy != nil { return verification.policies.newKeys[mapping.position]?[root] != nil }
            return !mapping.keepsPrimaryKey && destinationModel.root(of: mapping.destination) == root
        }
        var ordered: [ResolvedEntityMapping] = []
        while !waiting.isEmpty {
            let index = waiting.firstIndex { candidate in
                candidate.unique.isEmpty
                    || !waiting.contains { $0.unique.isEmpty && $0.destination == candidate.destination }
            }
            guard let index else { preconditionFailure("a mapping without unique never waits") }
            ordered.append(waiting.remove(at: index))
        }
        return ordered
    }
}

extension ResolvedStep {
    fileprivate func taking(_ policies: PolicyEvidence) -> ResolvedStep {
        with(
            entityMappings.map { mapping in
                policies.implied.contains(mapping.position) ? mapping.with(keepsPrimaryKey: true) : mapping
            })
    }
}
