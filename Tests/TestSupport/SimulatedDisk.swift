package import FerryBase
internal import Foundation

/// A folder on a simulated disk that loses unsynced changes in a power cut.
///
/// The disk observes a run through the run's ``FaultPlan``. ``cutPower(_:)`` then leaves in the folder a state that a
/// real disk could leave: synced content, names whose folder was synced, and none or some of all other changes.
///
/// Unchecked, because all access to `state` holds `lock`.
package final class SimulatedDisk: @unchecked Sendable {
    /// The loss of unsynced changes in a power cut.
    package enum Loss: Sendable, Hashable {
        case everything
        /// A seed decides whether each sector of each write, each change of a size, and each later change of a name is
        /// lost.
        case some(seed: UInt64)
    }

    private final class File {
        var isFolder: Bool
        /// A second link to the file, outside of the folder, that keeps the file when the folder's links are removed.
        var stash: String?
        var durable: [UInt8] = []
        var pending: [Change] = []

        init(isFolder: Bool) { self.isFolder = isFolder }

        enum Change {
            case write(Int, [UInt8])
            case resize(Int)
        }

        static func apply(_ change: Change, to bytes: inout [UInt8]) {
            switch change {
            case .write(let offset, let new):
                if bytes.count < offset + new.count {
                    bytes += [UInt8](repeating: 0, count: offset + new.count - bytes.count)
                }
                bytes.replaceSubrange(offset..<offset + new.count, with: new)
            case .resize(let size):
                if size < bytes.count { bytes.removeLast(bytes.count - size) }
                bytes += [UInt8](repeating: 0, count: size - bytes.count)
            }
        }

        var current: [UInt8] {
            var bytes = durable
            for change in pending { Self.apply(change, to: &bytes) }
            return bytes
        }
    }

    private struct NameChange {
        /// Names with their new file, or with none after a removal.
        var names: [(path: String, file: File?)]
        var folders: Set<String> { Set(names.map { FileLayer.parent(of: $0.path) }) }
    }

    private struct State {
        var names: [String: File] = [:]
        var durableNames: [String: File] = [:]
        /// Reported names outside of the folder: the simulation would miss their changes.
        var strangeNames: Set<String> = []
        var pendingNames: [NameChange] = []
        var stashed = 0
    }

    /// The run reported changes of files outside of the disk.
    package struct OutsideName: Error {
        package var paths: [String]
    }

    private let root: String
    private let stash: TemporaryFolder
    private let lock = NSLock()
    private var state: State
    private var relinked: Set<String> = []

    /// Makes a disk from a folder; all its present content counts as durable.
    package init(_ folder: TemporaryFolder) throws {
        root = try FileLayer().realPath(folder.path)
        stash = try TemporaryFolder()
        var state = State()
        let files = FileManager.default
        for name in files.enumerator(atPath: root)?.compactMap({ $0 as? String }) ?? [] {
            let path = root + "/" + name
            var isFolder: ObjCBool = false
            guard files.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
            let file = File(isFolder: isFolder.boolValue)
            if !file.isFolder { file.durable = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
            state.names[path] = file
            state.durableNames[path] = file
            try Self.keep(file, at: path, in: stash, &state)
        }
        self.state = state
    }

    /// The witness for the run's ``FaultPlan``.
    package var witness: DiskWitness { { [self] change in lock.withLock { take(change, &state) } } }

    // MARK: Watching

    private func take(_ change: DiskChange, _ state: inout State) {
        let told: [String] =
            switch change {
            case .makesFolder(let path), .created(let path), .wrote(let path, _, _), .resized(let path, _),
                .synced(let path), .removes(let path):
                [path]
            case .cloned(let path, let second), .linked(let path, let second), .renames(let path, let second):
                [path, second]
            case .syncedFolder: []
            }
        state.strangeNames.formUnion(told.filter { !$0.hasPrefix(root + "/") })
        switch change {
        case .makesFolder(let path): add([(path, File(isFolder: true))], &state)
        case .created(let path): add([(path, File(isFolder: false))], &state)
        case .wrote(let path, let offset, let bytes):
            state.names[path]?.pending.append(.write(Int(offset), Array(bytes)))
        case .resized(let path, let size): state.names[path]?.pending.append(.resize(Int(size)))
        case .synced(let path):
            guard let file = state.names[path] else { return }
            file.durable = file.current
            file.pending = []
        case .cloned(let path, let copy):
            let file = File(isFolder: false)
            file.pending = [.write(0, state.names[path]?.current ?? [])]
            add([(copy, file)], &state)
        case .linked(let path, let second): if let file = state.names[path] { add([(second, file)], &state) }
        case .removes(let path):
            guard let file = state.names[path] else { return }
            // `remove` first tries to unlink a folder as a file, which has no effect; the folder's removal is then
            // reported again.
            if file.isFolder, state.names.keys.contains(where: { $0.hasPrefix(path + "/") }) { return }
            keep(file, at: path, &state)
            add([(path, nil)], &state)
        case .renames(let path, let new):
            guard let file = state.names[path] else { return }
            keep(file, at: path, &state)
            if let replaced = state.names[new] { keep(replaced, at: new, &state) }
            add([(path, nil), (new, file)], &state)
        case .syncedFolder(let folder):
            let (now, later) = (
                state.pendingNames.filter { $0.folders.contains(folder) },
                state.pendingNames.filter { !$0.folders.contains(folder) }
            )
            for change in now { for (path, file) in change.names { state.durableNames[path] = file } }
            state.pendingNames = later
        }
    }

    private func add(_ names: [(path: String, file: File?)], _ state: inout State) {
        for (path, file) in names { state.names[path] = file }
        state.pendingNames.append(NameChange(names: names))
    }

    private func keep(_ file: File, at path: String, _ state: inout State) {
        do {
            try Self.keep(file, at: path, in: stash, &state)
        } catch {
            preconditionFailure("the simulated disk could not keep \(path): \(error)")
        }
    }

    private static func keep(_ file: File, at path: String, in stash: TemporaryFolder, _ state: inout State) throws {
        guard !file.isFolder, file.stash == nil, FileManager.default.fileExists(atPath: path) else { return }
        state.stashed += 1
        let place = stash.file("\(state.stashed)")
        try FileLayer().link(path, to: place)
        file.stash = place
    }

    // MARK: The cut

    /// Returns files whose content differs from the reported writes, and reported names outside of the folder.
    ///
    /// Only shared memory may be written without the witness.
    package func unwitnessed() throws -> [String] {
        try lock.withLock {
            try state.strangeNames.sorted()
                + state.names.filter { path, file in
                    guard !file.isFolder, !path.hasSuffix("-shm"), FileManager.default.fileExists(atPath: path) else {
                        return false
                    }
                    return try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) != file.current
                }.map(\.key).sorted()
        }
    }

    /// Cuts the power: leaves the surviving state in the folder; no file of the folder may be open.
    package func cutPower(_ loss: Loss) throws {
        try lock.withLock {
            guard state.strangeNames.isEmpty else { throw OutsideName(paths: state.strangeNames.sorted()) }
            var random = SplitMix(seed: 0)
            var names = state.durableNames
            if case .some(let seed) = loss {
                random = SplitMix(seed: seed)
                // A journaling file system keeps names in the order of their changes.
                let count = Int(random.next() % UInt64(state.pendingNames.count + 1))
                for change in state.pendingNames[..<count] { for (path, file) in change.names { names[path] = file } }
            }
            let reachable = names.filter { Self.isReachable($0.key, in: names, below: root) }
            // A file that already has its name is not touched: a new link would change its ctime. SQLite removes shared
            // memory without the witness.
            let staying = reachable.filter {
                state.names[$0.key] === $0.value && FileManager.default.fileExists(atPath: $0.key)
            }
            for (path, file) in state.names where staying[path] == nil {
                try Self.keep(file, at: path, in: stash, &state)
            }
            try clear(keeping: Set(staying.keys))
            for (path, file) in reachable.sorted(by: { $0.key < $1.key }) where staying[path] == nil {
                if file.isFolder {
                    try FileLayer().createDirectory(path)
                } else if let stash = file.stash {
                    try FileLayer().link(stash, to: path)
                    relinked.insert(path)
                } else {
                    try Data().write(to: URL(fileURLWithPath: path))
                }
            }
            for (path, file) in reachable where !file.isFolder {
                var content = file.durable
                if case .some = loss { for change in file.pending { Self.tear(change, into: &content, &random) } }
                let url = URL(fileURLWithPath: path)
                guard try [UInt8](Data(contentsOf: url)) != content else { continue }
                let handle = try FileHandle(forWritingTo: url)
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: Data(content))
                try handle.close()
            }
        }
    }

    /// Returns whether the cut linked a file to its name again: that changes the file's ctime, which a real disk would
    /// have lost together with the name.
    package func hasRelinked(fileNamed name: String) -> Bool {
        lock.withLock { relinked.contains { FileLayer.name(of: $0) == name } }
    }

    private static func isReachable(_ path: String, in names: [String: File], below root: String) -> Bool {
        let parent = FileLayer.parent(of: path)
        if parent == root { return true }
        return names[parent]?.isFolder == true && isReachable(parent, in: names, below: root)
    }

    private static let sector = 512

    private static func tear(_ change: File.Change, into content: inout [UInt8], _ random: inout SplitMix) {
        guard case .write(let offset, let bytes) = change else {
            if random.next() % 2 == 0 { File.apply(change, to: &content) }
            return
        }
        // Half of the writes are lost or kept as a whole.
        switch random.next() % 4 {
        case 0: return
        case 1: return File.apply(change, to: &content)
        default: break
        }
        var position = offset
        while position < offset + bytes.count {
            let end = min((position / sector + 1) * sector, offset + bytes.count)
            if random.next() % 2 == 0 {
                File.apply(.write(position, Array(bytes[position - offset..<end - offset])), to: &content)
            }
            position = end
        }
    }

    private func clear(keeping folders: Set<String>) throws {
        let manager = FileManager.default
        let found = manager.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        for name in found.sorted(by: >) {
            let path = root + "/" + name
            if !folders.contains(path) { try manager.removeItem(atPath: path) }
        }
    }
}
