package import FerrySQLite

/// Where the program of a step runs.
///
/// The destination is the connection's main database in both places; the place says whether units commit.
package enum Place {
    /// The store, in one transaction: a kill before its COMMIT leaves the old version, and there is no other copy.
    ///
    /// The result is verified before COMMIT, through the same connection.
    case store(Connection)
    /// A file of the run folder: each unit commits together with its record, so that a later call goes on after it.
    case file(StepFile)
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
