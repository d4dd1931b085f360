internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryStore
internal import Foundation

/// The report of a transaction on a file of the run folder, written before its COMMIT, for a call that resumes after it.
///
/// It is valid once the file has the new version.
struct CommittedStep {
    let folder: String
    let files: FileLayer

    private struct Content: Codable {
        var counts: [EntityMappingCounts]
        var unmapped: [Rows]
        var healed: [Healed]
        var leftBehind: [String]
    }

    private struct Rows: Codable {
        var entity: String
        var rows: Int64
    }

    private struct Healed: Codable {
        var kind: DamageKind
        var entity: String
        var rows: Int64
    }

    private var path: String { folder + "/committed.json" }

    func read() throws -> StepReport {
        guard let content = try files.decoded(Content.self, at: path) else {
            throw FerryError(
                .internalError, "The report of a finished step, \(path), is missing.",
                remedy: "\(action: .again) with \(on: .restarts).")
        }
        var report = StepReport(counts: content.counts)
        report.unmapped = content.unmapped.map { ($0.entity, $0.rows) }
        report.healed = content.healed.map { ($0.kind, $0.entity, $0.rows) }
        (report.leftBehind, report.resumed) = (content.leftBehind, true)
        return report
    }

    func write(_ report: StepReport) throws {
        let content = Content(
            counts: report.counts, unmapped: report.unmapped.map { Rows(entity: $0.entity, rows: $0.rows) },
            healed: report.healed.map { Healed(kind: $0.kind, entity: $0.entity, rows: $0.rows) },
            leftBehind: report.leftBehind)
        try files.replace(path, with: JSONEncoder.bytes(of: content, "The report of a step"), mode: 0o600)
    }
}
