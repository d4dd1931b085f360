package import FerryBase

/// The files of a database: the main file and what SQLite puts beside it.
///
/// ``inspect(files:)`` opens and closes files by itself. POSIX drops a process's locks on a file with the first
/// descriptor that it closes on it, so use it **only before** this process opens an SQLite connection on the database;
/// afterwards a ``PageReader`` sees the same through the connection's own files.
package struct DatabaseFiles: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    package var walPath: String { path + "-wal" }
    package var sharedMemoryPath: String { path + "-shm" }
    package var journalPath: String { path + "-journal" }

    /// What the main file is, by its first bytes.
    package enum Kind: Sendable, Hashable {
        case missing
        case folder
        /// No bytes at all: to SQLite a database without tables.
        case empty
        case database(DatabaseHeader)
        /// Something else, in words: an encrypted database, a compressed file, text.
        case other(String)
    }

    /// What was found.
    package struct State: Sendable, Hashable {
        package var kind: Kind
        package var main: FileAttributes?
        /// Bytes of the side files; nil where there is none.
        package var walBytes: Int64?
        package var sharedMemoryBytes: Int64?
        package var journalBytes: Int64?
        /// Whether a `-journal` waits to be played back into the main file.
        ///
        /// While another process is writing, its live journal looks the same.
        package var hasHotJournal: Bool

        package var header: DatabaseHeader? { if case .database(let header) = kind { header } else { nil } }

        /// Whether the `-wal` can hold committed content.
        package var hasFilledLog: Bool { (walBytes ?? 0) > 0 }
    }

    /// Looks at the files; changes and locks nothing.
    package func inspect(files: FileLayer) throws(FerryError) -> State {
        let main = try files.attributesIfPresent(path)
        return State(
            kind: try kind(main, files), main: main,
            walBytes: try files.attributesIfPresent(walPath)?.size,
            sharedMemoryBytes: try files.attributesIfPresent(sharedMemoryPath)?.size,
            journalBytes: try files.attributesIfPresent(journalPath)?.size,
            hasHotJournal: try hasHotJournal(main, files))
    }

    /// - Throws: ``FerryError`` `.notFound` or `.notADatabase` when the main file is not an SQLite database.
    package func requireDatabase(files: FileLayer) throws(FerryError) -> State {
        let state = try inspect(files: files)
        let what: String
        switch state.kind {
        case .database: return state
        case .missing:
            throw FerryError(
                .notFound, "There is no file at \(path).", remedy: "Check the path of the store.")
        case .folder: what = "a folder"
        case .empty: what = "an empty file"
        case .other(let words): what = words
        }
        throw FerryError(
            .notADatabase, "\(path) is no SQLite database: it is \(what).", remedy: "Check the path of the store.")
    }

    private func kind(_ attributes: FileAttributes?, _ files: FileLayer) throws(FerryError) -> Kind {
        guard let attributes else { return .missing }
        if attributes.isDirectory { return .folder }
        guard attributes.isRegularFile else { return .other("not a regular file") }
        if attributes.size == 0 { return .empty }
        let input = try files.open(path)
        let start = try input.read(count: DatabaseHeader.byteCount, at: 0)
        if let header = DatabaseHeader(start) { return .database(header) }
        return .other(Self.guess(start))
    }

    /// SQLite's own rule: the journal has bytes, its first one is not zero, and the main file is not empty.
    private func hasHotJournal(_ main: FileAttributes?, _ files: FileLayer) throws(FerryError) -> Bool {
        guard let main, main.size > 0, let journal = try files.attributesIfPresent(journalPath), journal.size > 0 else {
            return false
        }
        let input = try files.open(journalPath)
        return try input.read(count: 1, at: 0).first != 0
    }

    /// What a file is that does not begin like a database, in words.
    package static func guess(_ start: [UInt8]) -> String {
        if start.starts(with: Array("SQLite format 3\0".utf8)) {
            return start.count < DatabaseHeader.byteCount ? "cut off within its header" : "damaged in its header"
        }
        let known: [(start: [UInt8], words: String)] = [
            (Array("bplist0".utf8), "a binary property list"), (Array("<?xml".utf8), "an XML file"),
            (Array("** This file contains an SQLite 2".utf8), "an SQLite 2 database"),
            ([0x28, 0xB5, 0x2F, 0xFD], "a Zstandard archive"), ([0x1F, 0x8B], "a gzip archive"),
            (Array("PK\u{3}\u{4}".utf8), "a ZIP archive"),
            ([0x37, 0x7F, 0x06], "a write-ahead log without its database"),
            ([0xD9, 0xD5, 0x05, 0xF9], "a rollback journal without its database"),
        ]
        if let match = known.first(where: { start.starts(with: $0.start) }) { return match.words }
        if start.allSatisfy({ $0 == 0 }) { return "a file of zero bytes" }
        if start.allSatisfy({ $0 == 9 || $0 == 10 || $0 == 13 || (32..<127).contains($0) }) { return "a text file" }
        // Ciphers leave every value about equally often: no byte of a hundred comes often.
        let most = Dictionary(grouping: start, by: { $0 }).values.map(\.count).max() ?? 0
        return start.count == DatabaseHeader.byteCount && most <= 5
            ? "encrypted, or of a format that Ferry does not know" : "of a format that Ferry does not know"
    }
}
