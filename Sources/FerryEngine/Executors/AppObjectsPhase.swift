package import FerryBase
package import FerryMapping
internal import FerryModel
internal import FerryPlan
package import FerrySQLite
package import FerryStore

/// Copies persistent history, CloudKit records and the app's own schema objects, unless they are in the file already.
///
/// The phase runs after the model's rows and indexes, which app objects name, and before the model's triggers.
struct AppObjectsPhase {
    let context: StepContext
    private let statements: AppObjectStatements

    init(context: StepContext) {
        self.context = context
        statements = AppObjectStatements(context.planning.appObjects, in: context.sql)
    }

    func run() throws {
        // With a kept part the destination began with the source's pages, and has them.
        guard context.step.keptPart == nil else { return }
        for unit in try statements.units() { try run(unit) }
    }

    /// Creates the app's triggers; call it after the last row is written.
    func createTriggers() throws {
        for unit in statements.triggers { try run(unit) }
    }

    private func run(_ unit: AppObjectStatements.Unit) throws {
        // Needed in a resumed run too.
        if unit.writesShadowTable { context.connection.allowSchemaWrites() }
        guard let first = unit.statements.first, case .chunks(let rows) = first.form else {
            return try context.once(unit.name, phase: unit.phase, subject: unit.subject) {
                for statement in unit.statements {
                    try context.connection.run(statement, now: context.options.now)
                }
            }
        }
        let rowID = unit.table?.rowID ?? "rowid"
        try context.walk(
            unit.name, over: rows, key: rowID, phase: unit.phase, subject: unit.subject, running: first.sql.text,
            largeRow: unit.copiesValues ? unit.table.map { try largeRows(of: $0, rowID: rowID) } : nil)
        if let table = unit.table { try copySequence(of: table) }
    }

    // MARK: Tables

    /// Makes the function that copies a row with values that are too large for their chunk.
    private func largeRows(of table: AppTable, rowID: String) throws -> ChunkWalk.LargeRowCopy {
        let cells = zip(table.columns, table.columnNames).map { quoted, name in
            LargeCell(
                name: quoted, rawName: name, sql: quoted,
                origin: .init(table: table.name, column: name, value: quoted, key: rowID))
        }
        let writer = try LargeRowWriter(table.name, key: rowID, cells: cells, of: (table.name, nil), in: context)
        let select = try context.connection.prepare(
            """
            SELECT \(([rowID] + writer.selection).joined(separator: ", ")) FROM source.\(table.quotedName)
            WHERE \(rowID) > ?1 AND \(rowID) <= ?2
            """)
        return { range, entries in
            try select.bind([.integer(range.low), .integer(range.high)])
            defer { select.reset() }
            try writer.refusing(range.high) {
                while try select.step() {
                    try writer.write(select.integer(0), from: select, at: 1, of: range.high)
                    entries[0].read += 1
                }
            }
        }
    }

    /// Copies the highest number that an AUTOINCREMENT column ever had.
    private func copySequence(of table: AppTable) throws {
        for schema in ["source", "main"] {
            let exists = try context.connection.integer(
                "SELECT 1 FROM \(schema).sqlite_master WHERE name = 'sqlite_sequence'")
            if exists == nil { return }
        }
        try context.once("sequence:\(table.name)", phase: .rows, subject: table.name) {
            for statement in AppObjectStatements.sequence {
                try context.connection.run(statement, [.text(table.name)])
            }
        }
    }
}

extension AppObjects {
    /// Returns the refusal of a step that would make CloudKit records invalid, or nil.
    package func mirroringRefusal(
        of step: ResolvedStep, _ source: StoreLayout, on connection: Connection, schema: String = "main"
    ) throws -> FerryError? {
        guard let mirroring else { return nil }
        if let refusal = MirroringRefusal.find(mirroring, step) { return refusal }
        return try mirroring.rowsOfUnknownEntities(to: source, on: connection, schema: schema).map { table, rows in
            FerryError(
                .damagedSource,
                "\(rows.counting("row")) of \(table) \(rows == 1 ? "is" : "are") for an entity that the store does "
                    + "not have; its number could be given to another entity.",
                remedy: "Let the app reset mirroring for this store, or migrate it.")
        }
    }
}
