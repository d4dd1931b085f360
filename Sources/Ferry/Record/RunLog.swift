internal import FerryBase
internal import FerryPlan
internal import FerrySQLite
internal import Foundation

/// `STORE.ferry-log.json`: the last runs that ended on a store.
struct RunLog {
    private static let limit = 20

    static let ending = ".ferry-log.json"
    /// The ending of a log that could not be read.
    static let setAside = ending + ".unreadable"

    let path: String
    private let files: FileLayer

    init(beside store: String, files: FileLayer) {
        path = store + Self.ending
        self.files = files
    }

    struct Entry: Codable, Sendable {
        var id: String
        var kind: RunRecord.Kind
        /// ISO 8601, UTC.
        var finished: String
        var tool: String
        var from: String?
        var to: String?
        var chain: [String]
        var snapshot: String?
        /// Version hashes of the store as the run left it, in hexadecimal.
        var hashes: [String: String]
        var entityMappings: [MigrationReport.EntityMappingReport]
        /// `now()` of the run's expressions, in seconds since 2001-01-01 UTC; logs of older versions do not have it.
        var now: Double?
        /// The store's fingerprint at the end of the run, if no other program can have written before it was taken.
        var ended: DatabaseFingerprint?
        /// The run's source and options, if it wrote to an output: an equal command then finds its result.
        var source: Fingerprint?
        var options: RunRecord.Options?
        /// The state of the output at the end of the run; logs of older versions do not have it.
        var output: FileState?
        /// The SHA-256 of each mapping model of the run, by name; logs of older versions do not have it.
        var mappingModels: [String: String]?
        /// Whether all steps ran in place, on the store or on a copy; logs of older versions do not have it.
        var isInPlace: Bool?
        /// Why steps copied tables that could stay; logs of older versions do not have it.
        var copying: Planner.Copying?
        /// Whether the run used `--like`; logs of older versions do not have it.
        var isLike: Bool?
        /// Whether the run took over columns that an unfinished attempt had left; absent if it did not.
        var adopts: Bool?
        /// The losses as the run has counted them; logs of older versions do not have them.
        var losses: [Loss]?
    }

    private struct Content: Codable {
        var ferry = 1
        var runs: [Entry] = []
    }

    /// Adds a finished run, or replaces its entry, so that cleaning up twice logs it once; renames an unreadable log.
    ///
    /// - Returns: A warning about a renamed log.
    /// - Throws: ``FerryError`` `.fileFailed` when the log cannot be written.
    func add(_ record: RunRecord, hashes: [String: [UInt8]]) throws -> FerryWarning? {
        var (content, warning) = (Content(), FerryWarning?.none)
        do {
            content = try decoded() ?? content
        } catch {
            let aside = path.dropLast(Self.ending.count).appending(Self.setAside)
            try files.rename(path, to: aside)
            warning = FerryWarning(
                .logReplaced, "The log \(path) could not be read and was renamed to \(aside).", about: .init(path: path)
            )
        }
        content.runs.removeAll { $0.id == record.id }
        content.runs.append(Entry(record, hashes: hashes))
        content.runs = content.runs.suffix(Self.limit)
        // The log names entities and counts their rows: every program that may read the store may read it.
        let store = String(path.dropLast(Self.ending.count))
        let bytes = try JSONEncoder.bytes(of: content, "The log of runs")
        try files.replace(path, with: bytes, mode: (files.attributesIfPresent(store)?.mode ?? 0o600) & 0o666)
        return warning
    }

    var last: Entry? { get throws { try read().runs.last } }

    static func date(_ text: String) -> Date? {
        do { return try Date(text, strategy: .iso8601) } catch { return nil }
    }

    /// The last run, if certainly no program has written to the store since.
    func lastRun(thatLeft now: Fingerprint) throws -> Entry? {
        guard let last = try last, let ended = last.ended,
            Fingerprint(store: ended).compare(with: now.with(inputs: [:])) == .same
        else { return nil }
        return last
    }

    /// The last migration that led to these hashes.
    func migration(to hashes: [String: [UInt8]]) throws -> Entry? {
        let hashes = hashes.mapValues(\.hexadecimal)
        return try read().runs.last { $0.hashes == hashes && $0.to != nil }
    }

    /// The archive of the last entry that names one: the snapshot before that run, or the one that it restored.
    ///
    /// - Throws: ``FerryError`` `.badLog` when the log cannot be read.
    func wayBack() throws -> String? { try entries().last { $0.snapshot != nil }?.snapshot }

    /// The entries, oldest first.
    ///
    /// - Throws: ``FerryError`` `.badLog` when the log cannot be read.
    func entries() throws -> [Entry] {
        do {
            return try decoded()?.runs ?? []
        } catch {
            throw FerryError(
                .badLog, "\(path) cannot be read, and only it records which snapshot belongs to the last migration.",
                remedy: "Move it away if you do not need to roll back.", cause: error)
        }
    }

    /// The log; a file that is not a log counts as empty, also one that is too long for a log.
    private func read() throws -> Content {
        guard let file = try files.attributesIfPresent(path), file.isRegularFile,
            file.size <= Int64(FileLayer.longestText)
        else { return Content() }
        return try files.decoded(Content.self, at: path) ?? Content()
    }

    private func decoded() throws -> Content? {
        guard try files.exists(path) else { return nil }
        return try JSONDecoder().decode(Content.self, from: Data(try files.read(path)))
    }
}

extension RunLog.Entry {
    fileprivate init(_ record: RunRecord, hashes: [String: [UInt8]]) {
        self.init(
            id: record.id, kind: record.kind, finished: Date().formatted(.iso8601), tool: record.tool, chain: [],
            snapshot: record.snapshot, hashes: hashes.mapValues(\.hexadecimal), entityMappings: [],
            ended: record.ended, output: record.output)
        guard let migration = record.migration else { return }
        (from, to, chain) = (migration.from, migration.to, migration.chain)
        entityMappings = migration.steps.flatMap(\.entityMappings)
        if migration.options.output != nil { (source, options) = (record.source, migration.options) }
        (now, mappingModels, isInPlace) = (migration.now, migration.mappingModels, migration.isInPlace)
        (isLike, adopts) = (migration.options.schema != nil, migration.options.adopts)
        let (asked, found) = (migration.copying, migration.obstacles)
        copying = Planner.Copying(
            allBecause: asked.allBecause ?? found.allBecause, mappedBecause: asked.mappedBecause ?? found.mappedBecause,
            wholeBecause: asked.wholeBecause ?? found.wholeBecause)
        losses = migration.findings.losses(countedBy: entityMappings)
    }
}
