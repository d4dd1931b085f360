package import FerryMapping
package import FerrySQLite
package import FerryStore

/// Where the program of a step runs.
///
/// The destination is the connection's main database in both places; the place says whether units commit.
package enum Place {
    /// The store, in one transaction: a kill before its COMMIT leaves the old version, and there is no other copy.
    ///
    /// Every check of the result runs before COMMIT, through the same connection. The caller provides the checks: the
    /// engine does not check itself.
    case store(Connection, StoreChecks? = nil)
    /// A file of the run folder: each unit commits together with its record, so that a later call goes on after it.
    case file(StepFile)
}

/// Reads the old version and returns a check of the new version, which throws if the result is wrong.
///
/// The check takes the mappings' counts, and change counts of single-entity tables that one statement writes.
package typealias StoreChecks =
    (AlteredStore) throws -> ([EntityMappingCounts], _ counted: [String: Int64]) throws -> Void

/// What the checks of a step in the store know of it, inside the transaction and before its statements.
package struct AlteredStore {
    package let step: ResolvedStep
    /// Tables of the new version whose rows the statements write.
    package let tables: Set<String>
    /// The store, as the main database.
    package let connection: Connection
    /// The damage of the store; nil if no scan ran.
    package let damage: [StoreDamage]?
}

/// The files of a step in the run folder: its destination, which begins as a copy of the source if tables stay, and scratch.
package struct StepFile: Sendable {
    package let folder: String
    package let sourcePath: String
    /// Whether no other program can change the source file during the run (a finished earlier step).
    package let isSourcePrivate: Bool

    package init(folder: String, sourcePath: String, isSourcePrivate: Bool) {
        (self.folder, self.sourcePath, self.isSourcePrivate) = (folder, sourcePath, isSourcePrivate)
    }

    package var destinationPath: String { folder + "/destination.sqlite" }
    package var scratchPath: String { folder + "/scratch.sqlite" }
}
