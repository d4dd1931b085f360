internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// No two values name one external file that were not two before: with one of them Core Data may remove the file.
///
/// Asked where the mapping models can come to it.
struct SharedFilesCheck: Check {
    static let name = "sharedFiles"
    static let isQuick = true
    static let scope = CheckScope.migration

    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        guard context.step.mayShareFiles else { return }
        try note("destination", context.destination, in: context)
        guard try context.connection.integer("SELECT count(*) FROM main.shared_destination") ?? 0 > 0 else { return }
        try note("source", context.source, in: context)
        let more = """
            main.shared_destination AS new LEFT JOIN main.shared_source AS old ON old.file = new.file
            WHERE new.count > coalesce(old.count, 1)
            """
        let count = try context.connection.integer("SELECT sum(new.count - coalesce(old.count, 1)) FROM \(more)") ?? 0
        guard count > 0 else { return }
        for (key, column) in ExternalData.attributes(of: context.destination) {
            let table = try context.destinationTable(of: key.entity).name
            let row = try context.connection.integer(
                """
                SELECT Z_PK FROM destination.\(table) WHERE length(\(column.name)) = 38 AND \(Self.file(column)) IN
                    (SELECT new.file FROM \(more)) LIMIT 1
                """)
            guard let row else { continue }
            context.report(
                SharedFilesCheck.self, entity: key.entity, count: count,
                example: "\(table) Z_PK \(row) \(column.name)")
            return
        }
    }

    /// Notes in the lookup file which files several values of a store name, and how many.
    private func note(_ schema: String, _ layout: StoreLayout, in context: VerificationContext) throws {
        let connection = context.connection
        try connection.execute(
            """
            DROP TABLE IF EXISTS main.named_files; DROP TABLE IF EXISTS main.shared_\(schema);
            CREATE TABLE main.named_files (file); CREATE TABLE main.shared_\(schema) (file PRIMARY KEY, count)
            """)
        for (key, column) in ExternalData.attributes(of: layout) {
            guard let table = layout.table(of: key.entity)?.name else { continue }
            try context.announce(table)
            try connection.execute(
                """
                INSERT INTO main.named_files SELECT \(Self.file(column)) FROM \(schema).\(table)
                WHERE length(\(column.name)) = 38 AND substr(\(column.name), 1, 1) = x'02'
                """)
        }
        try connection.execute(
            """
            INSERT INTO main.shared_\(schema) SELECT file, count(*) FROM main.named_files GROUP BY file
            HAVING count(*) > 1;
            DROP TABLE main.named_files
            """)
    }

    /// SQL of a file's name, which is a UUID however its letters are written.
    private static func file(_ column: Column) -> String { "upper(CAST(substr(\(column.name), 2, 36) AS TEXT))" }
}
