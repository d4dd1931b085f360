internal import FerryBase
internal import FerrySQLite

/// The pages that a migration frees in a store's file, given back to the volume after its COMMIT.
///
/// Core Data makes its stores with `auto_vacuum = INCREMENTAL`: on request SQLite moves pages from the end of the file
/// into free ones and shortens it. Each request is a short transaction of its own: a kill leaves the new store, with
/// fewer pages given back.
///
/// As many pages are given back as the store has less content, if that is most of the freed ones. A table that is made
/// anew leaves as many free pages as it takes at the end of the file, and to move them all would cost more than making
/// it. Those, and pages that were free before the migration, stay for the rows that the app adds.
struct FreedPages {
    private let before: State

    /// In bytes, since the new content can have another page size.
    private struct State {
        var free: Int64
        var file: Int64

        init(_ connection: Connection) throws(DatabaseError) {
            free = try (connection.pragma("freelist_count")?.integer ?? 0) * FreedPages.pageSize(connection)
            file = try connection.contentBytes()
        }
    }

    /// Fewer bytes are not worth the syncs of a transaction, and the app's next rows take them.
    private static let least: Int64 = 1 << 20
    /// The bytes of one request: enough to make the cost of its syncs small, and short enough for other programs.
    private static let unitBytes: Int64 = 16 << 20
    /// `PRAGMA auto_vacuum` of a store that gives pages back on request.
    private static let incremental: Int64 = 2

    /// Counts the free pages before the migration's transaction changes them.
    init(before connection: Connection) throws(DatabaseError) { before = try State(connection) }

    /// Gives the pages back, as long as nothing stops the run and no other program uses the store.
    ///
    /// The connection is in no transaction, to the store or to the file that becomes it.
    ///
    /// - Returns: Nil if the migration has freed hardly any pages.
    /// - Throws: ``DatabaseError``; the store is the new one all the same.
    func giveBack(on connection: Connection, stop: StopRequest) throws -> MigrationReport.FreedSpace? {
        let pageSize = try Self.pageSize(connection)
        let now = try State(connection)
        let freed = now.free - before.free
        guard freed >= Self.least else { return nil }
        let gone = freed - max(0, now.file - before.file)
        var given: Int64 = 0
        if gone * 2 >= freed, try connection.pragma("auto_vacuum")?.integer == Self.incremental {
            let isLogged = try connection.pragma("journal_mode")?.text == "wal"
            while given < gone, !Self.isStopped(stop) {
                do {
                    let pages = (min(gone - given, Self.unitBytes) + pageSize - 1) / pageSize
                    try connection.execute("PRAGMA incremental_vacuum(\(pages))")
                } catch {
                    guard error.isBusy else { throw error }
                    break
                }
                let shorter = try now.free - State(connection).free
                guard shorter > given else { break }
                given = shorter
                if isLogged { _ = try connection.checkpoint("TRUNCATE") }
                stop.unitIsDone()
            }
        }
        return MigrationReport.FreedSpace(givenBack: given, left: max(0, freed - given))
    }

    private static func pageSize(_ connection: Connection) throws(DatabaseError) -> Int64 {
        max(512, try connection.pragma("page_size")?.integer ?? 0)
    }

    /// A stop after COMMIT fails nothing: the rest of the pages stay free.
    private static func isStopped(_ stop: StopRequest) -> Bool {
        do {
            try stop.check()
            return false
        } catch {
            return true
        }
    }
}
