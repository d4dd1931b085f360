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
    /// Beside the finished new store, for the transaction that writes it into the old one: its journal or `-wal`, and
    /// what the old one grows.
    private static let swapShare = 1.4
    /// Of a database by zstd or zlib at level 1; that of text and numbers is rather a third.
    private static let snapshotShare = 0.6

    /// - Parameters:
    ///   - contentBytes: The size of the store with what is only in its `-wal`.
    ///   - stores: How many new stores there are at one time at most: a step reads the destination of the one before.
    ///   - scratch: What each step that will run takes beside its new store; a finished step leaves nothing of it.
    ///   - swapsStore: Whether the new store goes into the old one, which stands in the same folder.
    ///   - runFolder: Where destinations and scratch databases are made.
    ///   - snapshotFolder: Nil without a snapshot.
    ///   - files: The file layer.
    /// - Throws: ``FerryError`` when a folder cannot be looked at.
    init(
        contentBytes: Int64, stores: Int = 2, scratch: [Int64], swapsStore: Bool, runFolder: String,
        snapshotFolder: String?, files: FileLayer
    ) throws(FerryError) {
        self.files = files
        guard let largest = scratch.max() else { return }
        let content = Double(contentBytes)
        let destinations = content * Self.destinationShare * Double(min(scratch.count, stores))
        let swap = swapsStore ? content * (Self.destinationShare + Self.swapShare) : 0
        // A verification beside the next step looks up beside what that keeps.
        try add(max(Int64(destinations) + largest * Int64(stores - 1), Int64(swap)), at: runFolder)
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
                    remedy: "Make room there, or put the snapshot on another volume with \(setting: .snapshotFolder)."))
        }
        return refusals
    }
}
