internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The files of a store's large values, named by UUIDs, so that those of two versions can share a folder.
struct ExternalFiles {
    /// The store's main file.
    let store: String
    let files: FileLayer

    private var folder: String { ExternalData.folder(forStore: store) }

    /// Adds the files of another folder to the store's; existing files without a reference stay.
    ///
    /// Each file gets its name when it is complete and durable. An existing one is compared byte for byte, and one with
    /// another content replaced: the new one was compared with its manifest, so the existing one is damaged. With
    /// `refusesDifference` only a truncated one is, as a killed copy of an earlier version leaves it.
    ///
    /// - Throws: ``FerryError`` `.fileFailed`, and `.outputExists` for a refused difference.
    func add(from source: String, refusesDifference: Bool = false) throws {
        guard try files.attributesIfPresent(source)?.isDirectory == true else { return }
        var isNew = false
        if try hasFiles() { try files.removeUnfinishedCopies(in: folder) }
        try files.forEachEntry(in: source) { entry in
            guard !entry.isDirectory else { return }
            let (file, copy) = (source + "/" + entry.name, folder + "/" + entry.name)
            let isThere = try files.exists(copy)
            if isThere {
                switch try files.compare(copy, with: file) {
                case .same:
                    // Its name may not be durable: an earlier call may have been killed before the sync.
                    isNew = true
                    return
                case .different where refusesDifference:
                    throw FerryError(
                        .outputExists,
                        "\(copy) already exists and differs from the store's external file of that name.",
                        remedy:
                            "Move its folder away and \(action: .again). Everything else is finished.")
                case .cutOff, .different: break
                }
            }
            if !isNew { try files.createDirectory(folder) }
            isNew = true
            try files.copy(file, to: copy, allowsLink: true, isReplacing: isThere)
        }
        if isNew {
            try files.syncFolder(folder)
            try files.syncFolder(FileLayer.parent(of: folder))
            try files.syncFolder(FileLayer.parent(of: store))
        }
    }

    // MARK: Files of deleted values

    /// Notes, before the store is replaced, which files its rows name: a migration may delete only these.
    ///
    /// Needs no model: every BLOB with the form of a file reference counts, in any column. The list, in the work
    /// folder, can have as many entries as the store has rows.
    func noteNames(on connection: Connection, workFolder: String) throws {
        guard try hasFiles() else { return }
        try makeList(Self.oldNames(in: workFolder), of: connection)
    }

    private static func oldNames(in workFolder: String) -> String { workFolder + "/external-old.sqlite" }

    /// Deletes files that the store named before and does not name now, and counts other files without a reference.
    ///
    /// Deletes none without the list of ``noteNames(on:workFolder:)``, or if another store shares the folder.
    func removeReleased(workFolder: String) throws -> MigrationReport.ExternalFiles {
        guard try hasFiles() else { return MigrationReport.ExternalFiles() }
        let reader = try SourceGuard(path: store, purpose: .reading, files: files)
        let new = workFolder + "/external-new.sqlite"
        try reader.closing { try makeList(new, of: reader.connection) }
        let old = Self.oldNames(in: workFolder)
        let names = try ExternalNames(at: new)
        let oldNames = try files.exists(old) ? ExternalNames(at: old) : nil
        var result = MigrationReport.ExternalFiles()
        let folder = folder
        // Determined at the first file to delete.
        var sharing: Bool?
        try files.removeUnfinishedCopies(in: folder)
        try files.forEachEntry(in: folder) { entry in
            // A file without a UUID as its name is not Core Data's.
            guard !entry.isDirectory, ExternalData.isFileName(entry.name) else { return }
            if try names.contain(entry.name) { return }
            if try oldNames?.contain(entry.name) == true {
                let isShared = try sharing ?? sharesFolder()
                sharing = isShared
                if !isShared {
                    try files.removeIfPresent(folder + "/" + entry.name)
                    result.removed += 1
                    return
                }
            }
            result.unreferenced += 1
        }
        return result
    }

    /// Whether another database has the same folder, like `App.db` beside `App.sqlite`, and may name files in it.
    private func sharesFolder() throws -> Bool {
        let parent = FileLayer.parent(of: store)
        var isShared = false
        try files.forEachEntry(in: parent) { entry in
            guard !isShared, !entry.isDirectory else { return }
            let path = parent == "/" ? "/" + entry.name : parent + "/" + entry.name
            let other = ExternalData.folder(forStore: path)
            guard other.lowercased() == folder.lowercased(), try files.leadToOne(other, folder),
                try !files.leadToOne(path, store), try files.attributesIfPresent(path)?.isRegularFile == true
            else { return }
            isShared = DatabaseHeader(try files.open(path).read(count: DatabaseHeader.byteCount, at: 0)) != nil
        }
        return isShared
    }

    /// Writes the file names in a store's rows into a database of their own.
    private func makeList(_ path: String, of store: Connection) throws {
        for file in StoreFileNames(path).all { try files.removeIfPresent(file) }
        try files.createPrivately(path)
        try ExternalNames.write(of: store, to: path)
    }

    private func hasFiles() throws -> Bool { try files.attributesIfPresent(folder)?.isDirectory == true }
}

extension ExternalData {
    fileprivate static func isFileName(_ name: String) -> Bool {
        name.utf8.count == 36 && reference(to: name).withUnsafeBytes { fileName(in: $0) } != nil
    }
}
