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

/// A file that holds a large value is, byte for byte, the one of its name beside the source.
///
/// Core Data never changes such a file: its name, a UUID, stands for one content. A destination that is not at its place
/// yet has no files of its own.
struct ExternalContentsCheck: Check {
    static let name = "externalContents"
    static let isQuick = false
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        let verification = context.verification
        let own = ExternalData.folder(forStore: verification.destinationPath)
        let old = verification.externalFolder ?? ExternalData.folder(forStore: verification.sourcePath)
        guard verification.isDestinationAsFound, own != old else { return }
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
                try compare(name, from: old, in: own, context) {
                    context.report(
                        ExternalContentsCheck.self, entity: key.entity, example: "\(table) Z_PK \(row) \(column.name)")
                }
                try context.advance(table, done: 0, total: nil)
            }
        }
    }

    private func compare(
        _ name: String, from old: String, in own: String, _ context: VerificationContext, report: () -> Void
    ) throws {
        let files = FileLayer()
        // A copy of the old store without its folder, or a file that an app has added since.
        guard try files.exists(old + "/" + name) else {
            context.report.notRecomputed += 1
            return
        }
        let path = own + "/" + name
        if try !files.exists(path) || files.compare(path, with: old + "/" + name) != .same { report() }
    }
}
