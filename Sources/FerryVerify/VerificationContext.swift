internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// What the checks share: one connection to both stores and the lookup file, the two layouts, and the report.
///
/// The lookup file is the connection's `main`; the stores are attached as `source` and `destination`, for reading only.
/// Each walker that makes parts of checks beside the others has one of its own, without lookups. Inside the transaction
/// of a step in place the destination is the connection's `main`, and there is no source but for its surroundings.
final class VerificationContext {
    let verification: Verification
    /// The step; mappings whose policies kept all keys keep them here.
    let step: ResolvedStep
    let connection: Connection
    /// The names that the source store really has.
    let source: StoreLayout
    /// The names that the destination must have, or those that it has where they may be others.
    let destination: StoreLayout
    var report: VerificationReport
    /// Set by a check after which the destination's tables cannot be read as the model says.
    var isUnreadable = false
    /// What a migration in place may leave as it was.
    private(set) lazy var keptDamage = KeptDamage(self)
    private(set) lazy var keptUnknownRows = KeptUnknownRows(self)
    let conversion: ColumnConversion
    /// What ``RowsCheck`` leaves for ``RelationshipsCheck``.
    let associations: AssociationTables
    /// What is claimed of the root table at work; its check has it.
    weak var claims: UniqueClaims?

    let progress: VerificationProgress
    /// All stored relationships of the destination, each with its inverse, in the order of names.
    private(set) lazy var relations = Result { try StoredRelation.all(in: self) }
    /// The indexes of the destination, and what their readings show.
    private(set) lazy var indexReadings = Result { try IndexReadings(in: self) }
    /// The foreign keys that are compared together with the rows that hold them.
    private(set) lazy var keysOfRows = Result { try relations.get().compactMap { KeysOfRows($0, in: self) } }
    /// What the source had around its rows, where these are not there any more.
    private let formerSurroundings: SourceSurroundings?
    /// What the source has around its rows.
    private(set) lazy var surroundings = Result {
        try formerSurroundings ?? SourceSurroundings(on: connection, schema: "source")
    }
    /// The destination's tables of objects, by their root entities.
    private(set) lazy var destinationTables = destination.tables.values.sorted { codeUnitOrder($0.root, $1.root) }
    private var countedRows: [String: Int64] = [:]
    /// Called now and then between two rows, where other threads may have something to tell.
    var onLook: (() throws -> Void)?
    private var sinceLastLook = 0
    /// So many rows come between two looks whether a stop was asked for.
    static let rowsBetweenLooks = 4096
    private var isPausing = false

    /// The context that the whole verification has, with the lookup file.
    convenience init(_ verification: Verification, lookups: LookupFile, key: String?) throws {
        // What SQLite sorts on disk goes to the same folder.
        let vfs = try VFS(temporaryFolder: verification.workFolder, for: .reading)
        let connection = try Connection(path: lookups.path, mode: .create, vfs: vfs, trace: verification.trace)
        // What is not gone on with is worth nothing after a kill, so nothing protects it.
        if key == nil {
            try connection.keepNoJournal()
            try lookups.unlink()
        } else {
            try connection.setPragma("journal_mode", to: "TRUNCATE")
        }
        try connection.execute("PRAGMA main.synchronous = OFF")
        try VerificationContext.attachStores(of: verification, to: connection)
        let source = try StoreLayout.actual(for: verification.step.source.model, on: connection, schema: "source")
        let model = verification.step.destination.model
        let destination =
            verification.mayHaveOtherNames
            ? try StoreLayout.actual(for: model, on: connection, schema: "destination")
            : try StoreLayout.canonical(for: model, foundTriggers: .of(source))
        try self.init(verification, connection, key: key, source: source, destination: destination)
        // As long as there are walkers.
        try takeCaches(verification.ownCacheBytes)
        report.checked = progress.state.checked
        report.notRecomputed = progress.state.notRecomputed
        report.differences = progress.state.differences
    }

