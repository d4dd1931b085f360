internal import FerryBase
internal import FerryMapping
internal import FerrySQLite
internal import Foundation

/// The progress of a verification, stored in its lookup file and committed together with the lookup tables.
///
/// A unit is a check, a part of one, or a range of a table. Nothing is synced: the state is valid only for the same
/// verification of the same files, until the machine restarts.
final class VerificationProgress {
    /// Time between two commits, in nanoseconds: the work that a killed verification repeats.
    private static let interval: UInt64 = 2_000_000_000

    struct State: Codable {
        var key: String
        var done: Set<String> = []
        var outcomes: [String: PartOutcome] = [:]
        var report = VerificationSummary()
        /// The key of hashes, the same in all calls of a verification.
        var hashKey = KeyedHash.Key.random()
        /// The sums of a relationship's pairs so far, by the side of their rules.
        var pairs: [String: [EntrySum]] = [:]
        /// The tables of objects by `unique` of which several have equal values.
        var repeated: Set<String> = []

        /// Whether a verification can have written this state: its numbers are far from an overflow.
        var isPlausible: Bool {
            let counts = outcomes.values.flatMap { $0.counts ?? [] }
                .flatMap { [$0.read, $0.written, $0.dropped, $0.merged, $0.created] }
            let numbers = counts + outcomes.values.flatMap(\.numbers) + pairs.values.joined().map(\.count)
            let reports = [report] + outcomes.values.map(\.report)
            let found = reports.flatMap { [$0.checked, $0.notRecomputed] + $0.differences.map(\.count) }
            // The number of parts is limited, so that their sum cannot overflow.
            return outcomes.count < 1 << 20 && outcomes.values.allSatisfy { $0.nextKey ?? 1 > 0 }
                && (numbers + found).allSatisfy { (0...Int64.max >> 24).contains($0) }
        }
    }

    var state: State
    private let connection: Connection
    private let stop: StopRequest
    /// Whether a later call can resume the work.
    private let isKept: Bool
    private let leastNanoseconds: UInt64
    private var lastCommit = Clock.nanoseconds()

    /// The key identifies the verification and its files; nil if no later call resumes it.
    init(of verification: Verification, on connection: Connection, key: String?) throws {
        (stop, leastNanoseconds) = (verification.stop, verification.leastNanoseconds)
        self.connection = connection
        isKept = key != nil
        state = State(key: key ?? "")
        guard isKept else { return }
        try connection.execute("CREATE TABLE IF NOT EXISTS lookups.progress (state BLOB)")
        let known = try connection.value("SELECT state FROM lookups.progress")
        if case .blob(let bytes) = known {
            state = try JSONDecoder().decode(State.self, from: Data(bytes))
        } else {
            try connection.run("INSERT INTO lookups.progress VALUES (NULL)")
        }
    }

    /// Runs a unit of work unless an earlier call did.
    func once(_ unit: String, in context: VerificationContext, _ body: () throws -> Void) throws {
        if state.done.contains(unit) { return }
        try stop.check()
        try body()
        state.done.insert(unit)
        if isKept { stop.unitCanEnd(at: Clock.nanoseconds()) }
        guard isKept, stop.isDue || Clock.nanoseconds(since: lastCommit) >= Self.interval else { return }
        try commit(context)
    }

    /// Records the outcome of a part, so that no later call repeats it.
    ///
    /// - Throws: The reason of the stop request, after a commit.
    func record(_ outcome: PartOutcome, of part: String, in context: VerificationContext) throws {
        state.outcomes[part] = outcome
        guard isKept else { return try stop.check() }
        let now = Clock.nanoseconds()
        // Commits are rare, but a stop makes one at once.
        stop.unitCanEnd(at: now)
        let worked = Clock.nanoseconds(from: lastCommit, to: now)
        guard worked >= Self.interval || (stop.isDue && worked >= leastNanoseconds) else { return }
        try commit(context)
        try stop.check()
    }

    private func commit(_ context: VerificationContext) throws {
        for table in context.associations.values { try table.flush() }
        for pairs in context.pairs { try pairs.flush() }
        state.report = context.report
        try connection.run("UPDATE lookups.progress SET state = ?", [.blob([UInt8](JSONEncoder().encode(state)))])
        try connection.execute("COMMIT")
        lastCommit = Clock.nanoseconds()
        stop.unitIsDone(at: lastCommit)
        try connection.execute("BEGIN")
    }
}

/// The database file of verification's lookup tables: objects by `unique`, associations, pairs.
struct LookupFile {
    let path: String
    private let files = FileLayer()

    /// Removes the file at the path, unless the verification with this key can resume it.
    init(in folder: String, key: String?) throws {
        path = folder + "/verify-lookups.sqlite"
        if let key, try files.exists(path), try isOf(key) { return }
        try remove()
        // Created private, because it holds values of the store.
        try files.createPrivately(path)
    }

    /// Unlinks the open file, so that a kill leaves nothing of it; a journal, found by the name, must not exist.
    func unlink() throws { _ = try files.removeIfPresent(path) }

    private func isOf(_ key: String) throws -> Bool {
        do {
            // Opening rolls back the open transaction of a killed verification.
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
