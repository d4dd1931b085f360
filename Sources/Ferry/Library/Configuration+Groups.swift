public import FerryBase
public import Foundation

extension Configuration {
    /// The treatment of a migration that loses values, links or objects of the store.
    public struct Losses: Sendable, Hashable {
        /// Whether every loss is allowed, as in Core Data; plan and report list the losses.
        public var areAllowed = false
        /// Entities, or properties as `Entity.property`, that may be lost although other losses are refused.
        public var exceptions: Set<String> = []

        /// Refuses what the store loses or may lose.
        public static let refuse = Losses()
        /// Migrates whatever is lost.
        public static let allow = Losses(areAllowed: true)

        /// Refuses all losses but those of the named entities and properties.
        public static func refuse(except exceptions: Set<String>) -> Losses { Losses(exceptions: exceptions) }
    }

    /// The rows that are copied and committed together.
    public struct Chunks: Sendable, Hashable {
        public var size: ChunkSize = .automatic
        /// The most bytes that an automatic chunk writes, as far as that can be estimated.
        ///
        /// A value that is larger than a chunk is carried alone, in pieces.
        public var bytes = 4 << 20
        /// The longest time that an automatic chunk takes, as far as that can be estimated.
        public var time: Duration = .milliseconds(500)
    }

    /// The memory, the time and the processors that a call may use.
    public struct Limits: Sendable, Hashable {
        /// The bytes that the process may hold, at least 24 MiB; caches, queues and the snapshot's level are chosen to
        /// fit.
        ///
        /// A value that cannot be carried in pieces, such as a text, takes twice its size of the limit. The app's
        /// memory, its code, your migration policies, and model files above 1 MiB come on top.
        public var memory = 32 << 20
        /// The time after which a call stops, for the next call to resume; nil for no limit.
        ///
        /// Each call does at least one unit of work, even one that takes longer.
        public var budget: Duration?
        /// How long a call waits in all for a store that another program uses, at the start or at the swap; nil not to
        /// wait.
        ///
        /// A spent ``budget`` or a stop request ends the waiting.
        public var wait: Duration?
        /// The number of parts of the verification that run at one time; nil for as many as there are processors.
        ///
        /// A low ``memory`` allows fewer. The result does not depend on this number.
        public var processors: Int?
    }

    /// The snapshot that is taken before a migration in place; never with ``Configuration/output``, which leaves the
    /// store unchanged.
    public struct Snapshots: Sendable, Hashable {
        public enum Form: String, Sendable, Hashable, CaseIterable {
            /// A compressed archive, verified.
            case archive
            /// A copy-on-write clone of the store's file.
            ///
            /// A clone is made at once and shares its blocks with the store until either changes, but has no hash. It
            /// takes a volume with such files (APFS, Btrfs, XFS); on another one the migration is refused.
            case clone
            case none
        }

        public var form: Form = .archive
        /// The folder for the snapshot; nil means `STORE.snapshots`.
        public var folder: URL?
        /// The compression level of an archive: 1 (fast) to 19 with Zstandard, to 9 in a build without it.
        public var level = 1
    }

    /// What a call mends in a store that is not as Core Data makes it.
    public struct Repairs: Sendable, Hashable {
        /// Whether missing tables and columns of the store's version are made before the migration, after a snapshot.
        ///
        /// They are empty, or have the model's default values. Otherwise such a store is refused.
        public var missingParts = false
        /// Whether columns that an unfinished attempt left in the store give their values to the new properties of
        /// their names.
        ///
        /// Otherwise these begin empty, and the values are a loss.
        public var adoption = false
        /// Names of objects in the store that are not Core Data's and are not to be carried over.
        public var removals: [String] = []
        /// Whether the store keeps its version: ``missingParts`` and ``removals`` are all that the call does, after a
        /// snapshot or in a copy.
        public var keepsVersion = false
    }
}
