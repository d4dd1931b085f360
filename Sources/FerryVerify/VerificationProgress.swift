internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// How far a verification is, in its lookup file, committed together with what was looked up so far.
///
/// A unit is a check, a table of a check, or what was compared of a table since the last commit. Nothing is synced: the
/// state counts only for the verification that it was made by, on the same files, until the machine is started anew.
final class VerificationProgress {
    /// How long a commit may be put off: what a killed verification does again.
    private static let interval: UInt64 = 2_000_000_000
    /// Objects between two looks at the clock.
    private static let lookEvery = 512

    /// Where the comparison of a root table's rows stands, between two source objects.
    struct RowPosition: Codable {
        /// 0 while objects with kept keys are compared, then the mappings that give new keys, counted from 1.
        var stage = 0
        /// The next object of each source table (stage 0), or of the mapping's; what has no key is at its end.
        var sources: [String: Int64] = [:]
        /// The next key to be given.
        var nextKey: Int64 = 0
        /// The destination's row at hand; nil at the end.
        var actualKey: Int64?
        var done: Int64 = 0
        var checked: Int64 = 0
    }

    struct State: Codable {
        var key: String
        var done: Set<String> = []
        /// What parts of checks have found, by their names.
        var outcomes: [String: PartOutcome] = [:]
        var checked: Int64 = 0
        var notRecomputed: Int64 = 0
        var differences: [VerificationReport.Difference] = []
        var counts: [EntityMappingCounts]?
        /// Of the unit at work.
        var rows: RowPosition?
        /// The next object of the entity mapping at work.
        var object: Int64?
        /// The key of hashes that parts have summed up.
        var hashKey: [UInt64]?
        /// Foreign keys met, by relationship.
        var met: [String: Int64] = [:]
        /// What was found before the unit at work, where that may have to be made in another way.
        var before: Found?
        /// The root tables where the destination was wrong about which object is found by `unique`.
        var wrongClaims: Set<String> = []

        struct Found: Codable {
            var checked: Int64
            var notRecomputed: Int64
            var differences: [VerificationReport.Difference]
            var counts: [EntityMappingCounts]?
        }

        /// Whether a verification can have written it: numbers of rows go on from here, far from any overflow.
        var isPlausible: Bool {
            let counts = ((counts ?? []) + (before?.counts ?? []) + outcomes.values.flatMap { $0.counts ?? [] })
                .flatMap { [$0.read, $0.written, $0.dropped, $0.merged, $0.created] }
            let parts = outcomes.values.flatMap(\.numbers)
            let numbers =
                [
                    checked, notRecomputed, rows?.done ?? 0, rows?.checked ?? 0, before?.checked ?? 0,
                    before?.notRecomputed ?? 0,
                ]
                + met.values + counts + parts
            let found = (differences + (before?.differences ?? []) + outcomes.values.flatMap(\.differences)).map(
                \.count)
            // There are never as many parts that their sum could come near the end.
            return outcomes.count < 1 << 20 && (numbers + found).allSatisfy { (0...Int64.max >> 24).contains($0) }
        }
    }

    var state: State
    private let connection: Connection
    private let stop: StopRequest
    /// Whether an earlier call's work can be gone on with, so that ``pause(in:_:)`` ends the work when it must end.
    let isKept: Bool
    /// How long a unit within a table takes at least.
    private let leastNanoseconds: UInt64
    private var sinceLook = 0
    private var lastCommit = Clock.nanoseconds()

    /// The connection has the lookup file; the key says what the verification and its files are, and is nil when nothing is
    /// to be gone on with.
    init(of verification: Verification, on connection: Connection, key: String?) throws {
        (stop, leastNanoseconds) = (verification.stop, verification.leastNanoseconds)
        self.connection = connection
        isKept = key != nil
        state = State(key: key ?? "")
        guard isKept else { return }
        try connection.execute("CREATE TABLE IF NOT EXISTS main.progress (state BLOB)")
        let known = try connection.value("SELECT state FROM main.progress")
        if case .blob(let bytes) = known {
            state = try JSONDecoder().decode(State.self, from: Data(bytes))
        } else {
            try connection.run("INSERT INTO main.progress VALUES (NULL)")
        }
    }

