import Ferry
import FerryBase
import FerrySnapshot
import Foundation

private let jsonWords = [
    "{", "}", "[", "]", ",", ":", "null", "true", "\"\"", "\"sha256\":\"", "\"bytes\":", "\"name\":\"../../x\"",
    "\"frames\":", "\\u0000", "\\ud800", "\n", "-1", "1e400",
]

/// Bytes as the content of a snapshot.
private struct BytesSource: PageSource {
    let bytes: [UInt8]
    var byteCount: Int64 { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
        buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
    }
}

/// A folder with one snapshot, whose manifest or archive is replaced by the input.
private struct SnapshotFolder {
    let store: SnapshotStore
    let manifestPath: String
    let archivePath: String
    let manifest: [UInt8]
    let archive: [UInt8]

    init(_ folder: String) throws {
        let external = folder + "/.Store_SUPPORT/_EXTERNAL_DATA"
        let files = FileLayer()
        try files.createDirectory(external)
        try files.replace(external + "/A0000000-0000-4000-8000-000000000000", with: Array("external".utf8))
        store = SnapshotStore(folder: folder + "/snapshots", files: files)
        let content = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }
        let snapshot = try store.create(
            from: BytesSource(bytes: content),
            description: SnapshotDescription(
                created: 1_700_000_000, store: "Store.sqlite", version: "Model2",
                versionHashes: ["Book": [UInt8](repeating: 3, count: 32)], rows: ["Book": 20], tool: "fuzz",
                externalFolder: folder + "/.Store_SUPPORT"))
        (manifestPath, archivePath) = (snapshot.manifestPath, snapshot.archivePath)
        manifest = try files.read(manifestPath)
        archive = try files.read(archivePath)
    }

    func verify() throws {
        for snapshot in try store.list() {
            if let problem = snapshot.problem { throw problem }
            try store.verify(snapshot)
        }
    }
}

struct ManifestReader: FuzzReader {
    static let name = "manifest"
    static let shape = Shape.text(jsonWords)
    let seeds: [[UInt8]]
    private let folder: SnapshotFolder

    init(folder: String, corpus: Corpus) throws {
        self.folder = try SnapshotFolder(folder)
        seeds = [self.folder.manifest]
    }

    /// Replaces the hash in the last line with the hash of the lines before it.
    func mended(_ input: [UInt8]) -> [UInt8] {
        let end = Array("\"sha256\":\"".utf8)
        guard let line = input.dropLast().lastIndex(of: UInt8(ascii: "\n")), input[(line + 1)...].starts(with: end)
        else {
            return input
        }
        var hash = SHA256()
        hash.update(Array(input[...line]))
        return input[...line] + end + Array(hash.finalize().hexadecimal.utf8) + Array("\"}\n".utf8)
    }

    func read(_ input: [UInt8]) throws {
        try write(input, to: folder.manifestPath)
        try folder.verify()
        _ = try folder.store.prune(Retention(newest: 1_000_000, minimumAge: 1), now: 1_800_000_000)
    }
}

struct ArchiveFileReader: FuzzReader {
    static let name = "snapshot-archive"
    static let shape = Shape.bytes
    let seeds: [[UInt8]]
    private let folder: SnapshotFolder

    init(folder: String, corpus: Corpus) throws {
        self.folder = try SnapshotFolder(folder)
        seeds = [self.folder.archive]
    }

    func read(_ input: [UInt8]) throws {
        // The reader only decodes an archive of as many bytes as the manifest names.
        let count = folder.archive.count
        let fitting =
            input.count > count ? Array(input[..<count]) : input + [UInt8](repeating: 0, count: count - input.count)
        try write(fitting, to: folder.archivePath)
        try folder.verify()
    }
}

/// `run.json` and, after a NUL, `progress.json`, as `status` reads them.
struct RunRecordReader: FuzzReader {
    static let name = "run-record"
    static let shape = Shape.text(
        jsonWords + [
            "\"chain\":[]", "\"passes\":[[]]", "\"steps\":[]", "\"phase\":\"rows\"", "\"fraction\":", "\"etaSeconds\":",
        ])
    let seeds: [[UInt8]]
    private let store: String

    init(folder: String, corpus: Corpus) throws {
        store = folder + "/Store.sqlite"
        try FileLayer().createDirectory(store + ".ferry")
        try write([], to: store)
        let fingerprint = """
            {"store":{"device":1,"inode":2,"bytes":4096,"modified":5,"header":"53514c697465","walBytes":0},"inputs":{}}
            """
        let record = """
            {"ferry":4,"kind":"migration","tool":"ferry 0","id":"A","folder":{"path":"/x","device":1,"inode":2},\
            "store":"\(store)","source":\(fingerprint),"sideFiles":{"hadLog":false,"hadIndex":false},"phase":"rows",\
            "phases":[{"phase":"rows","seconds":1.5}],"migration":{"options":{"target":"B","verify":"full",\
            "takesSnapshot":true,"damaged":"refuse","dropUnknown":[]},"chain":["A","B"],"passes":[["A","B"]],"now":1.0,"isInPlace":false,\
            "runsInFolder":true,"copying":{},"obstacles":{},"rows":{"Book":3},"mappingModels":{},"steps":[],"findings":{"losses":[],"transformed":[],"damage":[],"healed":[],"kept":[],"leftovers":[],\
            "droppedObjects":[],"warnings":[]}}}
            """
        let progress = """
            {"ferry":1,"runID":"A","phase":"rows","step":1,"steps":1,"subject":"x","fraction":0.5,"rowsPerSecond":10,\
            "etaSeconds":5}
            """
        seeds = [Array(record.utf8), Array((record + "\u{0}" + progress).utf8)]
    }

    func read(_ input: [UInt8]) throws {
        let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        try write(Array(parts[0]), to: store + ".ferry/run.json")
        try write(parts.count > 1 ? Array(parts[1]) : [], to: store + ".ferry/progress.json")
        _ = try StoreFiles(URL(fileURLWithPath: store)).status()
    }
}

struct RunLogReader: FuzzReader {
    static let name = "run-log"
    static let shape = Shape.text(jsonWords + ["\"runs\":[", "\"finished\":\"", "\"hashes\":{", "\"now\":"])
    let seeds: [[UInt8]]
    private let store: String

    init(folder: String, corpus: Corpus) throws {
        store = folder + "/Store.sqlite"
        try write([], to: store)
        let log = """
            {"ferry":1,"runs":[{"id":"A","kind":"migration","finished":"2026-11-20T10:00:00Z","tool":"ferry","from":"A",\
            "to":"B","chain":["A","B"],"snapshot":"/s","hashes":{"Book":"00ff"},"entityMappings":[],"now":1.5}]}
            """
        seeds = [Array(log.utf8)]
    }

    func read(_ input: [UInt8]) throws {
        try write(input, to: store + ".ferry-log.json")
        _ = try StoreFiles(URL(fileURLWithPath: store)).status()
    }
}
