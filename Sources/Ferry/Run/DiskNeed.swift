internal import FerryBase

/// The disk space that a run takes beside the store at its peak, per volume.
struct DiskNeed {
    private struct Volume {
        var folder: String
        var bytes: Int64
    }

    private let files: FileLayer
    private var volumes: [UInt64: Volume] = [:]

    /// What a new store can be larger than the old one: other columns, and indexes that the old one does not have.
    private static let destinationShare = 1.2
    /// Associations and lookups.
    private static let scratchShare = 0.3
    /// Of a database by zstd at level 1; that of text and numbers is rather a third.
    private static let snapshotShare = 0.6

    /// - Parameters:
    ///   - contentBytes: The size of the store with what is only in its `-wal`.
    ///   - steps: The steps that will run.
    ///   - runFolder: Where destinations and scratch databases are made.
    ///   - snapshotFolder: Nil without a snapshot.
    ///   - files: The file layer.
    /// - Throws: ``FerryError`` when a folder cannot be looked at.
    init(
        contentBytes: Int64, steps: Int, runFolder: String, snapshotFolder: String?, files: FileLayer
    ) throws(FerryError) {
        self.files = files
        guard steps > 0 else { return }
        let content = Double(contentBytes)
        // A step reads the destination of the one before.
        let destinations = content * Self.destinationShare * Double(min(steps, 2))
        try add(Int64(destinations + content * Self.scratchShare), at: runFolder)
        if let snapshotFolder { try add(Int64(content * Self.snapshotShare), at: snapshotFolder) }
    }

    private mutating func add(_ bytes: Int64, at path: String) throws(FerryError) {
        // The folder itself may not be there yet.
        var folder = path
        while try !files.exists(folder), FileLayer.parent(of: folder) != folder {
            folder = FileLayer.parent(of: folder)
        }
        let volume = try files.volume(of: folder)
        volumes[volume, default: Volume(folder: folder, bytes: 0)].bytes += bytes
    }

    /// Bytes by the folder that stands for each volume.
    var bytesByFolder: [String: Int64] {
        Dictionary(volumes.values.map { ($0.folder, $0.bytes) }, uniquingKeysWith: +)
    }

    /// What does not fit.
    func refusals() throws(FerryError) -> [FerryError] {
        var refusals: [FerryError] = []
        for volume in volumes.values.sorted(by: { $0.folder < $1.folder }) {
            let free = try files.freeBytes(at: volume.folder)
            guard free < volume.bytes else { continue }
            refusals.append(
                FerryError(
                    .diskFull,
                    "The volume of \(volume.folder) has \(free) bytes free; the migration can need \(volume.bytes).",
                    remedy: "Make room there, or put the snapshot on another volume with --snapshot-dir."))
        }
        return refusals
    }
}
