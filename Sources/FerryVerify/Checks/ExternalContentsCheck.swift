internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

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
