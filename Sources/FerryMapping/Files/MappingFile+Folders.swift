package import FerryBase
internal import FerryModel

/// The mapping models of a folder.
extension MappingFile {
    /// Reads one mapping model, or all that are in a folder, in natural order of their names.
    ///
    /// A file of the folder that another one extends is part of that one and not read by itself. JSON files without the
    /// keys of a mapping file are passed over. Folders inside the folder are not searched.
    ///
    /// - Throws: As ``load(path:files:)``; `.notFound` also when a folder holds no mapping model.
    package static func loadAll(path: String, files: FileLayer = FileLayer()) throws(FerryError) -> [MappingModel] {
        guard try present(path, files).isDirectory, fileExtension(of: path) != "xcmappingmodel" else {
            return [try load(path: path, files: files)]
        }
        var loaded: [MappingModel] = []
        for found in try paths(in: path, files: files) { loaded.append(try load(path: found, files: files)) }
        guard !loaded.isEmpty else {
            throw FerryError(
                .notFound, "The folder \(path) holds no mapping model.",
                remedy: "Name a .xcmappingmodel, a .cdm or a .json file, or a folder with such files in it.")
        }
        let extended = Set(loaded.flatMap(\.extendedPaths))
        return loaded.filter { !extended.contains($0.path) }
    }

    /// The mapping models in a folder, in natural order of their names; none is read.
    package static func paths(in folder: String, files: FileLayer) throws(FerryError) -> [String] {
        let names = try files.list(folder).map(\.name).filter { !$0.hasPrefix(".") }.sorted(by: naturalOrder)
        var paths: [String] = []
        for name in names {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            switch fileExtension(of: name) {
            case "xcmappingmodel", "cdm": paths.append(path)
            case "json" where try isMappingFile(path, files): paths.append(path)
            default: break
            }
        }
        return paths
    }

    /// Whether a JSON file has the keys of a mapping file: `entityMappings`, `source` with `destination`, or `extends`
    /// with no key that a mapping file does not have.
    ///
    /// A file that is no JSON counts where it has the first of these words in quotation marks: then it is a mapping file
    /// with a mistake in it.
    private static func isMappingFile(_ path: String, _ files: FileLayer) throws(FerryError) -> Bool {
        guard try files.attributesIfPresent(path)?.isDirectory == false else { return false }
        // Another program's JSON may be of any size; only what has one of the words is read whole.
        guard try has(anyOf: ["\"entityMappings\"", "\"destination\"", "\"extends\""], path, files) else {
            return false
        }
        let root: JSONNode
        do {
            root = try JSONTokenizer.parse(try files.read(path, limit: byteLimit))
        } catch let error as FerryError {
            throw error
        } catch {
            return try has(anyOf: ["\"entityMappings\""], path, files)
        }
        guard case .object(let members) = root.value else { return false }
        let keys = Set(members.map(\.key))
        // A report of Ferry's own, kept beside the models, has counts under the same word.
        if keys.contains("outcome") { return false }
        return keys.contains("entityMappings") || keys.isSuperset(of: ["source", "destination"])
            || (keys.contains("extends") && keys.isSubset(of: JSONMappingFile.keys))
    }

    /// Whether a file has one of a few short words in it; read piece by piece.
    private static func has(
        anyOf words: [String], _ path: String, _ files: FileLayer
    ) throws(FerryError) -> Bool {
        let words = words.map { Array($0.utf8) }
        let longest = words.map(\.count).max() ?? 0
        let input = try files.open(path)
        var offset: Int64 = 0
        while true {
            let piece = try input.read(count: (64 << 10) + longest, at: offset)
            for start in piece.indices where piece[start] == UInt8(ascii: "\"") {
                if words.contains(where: { piece[start...].starts(with: $0) }) { return true }
            }
            guard piece.count > 64 << 10 else { return false }
            offset += 64 << 10
        }
    }
}
