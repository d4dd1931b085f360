internal import FerryBase
internal import FerrySQLite

/// The database file in which verification keeps what it must look up: objects by `unique`, associations, pairs.
struct LookupFile {
    let path: String
    private let files = FileLayer()

    /// Makes the place free, unless what stands there can be gone on with.
    ///
    /// The connection that opens the path creates the file.
    ///
    /// - Parameters:
    ///   - folder: Where it stands.
    ///   - key: What a verification must be to go on with an earlier one's file; nil to begin anew.
    /// - Throws: ``FerryError`` when what stands there cannot be removed.
    init(in folder: String, key: String?) throws {
        path = folder + "/verify-lookups.sqlite"
        if let key, try files.exists(path), try isOf(key) { return }
        try remove()
        // It holds values of the store.
        try files.createPrivately(path)
    }

    /// Takes the name away from the file that the connection has open, so that a kill leaves nothing of it.
    ///
    /// To be called once it has no journal, which would be found by the name.
    func unlink() throws { _ = try files.removeIfPresent(path) }

    private func isOf(_ key: String) throws -> Bool {
        do {
            // Rolls back what a killed verification had begun.
            return try VerificationProgress.key(on: Connection(path: path, mode: .readWrite)) == key
        } catch is DatabaseError {
            return false
        }
    }

    func remove() throws {
        for suffix in ["", "-journal"] { _ = try files.removeIfPresent(path + suffix) }
    }
}
