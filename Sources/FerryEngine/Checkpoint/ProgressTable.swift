internal import FerryBase
internal import FerryMapping
internal import FerrySQLite

/// The record of finished units, in the destination itself, so that it is committed together with the rows.
///
/// A unit's `mark` is a watermark that only the unit itself can interpret: for a walk over keys, the last key that
/// is done. The row named `""` counts all units and remembers which of them last wrote to the scratch database.
struct ProgressTable {
    private let connection: Connection
    private let name: String
    private let record: Statement
    private let advance: Statement

    /// Everything that is known of one unit.
    struct Entry {
        var mark: Int64 = 0
        var isDone = false
        var chunks: Int64 = 0
        var read: Int64 = 0
        var written: Int64 = 0
        var dropped: Int64 = 0
        var merged: Int64 = 0
        /// Inserted by a policy beyond one for each object that was read.
        var created: Int64 = 0
    }

    /// A name that nothing in the source has, which goes along with it.
    ///
    /// The source stays as it is during a run, so every call finds the same one.
    private static func name(on connection: Connection) throws(DatabaseError) -> String {
        var (name, number) = ("ferry_progress", 0)
        while try connection.integer("SELECT 1 FROM source.sqlite_master WHERE name = ? COLLATE NOCASE", [.text(name)])
            != nil
        {
            number += 1
            name = "ferry_progress_\(number)"
        }
        return name
    }

    /// Makes the table; the source is attached, here and below.
    static func create(on connection: Connection) throws(DatabaseError) {
        let name = try name(on: connection)
        try connection.execute(
            """
            CREATE TABLE main.\(name) (
                unit TEXT PRIMARY KEY, mark INTEGER, done INTEGER, chunks INTEGER, read INTEGER, written INTEGER,
                dropped INTEGER, merged INTEGER, created INTEGER
            ) WITHOUT ROWID
            """)
        try connection.execute("INSERT INTO main.\(name) VALUES ('', 0, 0, 0, 0, 0, 0, 0, 0)")
    }

    static func exists(on connection: Connection) throws(DatabaseError) -> Bool {
        let name = try name(on: connection)
        return try connection.integer(
            "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", [.text(name)]) != nil
    }

    static func drop(on connection: Connection) throws(DatabaseError) {
        try connection.execute("DROP TABLE IF EXISTS main.\(name(on: connection))")
    }

    init(on connection: Connection) throws(DatabaseError) {
        self.connection = connection
        let name = try Self.name(on: connection)
        self.name = name
        record = try connection.prepare("REPLACE INTO main.\(name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        // `mark` counts the units, `read` is the number of the last unit that wrote to scratch.
        advance = try connection.prepare(
            "UPDATE main.\(name) SET mark = mark + 1, read = CASE WHEN ? THEN mark + 1 ELSE read END WHERE unit = ''"
        )
    }

    func entry(_ unit: String) throws(DatabaseError) -> Entry {
        let row = try connection.rows(
            "SELECT mark, done, chunks, read, written, dropped, merged, created FROM main.\(name) WHERE unit = ?",
            [.text(unit)]
        ).first
        guard let row else { return Entry() }
        // No run counts so far; of a file that does, verification tells that the counts do not balance.
        let numbers = row.map { min(max($0.integer ?? 0, 0), Int64.max / 4) }
        return Entry(
            mark: row[0].integer ?? 0, isDone: numbers[1] != 0, chunks: numbers[2], read: numbers[3],
            written: numbers[4],
            dropped: numbers[5], merged: numbers[6], created: numbers[7])
    }

    /// Records a unit inside the transaction that did its work.
    func save(_ entry: Entry, for unit: String) throws(DatabaseError) {
        try record.bind([
            .text(unit), .integer(entry.mark), .integer(entry.isDone ? 1 : 0), .integer(entry.chunks),
            .integer(entry.read), .integer(entry.written), .integer(entry.dropped), .integer(entry.merged),
            .integer(entry.created),
        ])
        try record.run()
    }

    /// Counts one more unit; to be called once in each unit's transaction.
    func countUnit(writesScratch: Bool) throws(DatabaseError) {
        try advance.bind(Int64(writesScratch ? 1 : 0), at: 1)
        try advance.run()
    }

    /// The number of the last unit that wrote to scratch.
    func lastScratchUnit() throws(DatabaseError) -> Int64 {
        try connection.integer("SELECT read FROM main.\(name) WHERE unit = ''") ?? 0
    }

    /// The number of the last finished unit.
    func lastUnit() throws(DatabaseError) -> Int64 {
        try connection.integer("SELECT mark FROM main.\(name) WHERE unit = ''") ?? 0
    }

    /// The units whose names begin with a word, with the rest of their names.
    func entries(_ word: String) throws(DatabaseError) -> [(name: String, entry: Entry)] {
        let units = try connection.rows(
            "SELECT unit FROM main.\(name) WHERE substr(unit, 1, ?1) = ?2 ORDER BY unit",
            [.integer(Int64(word.unicodeScalars.count)), .text(word)])
        var entries: [(name: String, entry: Entry)] = []
        for unit in units.compactMap(\.[0].text) {
            entries.append((String(unit.dropFirst(word.count)), try entry(unit)))
        }
        return entries
    }

    /// All chunks of all calls.
    func totalChunks() throws(DatabaseError) -> Int {
        Int(try connection.integer("SELECT sum(chunks) FROM main.\(name)") ?? 0)
    }
}
