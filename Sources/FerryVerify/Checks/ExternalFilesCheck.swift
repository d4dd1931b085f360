internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every value with external storage says by its first byte where its content is, and a file that it names is there.
struct ExternalFilesCheck: Check {
    static let name = "externalFiles"
    static let isQuick = true
    static let scope = CheckScope.store

    func run(in context: VerificationContext) throws {
        let files = FileLayer()
        let folder = ExternalData.folder(forStore: context.verification.destinationPath)
        for (key, column) in context.destination.attributeColumns.sorted(by: { $0.key < $1.key })
        where context.destination.attribute(key)?.allowsExternalStorage == true {
            let table = try context.destinationTable(of: key.entity).name
            try context.announce(table)
            // Only the first byte of what stands in the row: its content may be large.
            let values = try context.connection.prepare(
                """
                SELECT Z_PK, CASE WHEN length(\(column.name)) = 38 AND substr(\(column.name), 1, 1) = x'02'
                    THEN \(column.name) ELSE substr(\(column.name), 1, 1) END
                FROM destination.\(table) WHERE \(column.name) IS NOT NULL
                """)
            while try values.step() {
                let isSound = try values.withBytes(1) { bytes in
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
