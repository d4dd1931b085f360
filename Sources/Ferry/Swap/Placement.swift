internal import FerryBase
internal import FerryStore

/// Puts a verified destination where no store is yet (`--output`); the store that it came from is left alone.
struct Placement {
    let source: String
    let destination: String
    let output: String
    /// Whether external files of the source must be taken along to be beside the output.
    let ownsExternalFiles: Bool
    let files: FileLayer
    /// Saves the intent, durably, before the rename.
    let save: (SwapIntent) throws -> Void

    func run() throws {
        try removeEmptyJournals(of: destination, files: files)
        let external = ExternalFiles(store: output, files: files)
        // What the old store has beyond the new one is removed with the run folder.
        if ownsExternalFiles {
            try external.add(from: ExternalData.folder(forStore: source), onDifference: .refuses)
        }
        try external.add(from: ExternalData.folder(forStore: destination), onDifference: .refuses)
        for path in StoreFileNames(output).all where try files.exists(path) {
            throw FerryError(
                .outputExists, "\(path) has come up during the run.",
                remedy: "Move it away and \(action: .again): everything else is done.")
        }
        try save(.place(SwapIntent.Place(ofOutput: files.attributes(destination))))
        try files.renameToFree(destination, to: output)
        try files.syncFolder(FileLayer.parent(of: output))
    }
}
