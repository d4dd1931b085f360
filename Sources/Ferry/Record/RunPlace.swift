internal import FerryBase
internal import FerryStore

/// The paths of one migration, without symbolic links.
struct RunPlace: Sendable {
    let store: String
    /// Where the migrated store goes when it does not replace the store.
    let output: String?
    /// Whether the external files beside the result are its own alone.
    ///
    /// Two stores share them whose names differ only in their extension; where a folder takes several spellings for one
    /// name, or a link leads from one to the other, so do others.
    let ownsExternalFiles: Bool

    /// - Throws: ``FerryError`` `.notFound` when there is no store, or no folder for the output.
    init(store: String, output: String?, files: FileLayer) throws(FerryError) {
        self.store = try Self.existing(store, files: files)
        guard let output else {
            self.output = nil
            ownsExternalFiles = true
            return
        }
        let place = try Self.place(output, files: files)
        self.output = place
        ownsExternalFiles = try !files.leadToOne(
            ExternalData.folder(forStore: self.store), ExternalData.folder(forStore: place))
    }

    /// A path where something may stand: its folder must be there.
    static func place(_ path: String, files: FileLayer) throws(FerryError) -> String {
        if try files.exists(path) { return try files.realPath(path) }
        let folder = FileLayer.parent(of: path)
        guard try files.attributesIfPresent(folder)?.isDirectory == true else {
            throw FerryError(
                .notFound, "There is no folder \(folder) for \(FileLayer.name(of: path)).",
                remedy: "Make it, or check the path.")
        }
        let real = try files.realPath(folder)
        return (real == "/" ? "" : real) + "/" + FileLayer.name(of: path)
    }

    static func existing(_ store: String, files: FileLayer) throws(FerryError) -> String {
        guard try files.exists(store) else {
            throw FerryError(.notFound, "There is no store at \(store).", remedy: "Check the path.")
        }
        return try files.realPath(store)
    }

    /// The main file of the store with the new version, once there is one.
    var result: String { output ?? store }

    var runFolder: String { RunFolder.path(beside: result) }

    /// Whether another spelling of the output leads to this one: both have one run folder.
    func isOutput(_ other: String?, files: FileLayer) throws(FerryError) -> Bool {
        guard let output, let other, output != other else { return output == other }
        return try files.leadToOne(RunFolder.path(beside: output), RunFolder.path(beside: other))
    }

    /// Refuses to write over anything, side files included: a stale `-wal` would become a part of the new store.
    func checkOutput(files: FileLayer) throws(FerryError) {
        guard let output else { return }
        for path in StoreFileNames(output).all where try files.exists(path) {
            throw FerryError(
                .outputExists, "\(path) exists already.", remedy: "Name another output, or move that file away.")
        }
    }
}
