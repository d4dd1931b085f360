package import FerryBase

/// The disk space that a run needs beside the store at its peak, per volume.
package struct DiskNeed {
    /// The most bytes that a step needs beside the new store (of a step in place, for its journal, its growth and its
    /// sorting), and the bytes of the store that it makes, or leaves.
    package typealias Step = (peak: Int64, destinationBytes: Int64)

    private let files: FileLayer
    private var volumes: [UInt64: (folder: String, bytes: Int64)] = [:]
    private let takesSnapshot: Bool

    /// Estimated sizes of new stores, and of journals, may be low by a tenth.
    private static let margin = 1.1
    /// The bytes of a snapshot for one byte of content, if no sample is at hand; most compress rather to a third.
    package static let usualSnapshot = 0.6
    /// Empty tables, records of the run, side files.
    private static let base: Int64 = 1 << 16

    /// Adds up the space of one transaction on the store itself, or of two new stores at one time: a step reads the
    /// destination of the step before.
    ///
    /// The old store, into which the swap writes, is on the volume of the run folder. The snapshot has its share of bytes
    /// for one byte of content.
    ///
    /// - Throws: ``FerryError`` when a folder cannot be read.
    package init(
        _ steps: [Step], contentBytes: Int64, isInPlace: Bool, swapsStore: Bool,
        runFolder: String, snapshot: (folder: String, share: Double)?, files: FileLayer
    ) throws(FerryError) {
        self.files = files
        takesSnapshot = snapshot != nil
        guard let largest = steps.map(\.peak).max() else { return }
        var bytes = largest
        if isInPlace {
            bytes = steps.reduce(0) { $0 + $1.peak }
        } else {
            let sizes = steps.map(\.destinationBytes)
            bytes = sizes.sorted().suffix(2).reduce(0, +) + largest
            // The swap keeps the old content in its journal, and the new one is in the run folder until its end.
            if swapsStore, let last = sizes.last {
                bytes = max(bytes, last + contentBytes + max(0, last - contentBytes))
            }
        }
        try add(Int64(Double(bytes) * Self.margin) + Self.base, at: runFolder)
        if let snapshot { try add(Int64(Double(contentBytes) * snapshot.share) + Self.base, at: snapshot.folder) }
    }

    private mutating func add(_ bytes: Int64, at path: String) throws(FerryError) {
        // The folder may not exist yet.
        var folder = path
        while try !files.exists(folder), FileLayer.parent(of: folder) != folder {
            folder = FileLayer.parent(of: folder)
        }
        let volume = try files.volume(of: folder)
        volumes[volume, default: (folder: folder, bytes: 0)].bytes += bytes
    }

    /// Bytes, keyed by a folder on each volume.
    package var bytesByFolder: [String: Int64] {
        Dictionary(volumes.values.map { ($0.folder, $0.bytes) }, uniquingKeysWith: +)
    }

    package func refusals() throws(FerryError) -> [FerryError] {
        var refusals: [FerryError] = []
        for volume in volumes.values.inOrder(by: { $0.folder < $1.folder }) {
            let free = try files.freeBytes(at: volume.folder)
            guard free < volume.bytes else { continue }
            refusals.append(
                FerryError(
                    .diskFull,
                    """
                    The volume of \(volume.folder) has \(free.bytesInUnits) free; the migration may need \
                    \(volume.bytes.bytesInUnits), which is \((volume.bytes - free).bytesInUnits) more.
                    """,
                    remedy: takesSnapshot
                        ? """
                        Free space there, write the new store to another volume with \(setting: .output), or put the snapshot \
                        on one with \(setting: .snapshotFolder).
                        """
                        : "Free space there, or write the new store to another volume with \(setting: .output).")
            )
        }
        return refusals
    }
}
