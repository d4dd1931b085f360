package import FerryBase
package import FerrySQLite

/// The state of a store and of a run's inputs, in enough detail to show every write of another program.
package struct Fingerprint: Codable, Hashable, Sendable {
    package var store: DatabaseFingerprint
    /// Path of each model and mapping model to the SHA-256 of its bytes, in hexadecimal.
    package var inputs: [String: String] = [:]

    package func with(inputs: [String: String]) -> Fingerprint { Fingerprint(store: store, inputs: inputs) }

    package enum Comparison: Equatable {
        case same
        /// The difference of the store, in words.
        case storeChanged(String)
        /// A changed, added or removed model or mapping model.
        case inputChanged(String)
    }

    /// Compares the recorded state (self) with the present one.
    package func compare(with now: Fingerprint) -> Comparison {
        if let path = Self.changedInput(inputs, now.inputs) { return .inputChanged(path) }
        return Self.difference(between: store, and: now.store).map { .storeChanged($0) } ?? .same
    }

    /// The path of an input whose content the other inputs do not have.
    ///
    /// Only contents count: an app's bundle has another path after each update, and the run's chain names the versions.
    private static func changedInput(_ old: [String: String], _ new: [String: String]) -> String? {
        func tally(_ inputs: [String: String]) -> [String: Int] {
            inputs.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        let (before, now) = (tally(old), tally(new))
        guard before != now else { return nil }
        let paths = Set(old.keys).union(new.keys).sorted()
        // A path with changed content is preferred to a new or removed one.
        return paths.first { old[$0] != nil && new[$0] != nil && old[$0] != new[$0] }
            ?? paths.first { path in
                guard old[path] == nil || new[path] == nil, let content = old[path] ?? new[path] else { return false }
                return before[content] != now[content]
            }
    }

    private static func difference(between old: DatabaseFingerprint, and new: DatabaseFingerprint) -> String? {
        if old.device != new.device || old.inode != new.inode { return "it was replaced by another file" }
        if old.walFrames != nil {
            guard new.walFrames != nil else { return "its -wal is gone or empty" }
            if (old.walHeader, old.walLastFrame, old.walFrames) != (new.walHeader, new.walLastFrame, new.walFrames) {
                return "its -wal was written"
            }
            // Every commit appends to the -wal or restarts it: an equal -wal means at most a checkpoint.
            return nil
        }
        if new.walFrames != nil { return "its -wal was written" }
        if old.header != new.header { return "its header was written" }
        if old.bytes != new.bytes { return "its size is \(new.bytes) bytes instead of \(old.bytes)" }
        if old.modified != new.modified { return "its modification time changed" }
        if let changed = old.changed, changed != new.changed {
            return "its content, permissions or names changed, and its modification time was reset"
        }
        return nil
    }
}

/// The names of the files that belong to a store's main file.
package struct StoreFileNames: Sendable, Hashable {
    package let main: String

    package init(_ main: String) { self.main = main }

    package var log: String { main + "-wal" }
    package var index: String { main + "-shm" }
    package var journal: String { main + "-journal" }
    package var sides: [String] { [log, index, journal] }
    package var all: [String] { [main] + sides }

    /// Whether the whole store is in its main file, judged by the sizes of its journals.
    func areJournalsEmpty(files: FileLayer) throws(FerryError) -> Bool {
        for path in [log, journal] where try files.attributesIfPresent(path)?.size ?? 0 > 0 { return false }
        return true
    }

    func removeSides(files: FileLayer) throws(FerryError) {
        for path in sides { try files.removeIfPresent(path) }
    }

    /// Refuses to overwrite a file, a dangling link or a side file: a stale `-wal` would become part of the store.
    func checkNothingIsThere(files: FileLayer) throws(FerryError) {
        for path in all {
            let isThere = try files.exists(path)
            if !isThere { guard try files.isSymbolicLink(path) else { continue } }
            throw FerryError(
                .outputExists, "\(path) already exists.", remedy: "Choose another output, or move that file.")
        }
    }
}

/// The side files of a store that existed before Ferry opened it; all others are removed at the end.
package struct SideFiles: Codable, Hashable, Sendable {
    package var hadLog: Bool
    package var hadIndex: Bool

    package init(of store: StoreFileNames, files: FileLayer) throws {
        hadLog = try files.exists(store.log)
        hadIndex = try files.exists(store.index)
    }
}
