package import FerryBase
internal import FerryMapping
package import FerryStore

/// The statements that carry the app's own objects, persistent history and CloudKit records to a new store.
package struct AppObjectStatements {
    private let objects: AppObjects
    private let step: StepSQL

    package init(_ objects: AppObjects, in step: StepSQL) { (self.objects, self.step) = (objects, step) }

    // MARK: Tables

    /// The statement that makes a table, or empties one that a virtual table has made.
    package static func making(_ table: AppTable) -> String {
        // CREATE VIRTUAL TABLE has filled the shadow table with the rows of an empty virtual table.
        table.sql ?? "DELETE FROM main.\(table.quotedName)"
    }

    /// The statements that copy the highest number that an AUTOINCREMENT column ever had, bound with the table's name.
    package static let sequence = [
        "DELETE FROM main.sqlite_sequence WHERE name = ?",
        """
        INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM source.sqlite_sequence WHERE name = ?
        """,
    ]

    /// The statement that copies the `Z_PRIMARYKEY` rows of history and CloudKit entities.
    package static let systemNumbers = """
        INSERT INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX
        FROM source.Z_PRIMARYKEY WHERE Z_ENT > \(HistoryTables.firstNumber)
        """

    /// The statements that copy the ANALYZE statistics of tables and indexes that the new store has.
    package static let statistics = [
        // ANALYZE of the schema table creates an empty `sqlite_stat1`; a CREATE statement cannot.
        "ANALYZE main.sqlite_master",
        """
        INSERT INTO main.sqlite_stat1 (tbl, idx, stat) SELECT tbl, idx, stat FROM source.sqlite_stat1 AS s
        WHERE s.tbl IN (SELECT name FROM main.sqlite_master WHERE type = 'table') AND (s.idx IS NULL OR
            s.idx IN (SELECT name FROM main.sqlite_master WHERE type = 'index' AND tbl_name = s.tbl))
        """,
    ]

    // MARK: History and CloudKit

    /// The new numbers of the entities whose history stays.
    package var translations: [HistoryTables.Translation] {
        HistoryTables.translations(by: step.plan.resolved, step.source, step.destination)
    }

    /// The statements that make the table of history's changes, with a column for each value that a deletion preserves.
    package func makingChanges(of history: HistoryTables) -> [String] {
        guard let sql = history.changes.sql else { return [] }
        return [sql]
            + history.missingTombstones(for: step.plan.resolved).map {
                "ALTER TABLE main.\(history.changes.quotedName) ADD COLUMN \($0) BLOB"
            }
    }

    /// The statement that copies CloudKit's records with the new numbers of their objects' entities.
    package func copying(_ table: AppTable) throws(FerryError) -> String {
        var numbers: [(from: Int64, to: Int64)] = []
        for mapping in step.plan.resolved.entityMappings {
            numbers.append((from: try step.sourceNumber(of: mapping), to: try step.destinationNumber(of: mapping)))
        }
        return MirroringTables.copy(table, numbers: numbers)
    }

    // MARK: All

    /// All statements in their order, but the triggers, which follow the last row.
    package func all() throws(FerryError) -> [ProgramStatement] {
        var statements = objects.virtualTables.map { ProgramStatement($0.sql, .schema) }
        for table in objects.tables { statements += Self.carrying(table, by: table.copy()) }
        if let history = objects.history {
            for table in history.plain { statements += Self.carrying(table, by: table.copy()) }
            statements += makingChanges(of: history).map { ProgramStatement($0, .schema) }
            statements.append(
                ProgramStatement(history.copy(translations), .chunks(over: "source.\(history.changes.quotedName)")))
            statements += history.indexes.map { ProgramStatement($0.sql, .schema) }
        }
        if let mirroring = objects.mirroring {
            for table in mirroring.tables { statements += Self.carrying(table, by: try copying(table)) }
            statements += mirroring.indexes.map { ProgramStatement($0.sql, .schema) }
        }
        if objects.history != nil || objects.mirroring != nil {
            statements.append(ProgramStatement(Self.systemNumbers, .once))
        }
        statements += objects.objects.map { ProgramStatement($0.sql, .schema) }
        guard objects.hasStatistics else { return statements }
        return statements + [
            ProgramStatement(Self.statistics[0], .schema), ProgramStatement(Self.statistics[1], .once),
        ]
    }

    private static func carrying(_ table: AppTable, by statement: String) -> [ProgramStatement] {
        let copy = table.rowID == nil ? ProgramStatement.Form.once : .chunks(over: "source.\(table.quotedName)")
        return [ProgramStatement(making(table), table.sql == nil ? .once : .schema), ProgramStatement(statement, copy)]
    }
}
