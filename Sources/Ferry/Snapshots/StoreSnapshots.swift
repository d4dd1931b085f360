internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerrySnapshot
internal import FerryStore
internal import Foundation

/// The snapshots of one store: combines ``SnapshotStore`` with the facts about the store that it needs.
struct StoreSnapshots {
    /// The store's real path; the store itself may be missing.
    let store: String
    let snapshots: SnapshotStore
    /// The limit for the threads that compress.
    private let memory: MemoryBudget
    private let files: FileLayer

    /// A folder of nil means `STORE.snapshots`.
    init(of store: String, folder: String?, files: FileLayer, memory: MemoryBudget = MemoryBudget()) {
        (self.store, self.memory, self.files) = (store, memory, files)
        let own = Self.folder(of: store)
        snapshots = SnapshotStore(folder: folder ?? own, of: folder ?? own == own ? nil : store, files: files)
    }

    static func folder(of store: String) -> String { store + ".snapshots" }

    /// Oldest first.
    func list() throws -> [Snapshot] { try snapshots.list().reversed() }

    /// A snapshot by its name or path, or the newest one.
    ///
    /// `present` is the archive whose content the store has: the newest must be another one.
    ///
    /// - Throws: ``FerryError`` `.noSnapshot`; `.badSnapshot` for damage that shows without reading the archive.
    func choose(_ nameOrPath: String?, butFor present: String? = nil) throws -> Snapshot {
        let all = try nameOrPath.map { [try snapshots.snapshot($0)] } ?? snapshots.list()
        guard let chosen = all.first(where: { !$0.isArchive(present) }) else {
            guard all.isEmpty else {
                throw FerryError(
                    .noSnapshot, "\(store) has the content of its only snapshot already.",
                    remedy: "Name the snapshot to restore it again.")
            }
            throw FerryError(
                .noSnapshot, "There is no snapshot of \(store) in \(snapshots.folder).", remedy: try whereToLook())
        }
        if let problem = chosen.problem {
            throw FerryError(
                .badSnapshot, "The snapshot \(chosen.name) is damaged. \(problem.message)",
                remedy: "Choose another one; \(action: .listSnapshots) lists them.", cause: problem)
        }
        return chosen
    }

    private func whereToLook() throws -> Remedy {
        if let folder = try lastFolder() {
            return "The last one is in another folder: \(setting: .snapshotFolder, .text(folder))."
        }
        if try snapshots.all().isEmpty { return "Name their folder with \(setting: .snapshotFolder)." }
        return "The folder has those of other stores, or of this one at another path: name the one to restore."
    }

    /// The folder of the snapshot that the log names for a rollback, if it is there and is not this one.
    private func lastFolder() throws -> String? {
        do {
            guard let archive = try RunLog(beside: store, files: files).wayBack() else { return nil }
            let folder = FileLayer.parent(of: archive)
            return try folder != snapshots.folder && files.exists(archive) ? folder : nil
        } catch let error as FerryError where error.code == .badLog {
            return nil
        }
    }

    /// The reason why ``choose(_:butFor:)`` chose a snapshot among all (oldest first), as a part of a sentence.
    static func reason(for snapshot: Snapshot, named nameOrPath: String?, among all: [Snapshot]) -> String {
        guard nameOrPath == nil else { return "it was named" }
        let damaged = all.filter { !$0.isDescribed }.map(\.name)
        let others = all.count - damaged.count
        let isNewest = all.last { $0.isDescribed }?.archivePath == snapshot.archivePath
        let which =
            others == 1
            ? "it is the only one"
            : "it is the newest of \(others) snapshots\(isNewest ? "" : " that differs from the store")"
        let passedOver =
            damaged.isEmpty ? "" : "; the manifest of \(damaged.joined(separator: ", ")) is damaged and gives no order"
        return which + passedOver
    }

    /// The number of external files beside the store that differ from the newest snapshot, and one of their names.
    func changedExternalFiles(stop: StopRequest) throws -> (count: Int64, example: String)? {
        guard let newest = try list().last(where: { $0.isDescribed && $0.hasExternalData }) else { return nil }
        var changed: (count: Int64, example: String)?
        try snapshots.compareExternalFiles(
            of: newest, with: ExternalData.supportFolder(forStore: store), stop: stop
        ) { name in
            changed = ((changed?.count ?? 0) + 1, changed?.example ?? name)
        }
        return changed
    }

