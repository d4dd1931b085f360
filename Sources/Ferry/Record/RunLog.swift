internal import FerryBase
internal import FerrySQLite
internal import Foundation

/// `STORE.ferry-log.json`: the last runs that ended on a store.
struct RunLog {
    /// As many as the file keeps.
    private static let limit = 20

    private static let ending = ".ferry-log.json"

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
        /// What the store looked like when the run let it go, where no other program can have written to it before that.
        var ended: DatabaseFingerprint?
        /// What the run read and was asked for, where it wrote a store of its own: the same command again finds it there.
        var source: Fingerprint?
        var options: RunRecord.Options?
        /// What that store looked like when the run let it go; logs of older versions do not have it.
        var output: FileState?
        /// The mapping models that the run went by, by name, with their SHA-256; logs of older versions do not have it.
        var mappingModels: [String: String]?
        /// Whether all of it was done in place, on the store or on a copy; logs of older versions do not have it.
        var isInPlace: Bool?
        /// Whether it made the store like another one (`--like`); logs of older versions do not have it.
        var isLike: Bool?
    }

    private struct Content: Codable {
        var ferry = 1
        var runs: [Entry] = []
    }

    /// Adds a finished run; a run that is in the log already is replaced, so that cleaning up twice logs it once.
    ///
    /// A log that cannot be read is set aside, and another one begun.
    ///
    /// - Returns: What is to be told, if anything.
    /// - Throws: ``FerryError`` `.fileFailed` when the log cannot be written.
    func add(_ record: RunRecord, hashes: [String: [UInt8]]) throws -> FerryWarning? {
        var (content, warning) = (Content(), FerryWarning?.none)
        do {
            content = try decoded() ?? content
        } catch {
            let aside = path + ".unreadable"
            try files.rename(path, to: aside)
            warning = FerryWarning(
                .logReplaced, "The log \(path) could not be read; it is \(aside) now.", about: .init(path: path))
        }
        content.runs.removeAll { $0.id == record.id }
        let output = record.migration?.options.output
        content.runs.append(
            Entry(
                id: record.id, kind: record.kind, finished: Date().formatted(.iso8601), tool: record.tool,
                from: record.migration?.from, to: record.migration?.to, chain: record.migration?.chain ?? [],
                snapshot: record.snapshot, hashes: hashes.mapValues(\.hexadecimal),
                entityMappings: record.migration?.steps.flatMap(\.entityMappings) ?? [], now: record.migration?.now,
                ended: record.ended,
                source: output.map { _ in record.source }, options: output.flatMap { _ in record.migration?.options },
                output: record.output,
                mappingModels: record.migration?.mappingModels, isInPlace: record.migration?.isInPlace,
                isLike: record.migration.map { $0.options.schema != nil }))
        content.runs = content.runs.suffix(Self.limit)
        // It names entities and counts their rows: it may be read by whatever may read the store.
        let store = String(path.dropLast(Self.ending.count))
        let bytes = try JSONEncoder.bytes(of: content, "The log of runs")
        try files.replace(path, with: bytes, mode: (files.attributesIfPresent(store)?.mode ?? 0o600) & 0o666)
        return warning
    }

    var last: Entry? { get throws { try read().runs.last } }

    /// The time that an entry names; nil when it is none.
    static func date(_ text: String) -> Date? {
        do { return try Date(text, strategy: .iso8601) } catch { return nil }
    }

    /// The last run, if it is certain that nothing was written to the store since.
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

    /// The archive that the last run to have one names: the way back from it, or what it has put back.
    ///
    /// - Throws: ``FerryError`` `.badLog` when nothing tells.
    func wayBack() throws -> String? {
        do {
            return try decoded()?.runs.last { $0.snapshot != nil }?.snapshot
        } catch {
            throw FerryError(
                .badLog, "\(path) cannot be read, and only it tells which snapshot is the way back.",
                remedy: "Move it away if the store needs no way back.", cause: error)
        }
    }

    /// A log that is no log of ours says nothing of the runs.
    private func read() throws -> Content { try files.decoded(Content.self, at: path) ?? Content() }

    /// Nil when there is no log.
    private func decoded() throws -> Content? {
        guard try files.exists(path) else { return nil }
        return try JSONDecoder().decode(Content.self, from: Data(try files.read(path)))
    }
}
