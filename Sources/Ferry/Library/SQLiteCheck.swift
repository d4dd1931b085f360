internal import FerryBase
internal import FerrySQLite

/// Looks whether the linked SQLite has what Ferry needs.
enum SQLiteCheck {
    static func require() throws {
        do {
            let connection = try Connection(path: ":memory:", mode: .create)
            try probe("SELECT json('[]')", "JSON functions", connection)
            try probe("CREATE VIRTUAL TABLE temp.probe USING rtree(id, low, high)", "R-Trees", connection)
        } catch {
            throw FerryError.wrapping(error, on: "an empty database")
        }
    }

    private static func probe(_ sql: String, _ feature: String, _ connection: Connection) throws {
        do {
            try connection.execute(sql)
        } catch {
            throw missing(feature, cause: error)
        }
    }

    private static func missing(_ what: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .unsupported, "The SQLite library that Ferry is linked with lacks \(what).",
            remedy: "Install a current SQLite and build Ferry against it.", cause: cause)
    }
}