    /// The name of a store's version: as the log or a snapshot of that version names it, else as the model in the store.
    func version(of store: OpenedStore) throws -> String? {
        let hashes = store.metadata.hashes
        if let logged = try RunLog(beside: self.store, files: files).migration(to: hashes)?.to { return logged }
        let known = try snapshots.list().first { $0.version != nil && $0.versionHashes == hashes }
        if let version = known?.version { return version }
        let identifiers = store.metadata.versionIdentifiers
        return identifiers.count == 1 && identifiers[0] != "" ? identifiers[0] : nil
    }

    /// Restores database and external data, after comparing both with the manifest.
    func restore(_ snapshot: Snapshot, to path: String, stop: StopRequest) throws {
        try snapshots.restore(
            snapshot, to: path, externalFolder: ExternalData.supportFolder(forStore: path), stop: stop)
    }

    /// Takes a snapshot of a store without its models: an archive, or without `level` a clone.
    ///
    /// The cached model gives the entities. Without it the snapshot has only hashes, and of a damaged store only pages.
    func create(
        _ store: OpenedStore, knownAs version: String?, level: Int?, stop: StopRequest, progress: ProgressHook?
    ) throws -> Snapshot {
        var rows: [String: Int64] = [:]
        do {
            if let model = try ModelCache.version(in: store.sourceGuard.connection) {
                rows = try store.inspect(model, counting: .exact).0.rowsOfEntities
            }
        } catch let error where FerryError.wrapping(error, on: self.store).isDamage {
            rows = [:]
        }
        return try create(store, version: version, rows: rows, level: level, stop: stop, progress: progress)
    }

    /// Takes a snapshot of a store under its guard, or resumes one of the same state; without `level`, a clone.
    func create(
        _ store: OpenedStore, version: String?, rows: [String: Int64], level: Int?, stop: StopRequest,
        progress: ProgressHook?
    ) throws -> Snapshot {
        let description = SnapshotDescription(
            created: Int64(Date().timeIntervalSince1970), store: FileLayer.name(of: self.store), version: version,
            versionHashes: store.metadata.hashes, rows: rows, tool: FerryVersion.tool,
            externalFolder: ExternalData.supportFolder(forStore: self.store))
        guard let level else {
            return try snapshots.clone(store.sourceGuard.clonedFile(), description: description, stop: stop)
        }
        var options = SnapshotOptions(fingerprint: try store.sourceGuard.fingerprint().digest)
        (options.level, options.progress, options.stop) = (level, progress, stop)
        options.memory = memory
        return try snapshots.create(
            from: PageReader(store.sourceGuard.connection), description: description, options: options)
    }

    /// Looks at the snapshot behind a change of a store, in the last moment before the COMMIT.
    ///
    /// - Throws: ``FerryError`` `.snapshotFailed` when the snapshot is gone or not as it was made.
    static func checkWayBack(_ archive: String, of store: String, files: FileLayer, stop: StopRequest) throws {
        let damage: Set<FerryError.Code> = [.snapshotDamaged, .noSnapshot, .notFound, .fileFailed, .notARegularFile]
        do {
            // Its folder may be that of an earlier call's configuration.
            try SnapshotStore(folder: FileLayer.parent(of: archive), files: files).lookAgain(at: archive, stop: stop)
        } catch let error as FerryError where damage.contains(error.code) {
            throw FerryError(
                .snapshotFailed,
                "The snapshot \(archive) was removed or damaged after it was taken, so \(store) was not changed. "
                    + error.message,
                remedy: "\(action: .again), which takes a new snapshot first.", cause: error)
        }
    }
}

extension Fingerprint {
    fileprivate var digest: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return SHA256.hash(Array(try encoder.encode(store))).hexadecimal
        }
    }
}

extension SnapshotEntry {
    init(_ snapshot: Snapshot, verified: Bool? = nil, problem: FerryError? = nil) {
        self.init(
            url: URL(fileURLWithPath: snapshot.archivePath), sequence: snapshot.sequence,
            created: Date(timeIntervalSince1970: Double(snapshot.created)),
            version: snapshot.version, bytes: snapshot.bytes, compressedBytes: snapshot.compressedBytes,
            isClone: snapshot.form == .clone,
            verified: verified, problem: problem ?? snapshot.problem)
    }
}
