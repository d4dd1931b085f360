internal import FerryBase
internal import FerryStore
internal import Foundation

/// The paths of one migration, without symbolic links.
struct RunPlace: Sendable {
    let store: String
    /// The path of the migrated store, if it does not replace the store.
    let output: String?
    /// Whether no other store shares the external files beside the result.
    ///
    /// Stores share them if their names differ only in the extension, if a volume ignores the difference of the names,
    /// or if a link leads from one folder to the other.
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

    /// The real path for a file that may exist; its folder must exist.
    static func place(_ path: String, files: FileLayer) throws(FerryError) -> String {
        if try files.exists(path) { return try files.realPath(path) }
        let folder = FileLayer.parent(of: path)
        guard try files.attributesIfPresent(folder)?.isDirectory == true else {
            throw FerryError(
                .notFound, "The folder \(folder) does not exist. It is needed for \(FileLayer.name(of: path)).",
                remedy: "Create it, or check the path.")
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

    /// The main file of the store with the new version.
    var result: String { output ?? store }

    var runFolder: String { RunFolder.path(beside: result) }

    /// Whether another path leads to the output: both then have one run folder.
    func isOutput(_ other: String?, files: FileLayer) throws(FerryError) -> Bool {
        guard let output, let other, output != other else { return output == other }
        return try files.leadToOne(RunFolder.path(beside: output), RunFolder.path(beside: other))
    }
}
