internal import FerryBase

/// The names of the files that belong to a store's main file.
struct StoreFileNames: Sendable, Hashable {
    let main: String

    init(_ main: String) { self.main = main }

    /// The write-ahead log.
    var log: String { main + "-wal" }
    /// The index of the write-ahead log.
    var index: String { main + "-shm" }
    var journal: String { main + "-journal" }
    var all: [String] { [main, log, index, journal] }
}

/// The side files of a store that were there before Ferry opened it; what is not among them is removed again.
struct SideFiles: Codable, Hashable, Sendable {
    var hadLog: Bool
    var hadIndex: Bool

    init(of store: StoreFileNames, files: FileLayer) throws {
        hadLog = try files.exists(store.log)
        hadIndex = try files.exists(store.index)
    }
}
