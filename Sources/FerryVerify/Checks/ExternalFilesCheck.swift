internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every value with external storage says by its first byte where its content is, and a file that it names is there.
struct ExternalFilesCheck: Check {
    static let name = "externalFiles"
    static let isQuick = true
    static let scope = CheckScope.store

    /// Values up to this size are read to get at their first byte, which is quicker than opening them one by one.
    private static let wholeBytes = 1 << 16

    func run(in context: VerificationContext) throws {
        let files = FileLayer()
        let verification = context.verification
        let folder = verification.externalFolder ?? ExternalData.folder(forStore: verification.destinationPath)
        for (key, column) in context.destination.attributeColumns.sorted(by: { $0.key < $1.key })
        where context.destination.attribute(key)?.allowsExternalStorage == true {
            let table = try context.destinationTable(of: key.entity).name
            try context.announce(table)
            // Only the first byte of what stands in the row: its contents may be large.
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
