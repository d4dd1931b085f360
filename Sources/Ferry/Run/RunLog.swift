internal import FerryBase
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// `STORE.ferry-log.json`: the last runs that ended on a store.
struct RunLog {
    /// As many as the file keeps.
    private static let limit = 20

    let path: String
    private let files: FileLayer

    init(beside store: String, files: FileLayer) {
        path = store + ".ferry-log.json"
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
        /// Whether all of it was done in place, on the store or on a copy; logs of older versions do not have it.
        var isInPlace: Bool?
    }

    private struct Content: Codable {
        var ferry = 1
        var runs: [Entry] = []
    }

    /// Adds a finished run; a run that is in the log already is replaced, so that cleaning up twice logs it once.
    func add(_ record: RunRecord, hashes: [String: [UInt8]]) throws {
        var content = try read()
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
                isInPlace: record.migration?.isInPlace))
        content.runs = content.runs.suffix(Self.limit)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(content))
        } catch {
            throw FerryError(.internalError, "The log of runs cannot be written as JSON.", cause: error)
        }
        try files.replace(path, with: bytes)
    }

    var last: Entry? { get throws { try read().runs.last } }

    /// The last run, if it is certain that nothing was written to the store since.
    func lastRun(thatLeft now: Fingerprint) throws -> Entry? {
        guard let last = try last, let ended = last.ended,
            Fingerprint(store: ended).compare(with: now.with(inputs: [:])) == .same
        else { return nil }
        return last
    }

    /// The name of the version that the last migration with these hashes led to.
    func version(with hashes: [String: [UInt8]]) throws -> String? {
        let hashes = hashes.mapValues(\.hexadecimal)
        return try read().runs.last { $0.hashes == hashes && $0.to != nil }?.to
    }

    /// The last migration that led to these hashes.
    func migration(to hashes: [String: [UInt8]]) throws -> Entry? {
        let hashes = hashes.mapValues(\.hexadecimal)
        return try read().runs.last { $0.hashes == hashes && $0.to != nil }
    }

    private func read() throws -> Content {
        guard try files.exists(path) else { return Content() }
        do {
            return try JSONDecoder().decode(Content.self, from: Data(try files.read(path)))
        } catch is DecodingError {
            // A log that is no log of ours says nothing; it is only read by people.
            return Content()
        }
    }
}
