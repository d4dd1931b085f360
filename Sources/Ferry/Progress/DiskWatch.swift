internal import FerryBase

/// Measures the most bytes that a run's files take beside the store, without the temporary files in which SQLite sorts.
struct DiskWatch {
    private let folders: [String]
    private let store: [String]
    private let before: Int64
    private(set) var peak: Int64 = 0
    private var last: UInt64 = 0
    // A file layer of its own: a look by the clock must not change the count of the run's operations.
    private let files = FileLayer()

    /// A look takes a few system calls.
    private static let interval: UInt64 = 50_000_000

    /// Watches folders, and a store's main file with its `-wal` and journal; what they have now does not count.
    init(folders: [String], store: String) {
        self.folders = folders
        let names = StoreFileNames(store)
        self.store = [names.main, names.log, names.journal]
        before = Self.bytes(folders, self.store, files)
    }

    mutating func look(at now: UInt64, isDue: Bool = false) {
        guard isDue || Clock.nanoseconds(from: last, to: now) >= Self.interval else { return }
        last = now
        peak = max(peak, Self.bytes(folders, store, files) - before)
    }

    private static func bytes(_ folders: [String], _ store: [String], _ files: FileLayer) -> Int64 {
        folders.reduce(0) { $0 + files.bytes(inFolder: $1) } + store.reduce(0) { $0 + files.bytes(ofFile: $1) }
    }
}

extension FileLayer {
    /// The bytes of a folder, without external data, which is linked and not copied.
    func bytes(inFolder folder: String) -> Int64 {
        do throws(FerryError) {
            var sum: Int64 = 0
            for entry in try list(folder) where !entry.name.hasPrefix(".") {
                let path = folder + "/" + entry.name
                sum += entry.isDirectory ? bytes(inFolder: path) : bytes(ofFile: path)
            }
            return sum
        } catch {
            // The run creates and deletes files meanwhile: a deleted folder has no bytes.
            return 0
        }
    }

    fileprivate func bytes(ofFile path: String) -> Int64 {
        do throws(FerryError) {
            // Snapshots and new stores link external files that exist already.
            guard let file = try attributesIfPresent(path), file.links <= 1 else { return 0 }
            return file.size
        } catch {
            return 0
        }
    }
}
