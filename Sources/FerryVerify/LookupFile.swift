internal import FerryBase

/// The database file in which verification keeps what it must look up: objects by `unique`, associations, pairs.
struct LookupFile {
    let path: String
    private let files = FileLayer()

    /// Makes the place free; the connection that opens the path creates the file.
    init(in folder: String) throws {
        path = folder + "/verify-lookups.sqlite"
        try remove()
    }

    func remove() throws {
        for suffix in ["", "-journal"] { _ = try files.removeIfPresent(path + suffix) }
    }
}
