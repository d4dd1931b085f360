internal import FerrySQLite
internal import FerryStore

/// A source without its rows: schema, entity numbers and metadata, read once for all walkers.
struct SourceSurroundings: Sendable {
    /// A whole row of `Z_PRIMARYKEY`.
    typealias Number = [Value]

    let names: Set<String>
    /// The CREATE TABLE statements of Core Data's tables.
    let tableStatements: [String]
    let numbers: Set<Number>
    /// The header numbers that an app can set.
    let headerNumbers: [String: Value?]
    let metadata: Result<StoreMetadata, any Error>
    let hasModelTable: Bool
    let hasModel: Bool
    /// The row counts of Core Data's own tables with at most one row.
    let rows: [String: Int64]

    init(on connection: Connection, schema: String) throws {
        let objects = try connection.rows("SELECT type, name, sql FROM \(schema).sqlite_master")
        names = Set(objects.compactMap { $0[1].text })
        tableStatements = objects.filter { $0[0].text == "table" && $0[1].text?.hasPrefix("Z") == true }
            .compactMap { $0[2].text }
        numbers = try Self.numbers(on: connection, schema: schema)
        headerNumbers = try Self.headerNumbers(on: connection, schema: schema)
        metadata = Result { try StoreMetadata.read(from: connection, schema: schema) }
        hasModelTable = try ModelCache.hasTable(connection, schema: schema)
        hasModel = try ModelCache.hasModel(connection, schema: schema)
        rows = try Self.rows(on: connection, schema: schema)
    }

    static func numbers(on connection: Connection, schema: String) throws -> Set<Number> {
        Set(try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM \(schema).Z_PRIMARYKEY"))
    }

    static func headerNumbers(on connection: Connection, schema: String) throws -> [String: Value?] {
        try Dictionary(
            uniqueKeysWithValues: ["user_version", "application_id"].map { ($0, try connection.pragma($0, in: schema)) }
        )
    }

    static func rows(on connection: Connection, schema: String) throws -> [String: Int64] {
        let tables = try connection.rows(
            "SELECT name FROM \(schema).sqlite_master WHERE name IN ('Z_METADATA', 'Z_MODELCACHE')")
        return try Dictionary(
            uniqueKeysWithValues: tables.compactMap { $0[0].text }.map {
                ($0, try connection.integer("SELECT count(*) FROM \(schema).\($0)") ?? 0)
            })
    }

    /// `Z_MAX` of an entity.
    func maximumKey(of number: Int64) -> Int64 {
        numbers.first { $0[0] == .integer(number) }?[3].integer ?? 0
    }
}