    /// A context of one walker's own, which reads the same stores by its own connection, and looks nothing up.
    convenience init(
        walkerOf verification: Verification, caches: Int, source: StoreLayout, destination: StoreLayout,
        progress hook: @escaping ProgressHook
    ) throws {
        var verification = verification
        verification.progress = hook
        let vfs = try VFS(temporaryFolder: verification.workFolder, for: .reading)
        let connection = try Connection(path: ":memory:", mode: .create, vfs: vfs, trace: verification.trace)
        try VerificationContext.attachStores(of: verification, to: connection)
        // A sorter takes as much as the cache of `main`, which holds nothing.
        try connection.shareCaches(
            caches, among: ["main": 2, "source": 3, "destination": 3, "temp": 1])
        try self.init(verification, connection, source: source, destination: destination)
    }

    /// With surroundings a context inside the transaction of a step in place: the connection has the store as `main` and as
    /// `destination`, and keeps its limits.
    init(
        _ verification: Verification, _ connection: Connection, key: String? = nil, source: StoreLayout,
        destination: StoreLayout, surroundings: SourceSurroundings? = nil
    ) throws {
        self.verification = verification
        step = verification.step.taking(verification.policies)
        report = VerificationReport(mode: verification.mode)
        self.connection = connection
        progress = try VerificationProgress(of: verification, on: connection, key: key)
        self.source = source
        self.destination = destination
        associations = AssociationTables(connection)
        conversion = try ColumnConversion(on: connection)
        formerSurroundings = surroundings
        if isBeforeCommit { return }
        // What is read from here on are rows: none may take all memory.
        connection.limit(.length, max(verification.valueLimit, verification.memory.limit / 2))
        connection.abandonStatements(on: verification.stop)
    }

    /// Takes so much for its caches, of what all contexts have together.
    func takeCaches(_ bytes: Int) throws {
        // Its own lookups are the ones that are met at random.
        try connection.shareCaches(bytes, among: ["main": 4, "source": 3, "destination": 3, "temp": 2])
    }

    private static func attachStores(of verification: Verification, to connection: Connection) throws {
        // The log of a step that is not finished yet stays apart from the main file.
        if verification.isInPlace { connection.keepWriteAheadLogOnClose() }
        let destinationMode = verification.isDestinationImmutable ? Connection.Mode.unlocked : .readOnly
        let sourceMode =
            if verification.isStoreAlone {
                destinationMode
            } else if verification.sourcePath == verification.destinationPath {
                // The main file is the source of a step in place, until its log is written back.
                Connection.Mode.immutable
            } else if verification.isSourcePrivate {
                Connection.Mode.unlocked
            } else {
                Connection.Mode.readOnly
            }
        try connection.attach(path: verification.sourcePath, as: "source", mode: sourceMode)
        try connection.attach(path: verification.destinationPath, as: "destination", mode: destinationMode)
    }

    var sourceModel: ManagedObjectModel { verification.step.source.model }
    var destinationModel: ManagedObjectModel { verification.step.destination.model }

    // MARK: Reporting

    func report(_ check: any Check.Type, entity: String?, count: Int64 = 1, example: String?) {
        report.add(check: check.name, entity: entity, count: count, example: example)
    }

    /// Runs a unit that stops by itself, with ``VerificationProgress/pause(in:_:)``, where it can be gone on with.
    func pausing(_ unit: String, _ body: () throws -> Void) throws {
        isPausing = progress.isKept
        defer { isPausing = false }
        try progress.once(unit, in: self, body)
    }

    /// Says how far a check has come, and looks whether a stop was asked for; cheap enough for every row.
    func advance(_ subject: String, done: Int64, total: Int64?) throws {
        sinceLastLook += 1
        guard sinceLastLook >= Self.rowsBetweenLooks else { return }
        try announce(subject, done: done, total: total)
    }

