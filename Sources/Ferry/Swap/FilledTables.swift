internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The rows of the tables that a step with a kept part has filled, taken from the verified file into the store.
///
/// The store is in the transaction in which the statements of the kept part have run: it has these tables, empty.
struct FilledTables {
    private let connection: Connection
    private let part: KeptPart
    private static let schema = "verified"

    /// Nil if the step fills no table beside kept ones; attaches the verified file, so no transaction may be open.
    init?(_ step: StepPlan, of verified: Connection, into connection: Connection) throws {
        guard let part = step.keptPart else { return nil }
        (self.connection, self.part) = (connection, part)
        try connection.attach(path: verified.path, as: Self.schema, mode: .immutable)
    }

    /// The tables that ``take(options:)`` writes.
    var tables: Set<String> { part.filledTables.union(columns.keys) }

    private var columns: [String: Set<String>] {
        part.linkedColumns.merging(part.settledColumns) { $0.union($1) }
    }

    /// Takes rows, foreign keys and highest keys, then makes the missing indexes, views and triggers.
    func take(options: EngineOptions) throws {
        do {
            try connection.with(.length, options.wholeValueBytes) {
                for table in part.filledTables.sorted() {
                    try options.stop.check()
                    try connection.execute(
                        "INSERT INTO main.\(table) SELECT * FROM \(Self.schema).\(table)")
                }
                for (table, columns) in columns.inOrder(by: { $0.key < $1.key }) {
                    try options.stop.check()
                    try takeKeys(columns.sorted(), of: table)
                }
            }
        } catch let error as DatabaseError where error.isTooBig {
            throw FerryError(.valueTooLarge, "A row is too long to be copied.", cause: error)
        }
        try connection.execute(
            "UPDATE main.Z_PRIMARYKEY AS p SET Z_MAX = v.Z_MAX FROM \(Self.schema).Z_PRIMARYKEY AS v "
                + "WHERE v.Z_ENT = p.Z_ENT AND v.Z_MAX IS NOT p.Z_MAX")
        // Triggers last: they must see no row of these tables come.
        let missing = try connection.rows(
            "SELECT sql FROM \(Self.schema).sqlite_master AS v WHERE type IN ('index', 'view', 'trigger') "
                + "AND sql IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.sqlite_master AS m WHERE m.name = v.name) "
                + "ORDER BY type = 'trigger', type = 'view', rowid")
        for object in missing.compactMap({ $0[0].text }) {
            try options.stop.check()
            try connection.execute(object)
        }
    }

    /// Takes leave of the verified file, outside of a transaction.
    func detach() throws(DatabaseError) { try connection.execute("DETACH \(Self.schema)") }

    private func takeKeys(_ columns: [String], of table: String) throws {
        let names = columns.joined(separator: ", ")
        let values = columns.map { "v.\($0)" }.joined(separator: ", ")
        let differs = columns.map { "v.\($0) IS NOT \(table).\($0)" }.joined(separator: " OR ")
        try connection.execute(
            "UPDATE main.\(table) SET (\(names)) = (\(values)) FROM \(Self.schema).\(table) AS v "
                + "WHERE v.Z_PK = \(table).Z_PK AND (\(differs))")
    }
}