    /// The key of hashes, the same for all calls.
    func hashKey() -> KeyedHash.Key {
        if let known = state.hashKey, known.count == 2 { return KeyedHash.Key(low: known[0], high: known[1]) }
        let key = KeyedHash.Key.random()
        state.hashKey = [key.low, key.high]
        return key
    }

    /// Runs a piece of work unless it was done before.
    func once(_ unit: String, in context: VerificationContext, _ body: () throws -> Void) throws {
        if state.done.contains(unit) { return }
        try stop.check()
        try body()
        state.done.insert(unit)
        (state.rows, state.object) = (nil, nil)
        guard isKept, stop.isDue || Clock.nanoseconds(since: lastCommit) >= Self.interval else { return }
        try commit(context)
    }

    /// Takes what a part of a check has found, so that it is not made again.
    ///
    /// - Throws: The reason of the stop request, once all is committed.
    func record(_ outcome: PartOutcome, of part: String, in context: VerificationContext) throws {
        state.outcomes[part] = outcome
        if isKept { try commitIfDue(context) { _ in } } else { try stop.check() }
    }

    /// To be called between two objects of a long unit: now and then what was done so far is committed, with where the unit
    /// goes on.
    ///
    /// - Throws: The reason of the stop request, once all is committed.
    func pause(in context: VerificationContext, _ position: (inout State) -> Void) throws {
        sinceLook += 1
        guard sinceLook >= Self.lookEvery else { return }
        sinceLook = 0
        if isKept { try commitIfDue(context, position) }
    }

    private func commitIfDue(_ context: VerificationContext, _ position: (inout State) -> Void) throws {
        let worked = Clock.nanoseconds(since: lastCommit)
        guard worked >= Self.interval || (stop.isDue && worked >= leastNanoseconds) else { return }
        position(&state)
        try commit(context)
        try stop.check()
    }

    /// Takes note of what was found so far, so that the unit which begins can be taken back.
    func keepFound(_ context: VerificationContext) {
        let report = context.report
        state.before = State.Found(
            checked: report.checked, notRecomputed: report.notRecomputed, differences: report.differences,
            counts: state.counts)
    }

    /// Takes back all that was found since.
    func returnToFound(_ context: VerificationContext) {
        guard let before = state.before else { preconditionFailure("nothing was kept to return to") }
        context.report.checked = before.checked
        context.report.notRecomputed = before.notRecomputed
        context.report.differences = before.differences
        state.counts = before.counts
    }

    private func commit(_ context: VerificationContext) throws {
        try context.associations.flush()
        try context.claims?.flush()
        state.checked = context.report.checked
        state.notRecomputed = context.report.notRecomputed
        state.differences = context.report.differences
        try connection.run("UPDATE main.progress SET state = ?", [.blob([UInt8](JSONEncoder().encode(state)))])
        try connection.execute("COMMIT")
        stop.unitIsDone()
        lastCommit = Clock.nanoseconds()
        try connection.execute("BEGIN")
    }
}

/// The database file in which verification keeps what it must look up: objects by `unique`, associations, pairs.
struct LookupFile {
    let path: String
    private let files = FileLayer()

    /// Makes the place free, unless what stands there is of the verification with the key, and can be gone on with.
    ///
    /// The connection that opens the path creates the file.
    init(in folder: String, key: String?) throws {
        path = folder + "/verify-lookups.sqlite"
        if let key, try files.exists(path), try isOf(key) { return }
        try remove()
        // It holds values of the store.
        try files.createPrivately(path)
    }

    /// Takes the name away from the file that the connection has open, so that a kill leaves nothing of it.
    ///
    /// To be called once it has no journal, which would be found by the name.
    func unlink() throws { _ = try files.removeIfPresent(path) }

    private func isOf(_ key: String) throws -> Bool {
        do {
            // Rolls back what a killed verification had begun.
            let connection = try Connection(path: path, mode: .readWrite)
            let table = try connection.integer("SELECT 1 FROM main.sqlite_master WHERE name = 'progress'")
            guard table != nil, case .blob(let bytes) = try connection.value("SELECT state FROM main.progress") else {
                return false
            }
            let state = try JSONDecoder().decode(VerificationProgress.State.self, from: Data(bytes))
            return state.isPlausible && state.key == key
        } catch let error where error is DatabaseError || error is DecodingError {
            return false
        }
    }

    func remove() throws {
        for suffix in ["", "-journal"] { _ = try files.removeIfPresent(path + suffix) }
    }
}
