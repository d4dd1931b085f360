package import FerrySQLite

/// What a store and a run's inputs look like: enough to notice every write of another program.
package struct Fingerprint: Codable, Hashable, Sendable {
    package var store: DatabaseFingerprint
    /// Path of each model and mapping model to the SHA-256 of its bytes, in hexadecimal.
    package var inputs: [String: String]

    package init(store: DatabaseFingerprint, inputs: [String: String] = [:]) {
        self.store = store
        self.inputs = inputs
    }

    package func with(inputs: [String: String]) -> Fingerprint { Fingerprint(store: store, inputs: inputs) }

    package enum Comparison: Equatable {
        case same
        /// What of the store is different, in words.
        case storeChanged(String)
        /// A model or mapping model that is different, added or gone.
        case inputChanged(String)
    }

    /// Compares what was recorded (self) with what is there now.
    package func compare(with now: Fingerprint) -> Comparison {
        if let path = Set(inputs.keys).union(now.inputs.keys).sorted().first(where: { inputs[$0] != now.inputs[$0] }) {
            return .inputChanged(path)
        }
        return Self.difference(between: store, and: now.store).map { .storeChanged($0) } ?? .same
    }

    private static func difference(between old: DatabaseFingerprint, and new: DatabaseFingerprint) -> String? {
        if old.device != new.device || old.inode != new.inode { return "another file stands in its place" }
        if old.walFrames != nil {
            guard new.walFrames != nil else { return "its -wal is gone or empty" }
            if (old.walHeader, old.walLastFrame, old.walFrames) != (new.walHeader, new.walLastFrame, new.walFrames) {
                return "its -wal was written"
            }
            // Every commit appends to the -wal or begins it anew. With an equal one, the main file can only have got
            // what the -wal holds anyway (a checkpoint).
            return nil
        }
        if new.walFrames != nil { return "its -wal was written" }
        if old.header != new.header { return "its header was written" }
        if old.bytes != new.bytes { return "its size is \(new.bytes) bytes instead of \(old.bytes)" }
        if old.modified != new.modified { return "its time of last change is another one" }
        if let changed = old.changed, changed != new.changed {
            return "its content, permissions or names were changed and its time of last change was set back"
        }
        return nil
    }
}
