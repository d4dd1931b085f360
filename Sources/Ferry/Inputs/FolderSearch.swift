internal import FerryBase

/// The folders in a folder, as far as a search may go.
///
/// Nearer ones come first. Hidden folders, links, and folders whose names have an extension (bundles, packages) are not
/// entered.
struct FolderSearch {
    let depth: Int
    /// What may still be looked at.
    private(set) var folders: Int
    private(set) var entries: Int
    let files: FileLayer
    /// Whether something was left out since there was too much.
    private(set) var isCutOff = false

    init(depth: Int, folders: Int, entries: Int, files: FileLayer) {
        self.depth = depth
        self.folders = folders
        self.entries = entries
        self.files = files
    }

    /// The folders below one, without itself; what cannot be listed is passed over.
    mutating func folders(in root: String) -> [String] {
        var found: [String] = []
        var level = [root]
        for _ in 0..<depth {
            var next: [String] = []
            for folder in level {
                guard folders > 0, entries > 0 else {
                    isCutOff = true
                    return found
                }
                folders -= 1
                next += children(of: folder)
            }
            found += next
            level = next
        }
        return found
    }

    private mutating func children(of folder: String) -> [String] {
        let listed: [String]
        do throws(FerryError) {
            // One more, to know whether that was all.
            let found = try files.firstEntries(of: folder, limit: entries + 1)
            if found.count > entries { isCutOff = true }
            entries -= min(found.count, entries)
            listed = found.filter { $0.isDirectory && !$0.name.contains(".") }.map(\.name)
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // Whether there is something in it that matters is not known; the folder itself is not the app's to name.
            return []
        }
        return listed.map { (folder == "/" ? "" : folder) + "/" + $0 }
    }
}
