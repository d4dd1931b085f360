import FerryBase
import FerryModel
import FerrySQLite
import FerryStore

/// A small store of two entities and a join table, which the program makes at its start.
enum SmallStore {
    static let model: ManagedObjectModel = {
        let book = Entity(
            name: "Book",
            attributes: [
                Attribute(name: "title", type: .string), Attribute(name: "price", type: .double),
                Attribute(name: "pages", type: .integer64),
            ],
            relationships: [
                Relationship(
                    name: "authors", destinationEntity: "Author", inverseName: "books", inverseEntity: "Author",
                    maxCount: 0)
            ])
        let author = Entity(
            name: "Author", attributes: [Attribute(name: "name", type: .string)],
            relationships: [
                Relationship(
                    name: "books", destinationEntity: "Book", inverseName: "authors", inverseEntity: "Book", maxCount: 0
                )
            ])
        return ManagedObjectModel(versionIdentifiers: ["1"], entities: [book, author])
    }()

    /// Makes the store at a path, with pages of 1 KiB, so that the store has several pages.
    static func make(at path: String) throws {
        let version = ModelVersion(
            name: "Small", bundle: nil, path: "Small", isCurrent: true, model: model,
            hashes: VersionHash.hashes(of: model))
        let layout = try StoreLayout.canonical(for: model, foundTriggers: .assumed)
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA page_size = 1024; PRAGMA journal_mode = DELETE")
        try connection.transaction("BEGIN IMMEDIATE") {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": 20, "Author": 10], on: connection)
            try StoreMetadata.new(for: version, uuid: "0C0FFEE0-0000-4000-8000-000000000000").write(to: connection)
            try ModelCache.write(model, on: connection)
            for key in 1...20 {
                try connection.run(
                    "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPRICE, ZPAGES) VALUES (?, ?, 1, ?, ?, ?)",
                    [
                        .integer(Int64(key)), .integer(layout.entityNumbers["Book"] ?? 0), .text("title \(key)"),
                        .real(Double(key) / 4), .integer(Int64(key) << 40),
                    ])
            }
        }
    }
}

/// The main file of a store: header, pages, metadata, layout, counts.
final class DatabaseReader: FuzzReader {
    static let name = "database"
    static let shape = Shape.pages
    let seeds: [[UInt8]]
    private let path: String
    private let files = FileLayer()

    init(folder: String, corpus: Corpus) throws {
        path = folder + "/Store.sqlite"
        let seed = folder + "/Seed.sqlite"
        try SmallStore.make(at: seed)
        seeds = [try files.read(seed)] + corpus.files(limit: 64 << 10) { $0.hasSuffix(".sqlite") }.prefix(12)
    }

    func read(_ input: [UInt8]) throws {
        try write(input, to: path)
        for side in ["-wal", "-shm", "-journal"] { try files.removeIfPresent(path + side) }
        let start = Array(input.prefix(DatabaseHeader.byteCount))
        guard DatabaseHeader(start) != nil else {
            throw FerryError(.notADatabase, "It is \(DatabaseFiles.guess(start)).")
        }
        let connection = try Connection(path: path, mode: .readOnly)
        _ = try StoreMetadata.read(from: connection)
        let model = try ModelCache.model(in: connection) ?? SmallStore.model
        let layout = try StoreLayout.actual(for: model, on: connection)
        _ = try StoreInspection(of: layout, on: connection, counting: .estimated)
        _ = try StoreInspection(of: layout, on: connection)
    }
}

/// The `-wal`, which Ferry's page reader parses itself, beside SQLite's own recovery.
final class LogReader: FuzzReader {
    static let name = "write-ahead-log"
    static let shape = Shape.log
    let seeds: [[UInt8]]
    private let main: [UInt8]
    private let path: String
    private let files = FileLayer()

    init(folder: String, corpus: Corpus) throws {
        path = folder + "/Store.sqlite"
        let seed = folder + "/Seed.sqlite"
        let connection = try Connection(path: seed, mode: .create)
        try connection.execute(
            """
            PRAGMA page_size = 512; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(2000));
            """)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        main = try files.read(seed)
        var seeds: [[UInt8]] = []
        for _ in 0..<4 {
            try connection.execute("INSERT INTO a VALUES (randomblob(600)); DELETE FROM a WHERE rowid % 3 = 0")
            seeds.append(try files.read(seed + "-wal"))
        }
        self.seeds = seeds
    }

