package import FerryBase
internal import FerryStore

/// The rule of where Ferry writes no file that a caller names: an output, a report, a restored store, snapshots.
///
/// A name may belong to a store in the same folder: SQLite deletes or reads `STORE-journal` at the next open, and Ferry
/// needs `STORE.ferry` itself. A folder may belong to a run, which empties it, to snapshots or to external files, which
/// are listed, copied and deleted.
package struct WritePlace: Sendable {
    private let files: FileLayer
    /// Files without which the command does not end, whether they exist or not.
    private let stores: [String]

    /// `stores` are the files that the same command makes, besides those that exist.
    package init(beside stores: [String] = [], files: FileLayer = FileLayer()) {
        (self.stores, self.files) = (stores, files)
    }

    // MARK: The rule

    /// Checks the path of a file, and the name's length with each ending that the file's use needs.
    ///
    /// - Throws: ``FerryError`` `.reservedPath`, `.nameTooLong`.
    package func check(_ path: String, endings: [String] = [".new"]) throws(FerryError) {
        let place = try resolved(path)
        try checkFolders(above: place, for: path)
        let name = FileLayer.name(of: place)
        for ending in Self.sideFiles + Self.ownNames where name.lowercased().hasSuffix(ending) {
            let store = String(place.dropLast(ending.count))
            // ".ferry" alone is a name of its own.
            guard name.count > ending.count, try isStore(store) else { continue }
            let use = Self.sideFiles.contains(ending) ? "SQLite" : "Ferry"
            throw FerryError(
                .reservedPath, "The name of \(path) is reserved: \(use) uses it for a file next to \(store).",
                remedy: "Use a name that does not end in \(ending), or another folder.")
        }
        try Self.checkLength(of: path, endings: endings)
    }

    /// Checks the folder for the snapshots of a store, which need not exist yet.
    ///
    /// - Throws: ``FerryError`` `.reservedPath`, `.outputExists` when a file is in the way.
    package func checkSnapshotFolder(_ path: String) throws(FerryError) {
        let place = try resolved(path)
        for (folder, name) in Self.folders(from: place) {
            if let owner = try owner(of: folder, name), owner != Self.snapshots {
                throw Self.refused(path, in: folder, of: owner)
            }
            let isFolder = try files.attributesIfPresent(folder)?.isDirectory
            // A link that leads nowhere does not exist, and no folder can be made there.
            var isUsable = isFolder == true
            if isFolder == nil { isUsable = try !files.isSymbolicLink(folder) }
            guard isUsable else {
                throw FerryError(
                    .outputExists, "\(folder) is not a folder, but the snapshots need one there.",
                    remedy: "Move it away, or choose another folder with \(setting: .snapshotFolder).")
            }
        }
    }

    /// Checks that the files which Ferry and SQLite make beside a store can have their names.
    ///
    /// - Throws: ``FerryError`` `.nameTooLong`.
    package static func checkStoreName(_ path: String) throws(FerryError) {
        try checkLength(of: path, endings: sideFiles + ownNames + [ownNames[0] + "-rehearsal", RunLog.setAside])
    }

    private static let sideFiles = ["-wal", "-shm", "-journal"]
    private static let ownNames = [".ferry", ".snapshots", RunLog.ending]
    /// The longest file name of every usual file system, in bytes.
    private static let longestName = 255

    private static func checkLength(of path: String, endings: [String]) throws(FerryError) {
        let longest = longestName - (endings.map(\.utf8.count).max() ?? 0)
        let name = FileLayer.name(of: path)
        guard name.utf8.count > longest else { return }
        throw FerryError(
            .nameTooLong,
            "The file name \(name) has \(name.utf8.count) bytes: the names of the files next to it would be too long.",
            remedy: "Use a name of at most \(longest) bytes.")
    }

    // MARK: Folders

    private func checkFolders(above place: String, for path: String) throws(FerryError) {
        for (folder, name) in Self.folders(from: FileLayer.parent(of: place)) {
            if let owner = try owner(of: folder, name) { throw Self.refused(path, in: folder, of: owner) }
        }
    }

    private static func refused(_ path: String, in folder: String, of owner: String) -> FerryError {
        FerryError(
            .reservedPath, "\(path) is in \(folder), the folder of \(owner).", remedy: "Use a path outside it.")
    }

    /// A folder and those above it, each with its name.
    private static func folders(from path: String) -> [(path: String, name: String)] {
        var found: [(String, String)] = []
        var folder = path
        while folder != "/", folder != "." {
            found.append((folder, FileLayer.name(of: folder)))
            folder = FileLayer.parent(of: folder)
        }
        return found
    }

    private static let snapshots = "snapshots"

    /// Words for what a folder belongs to; nil for any other folder.
    private func owner(of folder: String, _ name: String) throws(FerryError) -> String? {
        for ending in [".ferry", ".ferry-rehearsal"] {
            guard let store = Self.base(folder, name, ending) else { continue }
            if try isStore(store) { return "a run" }
            for name in ["run.json", "lock"] where try files.exists("\(folder)/\(name)") { return "a run" }
        }
        if let store = Self.base(folder, name, ".snapshots") {
            if try isStore(store) { return Self.snapshots }
            if try hasManifest(folder) { return Self.snapshots }
        }
        return try isExternalData(folder, name) ? "the external files of a store" : nil
    }

    /// The path without the ending; nil if the name is not longer, or ends otherwise.
    private static func base(_ folder: String, _ name: String, _ ending: String) -> String? {
        name.count > ending.count && name.lowercased().hasSuffix(ending) ? String(folder.dropLast(ending.count)) : nil
    }

    private func isExternalData(_ folder: String, _ name: String) throws(FerryError) -> Bool {
        guard name.hasPrefix("."), name.lowercased().hasSuffix("_support") else { return false }
        if try files.exists(folder + "/_EXTERNAL_DATA") { return true }
        // Stores with any extension share the folder: `.App_SUPPORT` is that of App.sqlite and of App.db.
        let parent = FileLayer.parent(of: folder)
        var beside: [String] = []
        for store in stores { beside.append(try resolved(store)) }
        if try files.attributesIfPresent(parent)?.isDirectory == true {
            beside += try files.list(parent).filter { !$0.isDirectory }.map { "\(parent)/\($0.name)" }
        }
        return beside.contains { ExternalData.supportFolder(forStore: $0).lowercased() == folder.lowercased() }
    }

    private func hasManifest(_ folder: String) throws(FerryError) -> Bool {
        guard try files.attributesIfPresent(folder)?.isDirectory == true else { return false }
        return try files.list(folder, limit: 64).contains { $0.name.hasSuffix(".json") }
    }

    /// Whether a file is there, or will be: of any content, since opening a database would end its locks.
    private func isStore(_ path: String) throws(FerryError) -> Bool {
        if try files.attributesIfPresent(path)?.isDirectory == false { return true }
        for store in stores where try resolved(store) == path { return true }
        return false
    }

    /// The path without links as far as it exists, and without `..`.
    private func resolved(_ path: String) throws(FerryError) -> String {
        var (existing, rest) = (path.isEmpty ? "." : path, [String]())
        while existing != ".", existing != "/", try !files.exists(existing) {
            rest.append(FileLayer.name(of: existing))
            existing = FileLayer.parent(of: existing)
        }
        var place = try files.realPath(existing)
        for name in rest.reversed() where name != "." {
            place = name == ".." ? FileLayer.parent(of: place) : (place == "/" ? "" : place) + "/" + name
        }
        return place
    }
}

extension Configuration {
    /// Checks every path that a migration writes to, before it writes anything.
    func checkPlaces(of place: RunPlace, files: FileLayer) throws(FerryError) {
        guard rehearsesInPlace == nil else { return }
        try WritePlace.checkStoreName(place.result)
        if let output = place.output {
            try WritePlace(beside: [place.store], files: files).check(output, endings: [])
        } else if snapshots.form != .none {
            try WritePlace(beside: [place.store], files: files)
                .checkSnapshotFolder(snapshots.folder?.filePath ?? StoreSnapshots.folder(of: place.store))
        }
    }
}
