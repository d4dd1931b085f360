package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryStore

/// The statements that carry the app's own objects, persistent history and CloudKit records to a new store.
package struct AppObjectStatements {
    private let objects: AppObjects
    private let step: StepSQL

    package init(_ objects: AppObjects, in step: StepSQL) { (self.objects, self.step) = (objects, step) }

    /// The statements that copy the highest number that an AUTOINCREMENT column ever had, bound with the table's name.
    package static let sequence = [
        "DELETE FROM main.sqlite_sequence WHERE name = ?",
        """
        INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM source.sqlite_sequence WHERE name = ?
        """,
    ]

    /// Copies the `Z_PRIMARYKEY` rows of history and CloudKit entities.
    private static let systemNumbers = """
        INSERT INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX
        FROM source.Z_PRIMARYKEY WHERE Z_ENT > \(HistoryTables.firstNumber)
        """

    /// Copies the ANALYZE statistics of tables and indexes that the new store has.
    private static let statistics = """
        INSERT INTO main.sqlite_stat1 (tbl, idx, stat) SELECT tbl, idx, stat FROM source.sqlite_stat1 AS s
        WHERE s.tbl IN (SELECT name FROM main.sqlite_master WHERE type = 'table') AND (s.idx IS NULL OR
            s.idx IN (SELECT name FROM main.sqlite_master WHERE type = 'index' AND tbl_name = s.tbl))
        """

    // MARK: History and CloudKit

    /// The new numbers of the entities whose history stays.
    package var translations: [HistoryTables.Translation] {
        HistoryTables.translations(by: step.plan.resolved, step.source, step.destination)
    }

    /// The statements that make the table of history's changes, with a column for each value that a deletion preserves.
    private func makingChanges(of history: HistoryTables) -> [String] {
        guard let sql = history.changes.sql else { return [] }
        return [sql]
            + history.missingTombstones(for: step.plan.resolved).map {
                "ALTER TABLE main.\(history.changes.quotedName) ADD COLUMN \($0) BLOB"
            }
    }

    /// The statement that copies CloudKit's records with the new numbers of their objects' entities.
    private func copying(_ table: AppTable) throws(FerryError) -> String {
        var numbers: [(from: Int64, to: Int64)] = []
        for mapping in step.plan.resolved.entityMappings {
            numbers.append((from: try step.sourceNumber(of: mapping), to: try step.destinationNumber(of: mapping)))
        }
        return MirroringTables.copy(table, numbers: numbers)
    }

    // MARK: Units

    /// Statements that run together, in one unit or in chunks.
    package struct Unit: Sendable {
        /// The name of the record.
        package let name: String
        package let phase: Phase
        package let subject: String?
        /// One in chunks, or any number of others.
        package let statements: [ProgramStatement]
        /// The table whose rows the unit copies; its row IDs are the keys of the chunks.
        package var table: AppTable?
        /// Whether every value stays, so that a row with values too large for its chunk can be copied in pieces.
        package var copiesValues = false
        /// Whether the unit writes to a shadow table, of which the virtual table should be the only writer.
        package var writesShadowTable = false

        fileprivate init(_ name: String, _ phase: Phase, _ subject: String?, _ statements: [ProgramStatement]) {
            (self.name, self.phase, self.subject, self.statements) = (name, phase, subject, statements)
        }

        fileprivate init(making object: AppObjects.Object) {
            let statement = ProgramStatement(object.sql, .schema)
            self.init("carry:\(object.type):\(object.name)", .indexes, object.name, [statement])
        }

        fileprivate init(making index: IndexDefinition) {
            self.init(StepOperation.unit(of: index), .indexes, index.name, [ProgramStatement(index.sql, .schema)])
        }
    }

    /// All units in their order, but the triggers.
    package func units() throws(FerryError) -> [Unit] {
        var units = objects.virtualTables.map(Unit.init(making:))
        for table in objects.tables { units += Self.carrying(table) }
        if let history = objects.history {
            for table in history.plain { units += Self.carrying(table) }
            let changes = history.changes
            let making = makingChanges(of: history).map { ProgramStatement($0, .schema) }
            let copy = ProgramStatement(history.copy(translations), .chunks(over: "source.\(changes.quotedName)"))
            units += [
                Unit("make:\(changes.name)", .rows, changes.name, making),
                Unit("carry:\(changes.name)", .rows, changes.name, [copy]),
            ]
            units += history.indexes.map(Unit.init(making:))
        }
        if let mirroring = objects.mirroring {
            for table in mirroring.tables { units += Self.carrying(table, by: try copying(table)) }
            units += mirroring.indexes.map(Unit.init(making:))
        }
        if objects.history != nil || objects.mirroring != nil {
            units.append(Unit("carry:systemNumbers", .rows, nil, [ProgramStatement(Self.systemNumbers, .once)]))
        }
        units += objects.objects.map(Unit.init(making:))
        guard objects.hasStatistics else { return units }
        // ANALYZE of the schema table creates an empty `sqlite_stat1`; a CREATE statement cannot.
        let statistics = [
            ProgramStatement("ANALYZE main.sqlite_master", .schema), ProgramStatement(Self.statistics, .once),
        ]
        return units + [
            Unit("carry:sqlite_stat1", .indexes, "sqlite_stat1", statistics + (try droppedStatistics()))
        ]
    }

    /// The app's triggers, which follow the last row.
    package var triggers: [Unit] { objects.triggers.map(Unit.init(making:)) }

    private static func carrying(_ table: AppTable, by statement: String? = nil) -> [Unit] {
        // CREATE VIRTUAL TABLE has filled the shadow table with the rows of an empty virtual table.
        let making =
            table.sql.map { ProgramStatement($0, .schema) }
            ?? ProgramStatement("DELETE FROM main.\(table.quotedName)", .once)
        let form = table.rowID == nil ? ProgramStatement.Form.once : .chunks(over: "source.\(table.quotedName)")
        var units = [
            Unit("make:\(table.name)", .rows, table.name, [making]),
            Unit("carry:rows:\(table.name)", .rows, table.name, [ProgramStatement(statement ?? table.copy(), form)]),
        ]
        for index in units.indices { units[index].writesShadowTable = table.sql == nil }
        (units[1].table, units[1].copiesValues) = (table, statement == nil)
        return units
    }

    /// Drops statistics of tables and indexes that an intermediate version of the step does not have.
    private func droppedStatistics() throws(FerryError) -> [ProgramStatement] {
        func names(_ layout: StoreLayout) -> Set<String> {
            Set(layout.tables.values.map(\.name) + layout.joinTables.map(\.name) + layout.indexes.map(\.name))
        }
        let new = names(step.destination)
        var dropped: Set<String> = []
        for version in step.plan.resolved.middle {
            let passed = try StoreLayout.canonical(for: version.model, foundTriggers: .assumed)
            dropped.formUnion(new.subtracting(names(passed)))
        }
        return dropped.sorted().map { name in
            var values = Parameters()
            let name = values.add(.text(name))
            return ProgramStatement(
                "DELETE FROM main.sqlite_stat1 WHERE tbl = \(name) OR idx = \(name)", values: values, .once)
        }
    }
}
