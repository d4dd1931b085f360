internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The first byte of each value with external storage says where its content is, and a file that it names exists.
struct ExternalFilesCheck: Check {
    static let name = "externalFiles"
    static let scope = CheckScope.store

    /// Values up to this size are read to get their first byte, which is faster than opening each with a blob handle.
    private static let wholeBytes = 1 << 16

    func run(in context: VerificationContext) throws {
        let files = FileLayer()
        let verification = context.verification
        let folder = verification.externalFolder ?? ExternalData.folder(forStore: verification.destinationPath)
        for (key, column) in ExternalData.attributes(of: context.destination) {
            let table = try context.destinationTable(of: key.entity).name
            try context.announce(table)
            // Read only the first byte of a value in the row, whose content may be large.
            let values = try context.connection.prepare(
                """
                SELECT Z_PK, CASE WHEN length(\(column.name)) = 38 AND substr(\(column.name), 1, 1) = x'02'
                    THEN \(column.name) WHEN length(\(column.name)) <= \(Self.wholeBytes)
                    THEN substr(\(column.name), 1, 1) END
                FROM destination.\(table) WHERE \(column.name) IS NOT NULL
                """)
            var first: [UInt8] = [0]
            while try values.step() {
                if values.isNull(1) {
                    let handle = try BlobHandle(
                        column.name, of: table, row: values.integer(0), schema: "destination", on: context.connection)
                    try first.withUnsafeMutableBytes { try handle.read(into: $0, at: 0) }
                }
                let isSound =
                    try values.isNull(1)
                    ? first == [0x01]
                    : values.withBytes(1) { bytes in
                        if let name = ExternalData.fileName(in: bytes) { return try files.exists(folder + "/" + name) }
                        return bytes.count == 1 && bytes[0] == 0x01
                    }
                if !isSound {
                    context.report(
                        ExternalFilesCheck.self, entity: key.entity,
                        example: "\(table) Z_PK \(values.integer(0)) \(column.name)")
                }
                try context.advance(table, done: 0, total: nil)
            }
        }
    }
}

/// Every external storage file of the destination equals the source's, byte for byte.
///
/// A file's name, a UUID, identifies one content. A destination not yet at its final place has no files.
struct ExternalContentsCheck: Check {
    static let name = "externalContents"
    static let isQuick = false
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        let files = FileLayer()
        let verification = context.verification
        let own = ExternalData.folder(forStore: verification.destinationPath)
        let old = verification.externalFolder ?? ExternalData.folder(forStore: verification.sourcePath)
        guard verification.isFound, own != old else { return }
        for (key, column) in ExternalData.attributes(of: context.destination) {
            let table = try context.destinationTable(of: key.entity).name
            try context.announce(table)
            let values = try context.connection.prepare(
                "SELECT Z_PK, \(column.name) FROM destination.\(table) WHERE length(\(column.name)) = 38")
            while try values.step() {
                let row = values.integer(0)
                guard RowWalk.isInSample(row, of: context), let name = values.withBytes(1, ExternalData.fileName) else {
                    continue
                }
                let (path, oldPath) = (own + "/" + name, old + "/" + name)
                if try !files.exists(oldPath) {
                    // The source is a copy without its folder, or the app has added the file since.
                    context.report.notRecomputed += 1
                } else if try !files.exists(path) || files.compare(path, with: oldPath) != .same {
                    context.report(
                        ExternalContentsCheck.self, entity: key.entity, example: "\(table) Z_PK \(row) \(column.name)")
                }
                try context.advance(table, done: 0, total: nil)
            }
        }
    }
}

/// No two values name one external file unless the source's did: Core Data may remove a file with one of them.
///
/// The check runs only if the mapping models can copy such a value twice (`mayShareFiles`).
struct SharedFilesCheck: Check {
    static let name = "sharedFiles"
    static let scope = CheckScope.migration

    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        guard context.step.mayShareFiles else { return }
        try context.connection.execute(
            "DROP TABLE IF EXISTS lookups.named_files; CREATE TABLE lookups.named_files (file, isNew)")
        try addFiles("destination", context.destination, in: context)
        let twice = try context.connection.value(
            "SELECT 1 FROM lookups.named_files GROUP BY file HAVING count(*) > 1 LIMIT 1")
        if twice == nil { return }
        try addFiles("source", context.source, in: context)
        let more = """
            SELECT file, sum(isNew) - max(1, sum(NOT isNew)) AS more FROM lookups.named_files GROUP BY file
            HAVING more > 0
            """
        let count = try context.connection.integer("SELECT sum(more) FROM (\(more))") ?? 0
        guard count > 0 else { return }
        for (key, column) in ExternalData.attributes(of: context.destination) {
            let table = try context.destinationTable(of: key.entity).name
            let row = try context.connection.integer(
                """
                SELECT Z_PK FROM destination.\(table) WHERE length(\(column.name)) = 38 AND \(Self.file(column)) IN
                    (SELECT file FROM (\(more))) LIMIT 1
                """)
            guard let row else { continue }
            context.report(
                SharedFilesCheck.self, entity: key.entity, count: count,
                example: "\(table) Z_PK \(row) \(column.name)")
            return
        }
    }

    /// Adds the file that each value of a store names to a table of the lookup file.
    private func addFiles(_ schema: String, _ layout: StoreLayout, in context: VerificationContext) throws {
        for (key, column) in ExternalData.attributes(of: layout) {
            guard let table = layout.table(of: key.entity)?.name else { continue }
            try context.announce(table)
            try context.connection.execute(
                """
                INSERT INTO lookups.named_files
                SELECT \(Self.file(column)), \(schema == "destination") FROM \(schema).\(table)
                WHERE length(\(column.name)) = 38 AND substr(\(column.name), 1, 1) = x'02'
                """)
        }
    }

    /// The SQL of a file's name; a UUID can be written in letters of either case.
    private static func file(_ column: Column) -> String { "upper(CAST(substr(\(column.name), 2, 36) AS TEXT))" }
}
