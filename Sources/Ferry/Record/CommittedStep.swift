internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryStore
internal import Foundation

/// The report of a step in place whose transaction was committed, for the call that goes on there.
///
/// Where the transaction stands in the destination's `-wal`, it is written after COMMIT and names the `-wal` as it was
/// left, so that it says nothing of any other one. Else it is written before COMMIT, and the destination itself says
/// whether that has happened.
struct CommittedStep {
    let destination: String
    let folder: String
    let files: FileLayer

    private struct Content: Codable {
        var log: [UInt64]?
        var counts: [EntityMappingCounts]
        var unmapped: [Rows]
        var healed: [Rows]
        var leftBehind: [String]
    }

    private struct Rows: Codable {
        var kind: String?
        var entity: String
        var rows: Int64
    }

    private var path: String { folder + "/committed.json" }

    /// Which `-wal` stands there; nil when there is none.
    private func log() throws(FerryError) -> [UInt64]? {
        guard let log = try files.attributesIfPresent(StoreFileNames(destination).log) else { return nil }
        return [log.device, log.inode, UInt64(bitPattern: log.size), UInt64(bitPattern: log.modified)]
    }

    /// What the step did; nil when it is still to be done, which the destination's version tells where no `-wal` does.
    func read(orBy isMigrated: () throws -> Bool) throws -> StepReport? {
        guard try files.exists(path) else { return nil }
        let content: Content
        do {
            content = try JSONDecoder().decode(Content.self, from: Data(files.read(path)))
        } catch is DecodingError {
            return nil
        }
        guard try content.log.map({ try $0 == log() }) ?? isMigrated() else { return nil }
        var report = StepReport(counts: content.counts)
        report.unmapped = content.unmapped.map { ($0.entity, $0.rows) }
        report.healed = content.healed.map { ($0.kind ?? "", $0.entity, $0.rows) }
        report.leftBehind = content.leftBehind
        return report
    }

    func write(_ report: StepReport, isLogged: Bool) throws {
        let log = isLogged ? try log() : nil
        if isLogged, log == nil { return }
        let content = Content(
            log: log, counts: report.counts, unmapped: report.unmapped.map { Rows(entity: $0.entity, rows: $0.rows) },
            healed: report.healed.map { Rows(kind: $0.kind, entity: $0.entity, rows: $0.rows) },
            leftBehind: report.leftBehind)
        let bytes = try JSONEncoder.bytes(of: content, "The report of a step")
        try files.replace(path, with: bytes, mode: 0o600)
    }

    func remove() throws(FerryError) { try files.removeIfPresent(path) }
}
