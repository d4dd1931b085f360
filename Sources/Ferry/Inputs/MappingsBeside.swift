package import FerryBase
package import FerryMapping
package import FerryModel

/// The mapping models that lie beside the models and were not given.
package struct MappingsBeside {
    package private(set) var mappingModels: [MappingModel] = []
    /// Folders and mapping models that could not be read.
    package private(set) var warnings: [FerryWarning] = []

    /// Searches each bundle of the models, the folder that contains it, and the subfolders of that folder.
    package init(_ catalog: ModelCatalog, given: [MappingModel], files: FileLayer) throws(FerryError) {
        var known = Set(given.flatMap { [$0.path] + $0.extendedPaths })
        var search = FolderSearch(files: files)
        let nearest = Self.folders(of: catalog)
        let below = nearest.flatMap { search.folders(in: $0) }.filter { !nearest.contains($0) }
        if search.isCutOff {
            warnings.append(
                FerryWarning(
                    .mappingsNotSearched,
                    "Not all folders next to the models were searched for further mapping models: there are too many."
                ))
        }
        for folder in nearest + below {
            let paths: [String]
            do throws(FerryError) {
                paths = try MappingFile.paths(in: folder, files: files)
            } catch {
                // An app may have access to a bundle, but not to the folder that contains it.
                warnings.append(
                    FerryWarning(
                        .mappingsNotSearched, "\(folder) could not be searched for mapping models: \(error.message)",
                        about: .init(path: folder)))
                continue
            }
            for path in paths where known.insert(try files.realPath(path)).inserted {
                do throws(FerryError) {
                    var model = try MappingFile.load(path: path, files: files)
                    // A mapping model that extends a given one is an alternative for its step, not a missing one.
                    if !given.allSatisfy({ !model.extendedPaths.contains($0.path) }) { continue }
                    // The path with which the caller can give it.
                    model.path = path
                    mappingModels.append(model)
                } catch {
                    warnings.append(
                        FerryWarning(
                            .mappingPassedOver,
                            "The mapping model \(path) was not given and cannot be read: \(error.message)",
                            about: .init(path: path)))
                }
            }
        }
        mappingModels = Array(MappingModel.distinct(given + mappingModels).dropFirst(given.count))
        let extended = Set(mappingModels.flatMap(\.extendedPaths))
        var own: [MappingModel] = []
        for model in mappingModels where !extended.contains(try files.realPath(model.path)) { own.append(model) }
        mappingModels = own
    }

    private static func folders(of catalog: ModelCatalog) -> [String] {
        catalog.versions.filter(\.parts.isEmpty).flatMap { version in
            let own = version.bundle == nil ? version.path : FileLayer.parent(of: version.path)
            return [FileLayer.parent(of: own)] + (version.bundle == nil ? [] : [own])
        }.distinct
    }
}

/// A limited search for the subfolders of a folder.
///
/// Returns nearer folders first. Skips hidden folders, links, and folders whose names have an extension (bundles,
/// packages). The depth and the work are limited: a project keeps its mapping models near its models, and the folder may
/// be any folder of the user.
struct FolderSearch {
    let files: FileLayer
    private static let depth = 3
    /// The entries that the search may still read, and those that opening a folder counts for.
    private var entries = 5_000
    private static let opening = 25
    private(set) var isCutOff = false

    init(files: FileLayer) { self.files = files }

    /// The folders below a folder, without itself; folders that cannot be listed are skipped.
    mutating func folders(in root: String) -> [String] {
        var (found, level) = ([String](), [root])
        for _ in 0..<Self.depth {
            level = level.flatMap { children(of: $0) }
            found += level
        }
        return found
    }

    private mutating func children(of folder: String) -> [String] {
        guard entries > 0 else {
            isCutOff = true
            return []
        }
        let listed: [String]
        do throws(FerryError) {
            // One more than the limit shows whether the folder has more.
            let found = try files.list(folder, limit: entries + 1)
            if found.count > entries { isCutOff = true }
            entries -= found.count + Self.opening
            listed = found.filter { $0.isDirectory && !$0.name.contains(".") }.map(\.name)
                .inOrder { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // The content is unknown, and the app may not know the folder, so an error would not help.
            return []
        }
        return listed.map { (folder == "/" ? "" : folder) + "/" + $0 }
    }
}
