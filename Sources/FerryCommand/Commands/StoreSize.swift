internal import Ferry
internal import FerryBase
internal import FerryStore

/// How large a store's files are.
struct StoreSize {
    struct SideFile {
        var path: String
        var bytes: Int64
    }

    let bytes: Int64
    let logBytes: Int64
    /// `-wal`, `-shm` and `-journal`, as far as they are there.
    let sideFiles: [SideFile]
    let externalFiles: Int64
    let externalBytes: Int64

    init(_ store: String) throws {
        let files = FileLayer()
        let names = StoreFileNames(store)
        bytes = try files.attributes(store).size
        var sideFiles: [SideFile] = []
        for path in [names.log, names.index, names.journal] {
            if let attributes = try files.attributesIfPresent(path) {
                sideFiles.append(SideFile(path: path, bytes: attributes.size))
            }
        }
        self.sideFiles = sideFiles
        logBytes = sideFiles.first { $0.path == names.log }?.bytes ?? 0
        (externalFiles, externalBytes) = try ExternalData.size(ofStore: store, files: files)
    }
}
