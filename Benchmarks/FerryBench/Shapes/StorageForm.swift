internal import FerryBase
internal import FerrySQLite

/// A form of the database file that differs from what Core Data writes by default.
enum StorageForm: Sendable {
    case pageSize(Int)
    case utf16

    func apply(to store: String, files: FileLayer) throws {
        switch self {
        case .pageSize(let size):
            let connection = try Connection(path: store, mode: .readWrite)
            // The size of pages changes only without a log.
            try connection.execute("PRAGMA journal_mode = DELETE; PRAGMA page_size = \(size); VACUUM")
        case .utf16:
            let copy = "\(store).utf16"
            try Self.copy(store, to: copy)
            for side in ["-wal", "-shm"] { _ = try files.removeIfPresent(store + side) }
            try files.rename(copy, to: store)
        }
    }

    /// Copies every object; SQLite attaches no file of another encoding.
    private static func copy(_ store: String, to path: String) throws {
        let old = try Connection(path: store, mode: .readWrite)
        let new = try Connection(path: path, mode: .create)
        try new.execute("PRAGMA encoding = 'UTF-16le'; PRAGMA auto_vacuum = 2; PRAGMA synchronous = OFF")
        let objects = try old.rows(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type <> 'table', rowid")
        try new.transaction {
            for object in objects {
                guard let name = object[1].text, let sql = object[2].text else { continue }
                try new.execute(sql)
                guard object[0].text == "table" else { continue }
                let read = try old.prepare("SELECT * FROM \(Connection.quoted(name))")
                let columns = try old.rows("SELECT name FROM pragma_table_info(?)", [.text(name)]).count
                let places = (1...max(1, columns)).map { _ in "?" }.joined(separator: ", ")
                let write = try new.prepare("INSERT INTO \(Connection.quoted(name)) VALUES (\(places))")
                while try read.step() {
                    for column in 0..<columns { try write.bind(column: column, of: read, at: column + 1) }
                    try write.run()
                }
            }
        }
    }
}