    /// The same, now.
    func announce(_ subject: String, done: Int64 = 0, total: Int64? = nil) throws {
        sinceLastLook = 0
        if !isPausing { try verification.stop.check() }
        verification.progress?(ProgressUpdate(phase: .verify, subject: subject, done: done, total: total))
        try onLook?()
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

    /// `Z_ENT` of an entity of the destination and of everything below it, for an SQL list.
    func destinationNumbers(ofFamily entity: String) -> String { destination.numbers(ofFamily: entity).sqlList }

    private static func known<Found>(_ found: Found?, _ entity: String, in side: String) throws -> Found {
        guard let found else {
            throw FerryError(.internalError, "The \(side) store has no table or number for entity \(entity).")
        }
        return found
    }

    /// The statement of an object of the destination's schema; nil where there is none of the name.
    func statement(of type: String, _ name: String) throws -> String? {
        try connection.value(
            "SELECT sql FROM destination.sqlite_master WHERE type = ? AND name = ?", [.text(type), .text(name)])?.text
    }

    // MARK: Source

    /// Whether this is inside the transaction of a step in place.
    var isBeforeCommit: Bool { formerSurroundings != nil }

    // MARK: Mappings

    /// How many rows a destination root table should come to have, for progress: as many as the run says it wrote, else as
    /// many as there are.
    func expectedRows(in root: String) throws -> Int64? {
        if let written = writtenRows(in: root) { return written }
        if let known = countedRows[root] { return known }
        let count = try connection.integer(
            "SELECT count(*) FROM destination.\(try destinationTable(of: root).name)")
        countedRows[root] = count
        return count
    }

    /// The rows that the run says it has written into a destination root table; nil where no run is verified.
    func writtenRows(in root: String) -> Int64? {
        verification.counts.map { counts in
            counts.filter { $0.destination.map { destinationModel.root(of: $0) } == root }.reduce(0) { $0 + $1.written }
        }
    }

    /// Entity mappings that keep `Z_PK` and write into a destination root table.
    func keepers(into root: String) -> [ResolvedEntityMapping] {
        step.entityMappings.filter { $0.mayKeepPrimaryKeys && destinationModel.root(of: $0.destination) == root }
    }

    /// The highest key that kept objects of a destination root table may have: new keys begin above it.
    ///
    /// Every source root that keeps keys there counts with its `Z_MAX` and with the keys it really has.
    func highestKeptKey(in root: String) throws -> Int64 {
        var highest: Int64 = 0
        for sourceRoot in Set(keepers(into: root).map { sourceModel.root(of: $0.source) }) {
            let table = try sourceTable(of: sourceRoot)
            let largest =
                try formerSurroundings?.highestKeys[table.name]
                ?? connection.integer("SELECT max(Z_PK) FROM source.\(table.name)") ?? 0
            let recorded = try surroundings.get().maximumKey(of: sourceNumber(of: sourceRoot))
            highest = max(highest, largest, recorded)
        }
        return highest
    }

    /// Entity mappings that give new keys in a destination root table, in the order in which they give them.
    ///
    /// That is their own order, but a mapping that looks for objects comes after those that carry objects over into
    /// exactly its entity. A migration policy may give keys in any root table.
    func makers(into root: String) -> [ResolvedEntityMapping] {
        var waiting = step.entityMappings.filter {
            if $0.policy != nil { return verification.policies.newKeys[$0.position]?[root] != nil }
            return !$0.keepsPrimaryKey && destinationModel.root(of: $0.destination) == root
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

extension StoreLayout {
    /// The entity that each `Z_ENT` stands for.
    var entitiesByNumber: [Int64: String] {
        Dictionary(entityNumbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ResolvedStep {
    /// The step in which the mappings of policies that kept all keys are said to keep them.
    fileprivate func taking(_ policies: PolicyEvidence) -> ResolvedStep {
        var step = self
        for index in step.entityMappings.indices where policies.implied.contains(step.entityMappings[index].position) {
            step.entityMappings[index].keepsPrimaryKey = true
        }
        return step
    }
}