    /// Recomputes the checksums of an input that still has the form of a log.
    func mended(_ input: [UInt8]) -> [UInt8] {
        guard input.count >= 32 + 24 + 512 else { return input }
        var bytes = input
        let isBig = bytes[3] & 1 == 1
        func word(_ offset: Int) -> UInt32 {
            let parts = (0..<4).map { UInt32(bytes[offset + $0]) }
            return isBig
                ? parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3]
                : parts[3] << 24 | parts[2] << 16 | parts[1] << 8 | parts[0]
        }
        var sums: (UInt32, UInt32) = (0, 0)
        func add(_ range: Range<Int>) {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                sums.0 = sums.0 &+ word(offset) &+ sums.1
                sums.1 = sums.1 &+ word(offset + 4) &+ sums.0
            }
        }
        func put(at offset: Int) {
            for (place, sum) in [sums.0, sums.1].enumerated() {
                for index in 0..<4 {
                    bytes[offset + place * 4 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * (3 - index)))
                }
            }
        }
        add(0..<24)
        put(at: 24)
        let size = Int(bytes[10]) << 8 | Int(bytes[11])
        guard size >= 512, size % 8 == 0 else { return bytes }
        for frame in stride(from: 32, through: bytes.count - 24 - size, by: 24 + size) {
            for index in 0..<8 { bytes[frame + 8 + index] = bytes[16 + index] }
            add(frame..<frame + 8)
            add(frame + 24..<frame + 24 + size)
            put(at: frame + 16)
        }
        return bytes
    }

    func read(_ input: [UInt8]) throws {
        for side in ["-shm", "-journal"] { try files.removeIfPresent(path + side) }
        try write(main, to: path)
        try write(input, to: path + "-wal")
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("BEGIN IMMEDIATE")
        let pages = try PageReader(connection)
        // A log may name any number of pages, most of them holes: reading ends after 256 KiB.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < min(pages.byteCount, 256 << 10) {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(Int64(buffer.count), pages.byteCount - offset))])
            try pages.read(into: part, at: offset)
            offset += Int64(part.count)
        }
        _ = try pages.fingerprint(files: files)
    }
}

final class ModelCacheReader: FuzzReader {
    static let name = "model-cache"
    static let shape = Shape.bytes
    let seeds: [[UInt8]]
    private let connection: Connection

    init(folder: String, corpus: Corpus) throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
        try ModelCache.write(SmallStore.model, on: connection)
        guard case .blob(let bytes)? = try connection.value("SELECT Z_CONTENT FROM Z_MODELCACHE") else {
            preconditionFailure("The model was written.")
        }
        // Two more seeds: stored blocks, whose content can change without the stream, and a stream that inflates to
        // about 15 MB.
        let archive = try ArchivedModel.encode(SmallStore.model)
        seeds = [bytes, Self.stored(archive), Self.endless]
    }

    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 60_000) {
            let piece = bytes[start..<min(bytes.count, start + 60_000)]
            let count = UInt16(piece.count)
            output += [start + 60_000 >= bytes.count ? 1 : 0]
            output += [UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)] + piece
        }
        return output
    }

    /// Zeros, 258 for each 13 bits: the last block, with fixed codes.
    private static var endless: [UInt8] {
        var bytes: [UInt8] = []
        var bit = 0
        func put(_ bits: String) {
            for digit in bits {
                if bit % 8 == 0 { bytes.append(0) }
                if digit == "1" { bytes[bit / 8] |= 1 << UInt8(bit % 8) }
                bit += 1
            }
        }
        put("110" + "00110000")
        for _ in 0..<60_000 { put("11000101" + "00000") }
        put("0000000")
        return bytes
    }

    func read(_ input: [UInt8]) throws {
        try connection.run("UPDATE Z_MODELCACHE SET Z_CONTENT = ?", [.blob(input)])
        _ = try ModelCache.version(in: connection)
    }
}
