import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore

/// A Core Data store of one entity with a few rows, whose content identifies the store.
struct TinyStore {
    enum Form: CaseIterable {
        /// Rollback journal, without companion files.
        case plain
        /// WAL mode, closed cleanly.
        case closedLog
        /// WAL mode, with the last rows only in the `-wal`.
        case filledLog
    }

    static let version: ModelVersion = {
        let model = ManagedObjectModel(
            versionIdentifiers: ["1"],
            entities: [
                Entity(
                    name: "Note",
                    attributes: [
                        Attribute(name: "picture", type: .binary, isOptional: true, allowsExternalStorage: true),
                        Attribute(name: "title", type: .string, isOptional: true),
                    ])
            ])
        return ModelVersion(
            name: "Tiny", bundle: nil, path: "/none/Tiny.xcdatamodel", isCurrent: true, model: model,
            hashes: VersionHash.hashes(of: model))
    }()

    /// Makes a store with rows of one title.
    static func make(_ path: String, title: String, rows: Int64 = 40, form: Form = .plain, external: [String] = [])
        throws
    {
        let connection = try Connection(path: path, mode: .create)
        connection.keepWriteAheadLogOnClose()
        let layout = try StoreLayout.canonical(for: version.model)
        // The store need not survive a crash of the machine.
        try connection.execute("PRAGMA synchronous = OFF")
        try StoreCreation.prepare(connection)
        if form != .plain { try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") }
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Note": rows], on: connection)
            try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000001").write(to: connection)
            let insert = try connection.prepare(
                "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPICTURE) VALUES (?, 1, 1, ?, ?)")
            for key in 1...rows {
                let file = Int(key) <= external.count ? external[Int(key) - 1] : nil
                try insert.bind([
                    .integer(key), .text(title), file.map { .blob(ExternalData.reference(to: $0)) } ?? .null,
                ])
                try insert.run()
            }
        }
        switch form {
        case .plain: break
        case .closedLog:
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        case .filledLog:
            // Only the -wal has the first row's title.
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try connection.run("UPDATE ZNOTE SET ZTITLE = ? WHERE Z_PK = 1", [.text(title + " late")])
        }
        withExtendedLifetime(connection) {}
        if form == .closedLog {
            let files = FileLayer()
            try files.removeIfPresent(path + "-wal")
        }
        try FileLayer().removeIfPresent(path + "-shm")
    }

    /// Returns the title of the first row, as a plain client reads it, and checks the whole file.
    static func title(_ path: String) throws -> String {
        let connection = try Connection(path: path, mode: .readWrite)
        connection.keepWriteAheadLogOnClose()
        guard try connection.value("PRAGMA integrity_check") == .text("ok") else { return "damaged" }
        guard try connection.integer("SELECT count(DISTINCT replace(ZTITLE, ' late', '')) FROM ZNOTE") == 1 else {
            return "mixed"
        }
        return try connection.value("SELECT ZTITLE FROM ZNOTE WHERE Z_PK = 1")?.text ?? "none"
    }
}

/// The bytes of a store's files that count as content.
struct StoreBytes: Equatable {
    var main: [UInt8]?
    var log: [UInt8]?
    var journal: [UInt8]?
    var hasIndex: Bool

    init(_ path: String) throws {
        let files = FileLayer()
        func bytes(_ suffix: String) throws -> [UInt8]? {
            try files.exists(path + suffix) ? files.read(path + suffix) : nil
        }
        main = try bytes("")
        log = try bytes("-wal")
        journal = try bytes("-journal")
        hasIndex = try files.exists(path + "-shm")
    }

    /// The main file without the fields that every commit increments.
    var content: [UInt8]? {
        main.map { main in
            var bytes = main
            DatabaseHeader.blankCounters(&bytes)
            return bytes
        }
    }
}

extension StoreFileNames {
    /// Returns the names without the files that each client makes beside a store in WAL mode, and removes or leaves.
    static func lasting(_ names: [String]) -> [String] { names.filter { !["-wal", "-shm"].contains($0.suffix(4)) } }
}
