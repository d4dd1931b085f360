package import FerryBase

/// The names of the files that belong to a store's main file.
package struct StoreFileNames: Sendable, Hashable {
    package let main: String

    package init(_ main: String) { self.main = main }

    /// The write-ahead log.
    package var log: String { main + "-wal" }
    /// The index of the write-ahead log.
    package var index: String { main + "-shm" }
    package var journal: String { main + "-journal" }
    package var all: [String] { [main, log, index, journal] }
}

/// The side files of a store that were there before Ferry opened it; what is not among them is removed again.
package struct SideFiles: Codable, Hashable, Sendable {
    package var hadLog: Bool
    package var hadIndex: Bool

    package init(of store: StoreFileNames, files: FileLayer) throws {
        hadLog = try files.exists(store.log)
        hadIndex = try files.exists(store.index)
    }
}
