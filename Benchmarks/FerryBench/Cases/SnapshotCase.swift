internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// A snapshot and its restoration beside `zstd` on the same closed file.
struct SnapshotCase: BenchmarkCase {
    let name = "snapshot"
    let summary = "a verified snapshot of the library store, and its restoration"
    let sides = [
        Side("create", "compressed, decoded and compared, durable"),
        Side("zstd -1", "\(ZstdTool.name) -1 -T2 of the closed file, then decoded and compared by cmp; not synced"),
        Side("restore", "decoded, checked, durable"),
        Side("zstd -d", "\(ZstdTool.name) -d of Ferry's archive, synced"),
    ]
    let measures: [Measure] = [
        .time(of: "create", against: "zstd -1", budget: 1.25), .time(of: "restore", against: "zstd -d", budget: 1.25),
        .work(of: "create", against: "zstd -1"), .work(of: "restore", against: "zstd -d"),
        .written(by: "create", against: "zstd -1"), .peak(of: "create"), .peak(of: "restore"),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws {
        try Subject.booksAndUsers.write(rows: point.rows, to: folder)
        // The restoring sides start from this snapshot.
        _ = try StoreFiles(URL(fileURLWithPath: Subject.store(folder))).createSnapshot(
            in: URL(fileURLWithPath: "\(folder)/kept"))
    }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        let store = Subject.store(data)
        let files = StoreFiles(URL(fileURLWithPath: store))
        let kept = URL(fileURLWithPath: "\(data)/kept")
        switch side {
        case "create":
            let entry = try probe.measure(rows: point.rows) {
                try files.createSnapshot(in: URL(fileURLWithPath: "\(work)/snapshots"))
            }
            probe.note("bytes", Double(entry.bytes))
            probe.note("compressed bytes", Double(entry.compressedBytes))
        case "restore":
            _ = try probe.measure(rows: point.rows) {
                try files.restoreSnapshot(in: kept, to: URL(fileURLWithPath: "\(work)/Restored.sqlite"))
            }
        case "zstd -1":
            try probe.measure(rows: point.rows) {
                try ZstdTool.compress(store, to: "\(work)/Store.zst")
                try ZstdTool.compare("\(work)/Store.zst", with: store)
            }
        default:
            guard let archive = try files.snapshots(in: kept).last?.url.path else {
                throw FerryError(.internalError, "There is no snapshot to decode.")
            }
            try probe.measure(rows: point.rows) {
                try ZstdTool.decompress(archive, to: "\(work)/Restored.sqlite")
                try FileLayer().syncFile("\(work)/Restored.sqlite")
            }
        }
        if side.hasPrefix("zstd"), ZstdTool.path != nil {
            probe.notePeak(ofChildren: ProcessFigures.peakBytesOfChildren())
        }
    }
}
