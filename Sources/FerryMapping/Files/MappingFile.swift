package import FerryBase
package import FerryExpression
internal import FerryModel

/// Reads mapping models of every format.
package struct MappingFile {
    /// The size limit of JSON and compiled files; Xcode's files are streamed and have no limit.
    static let byteLimit = 16 << 20

    private let files: FileLayer
    private let faults: JSONFaults?
    private let fingerprint = Fingerprint()
    /// The real paths of the files being read, the outermost first.
    private var reading: [String] = []

    /// Reads one mapping model: `.xcmappingmodel` (the folder or its XML), `.cdm`, or Ferry's JSON.
    ///
    /// With `faults`, errors of a JSON file after which it can be read on are collected; the rule is then an empty one.
    ///
    /// - Throws: `.notFound` if no file exists; `.badMapping` or `.badExpression` with file, line and path.
    package static func load(
        path: String, files: FileLayer = FileLayer(), faults: JSONFaults? = nil
    ) throws(FerryError) -> MappingModel {
        var file = MappingFile(files: files, faults: faults)
        var model = try WorkThread.withStack { () throws(FerryError) in try file.read(path) }
        model.fingerprint = file.fingerprint.finish()
        model.path = file.reading[0]
        model.extendedPaths = Array(file.reading.dropFirst())
        return model
    }

    static func present(_ path: String, _ files: FileLayer) throws(FerryError) -> FileAttributes {
        guard let attributes = try files.attributesIfPresent(path) else {
            throw FerryError(
                .notFound, "There is no mapping model at \(path).", remedy: "Check the path.")
        }
        return attributes
    }

    // MARK: Formats

    private mutating func read(_ path: String) throws(FerryError) -> MappingModel {
        let isFolder = try Self.present(path, files).isDirectory
        let real = try files.realPath(path)
        guard !reading.contains(real) else {
            throw FerryError(
                .badMapping, "\(fileName(of: path)) extends itself, directly or through another file.",
                remedy: "Remove one of the \"extends\" keys.")
        }
        reading.append(real)
        let name = Self.name(of: path)
        if isFolder {
            let xml = "\(path)/xcmapping.xml"
            guard FileLayer.parts(of: path).extension == "xcmappingmodel", try files.exists(xml) else {
                throw FerryError(
                    .badMapping, "The folder \(path) is not a mapping model: it has no xcmapping.xml.",
                    remedy: "Name a .xcmappingmodel, a .cdm or a .json file.")
            }
            return try XcodeMappingFile.read(stream(xml), name: name, path: path)
        }
        switch try firstByte(of: path) {
        case UInt8(ascii: "<"): return try XcodeMappingFile.read(stream(path), name: name, path: path)
        case UInt8(ascii: "b"): return try CompiledMappingFile.read(try bytes(of: path), name: name, path: path)
        case UInt8(ascii: "{"):
            let folder = FileLayer.parent(of: path)
            return try JSONMappingFile.read(try bytes(of: path), name: name, path: path, faults: faults) {
                (target) throws(FerryError) in
                try read(target.hasPrefix("/") ? target : "\(folder)/\(target)")
            }
        default:
            throw FerryError(
                .badMapping, "\(path) is not a mapping model (XML, JSON or compiled).",
                remedy: "Name a .xcmappingmodel, a .cdm or a .json file.")
        }
    }

    /// The first byte after white space or a byte order mark, which identifies the format.
    private func firstByte(of path: String) throws(FerryError) -> UInt8? {
        let start = try files.open(path).read(count: 1024, at: 0)
        return start.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    }

    private func bytes(of path: String) throws(FerryError) -> [UInt8] {
        let bytes = try files.read(path, limit: Self.byteLimit)
        fingerprint.update(bytes)
        return bytes
    }

    /// A closure that returns the file's bytes in pieces, at the end an empty one, and adds them to the fingerprint.
    private func stream(_ path: String) throws(FerryError) -> () throws(FerryError) -> [UInt8] {
        let input = try files.open(path)
        let fingerprint = fingerprint
        var offset: Int64 = 0
        return { () throws(FerryError) in
            let bytes = try input.read(count: 64 << 10, at: offset)
            fingerprint.update(bytes)
            offset += Int64(bytes.count)
            return bytes
        }
    }

    /// The file's name without extension; for the XML in a folder, the folder's.
    private static func name(of path: String) -> String {
        let name = fileName(of: path)
        let parent = FileLayer.parent(of: path)
        let isXML = name == "xcmapping.xml" && FileLayer.parts(of: parent).extension == "xcmappingmodel"
        return FileLayer.parts(of: isXML ? parent : name).stem
    }
}

func fileName(of path: String) -> String { FileLayer.name(of: path) }

extension MappingFile {
    /// Reads one mapping model, or all in a folder, in natural order of their names.
    ///
    /// Files that another one extends, JSON files without the keys of a mapping file, and inner folders are skipped.
    ///
    /// - Throws: As ``load(path:files:)``; `.notFound` also if a folder holds no mapping model.
    package static func loadAll(path: String, files: FileLayer = FileLayer()) throws(FerryError) -> [MappingModel] {
        guard try present(path, files).isDirectory, FileLayer.parts(of: path).extension != "xcmappingmodel" else {
            return [try load(path: path, files: files)]
        }
        var loaded: [MappingModel] = []
        for found in try paths(in: path, files: files) { loaded.append(try load(path: found, files: files)) }
        guard !loaded.isEmpty else {
            throw FerryError(
                .notFound, "The folder \(path) contains no mapping model.",
                remedy: """
                    Name a .xcmappingmodel, a .cdm or a .json file, or a folder that contains such files; leave the mapping \
                    model out if every step can be inferred.
                    """)
        }
        let extended = Set(loaded.flatMap(\.extendedPaths))
        return loaded.filter { !extended.contains($0.path) }
    }

    /// The paths of the mapping models in a folder, in natural order of their names.
    package static func paths(in folder: String, files: FileLayer) throws(FerryError) -> [String] {
        let names = try files.list(folder).map(\.name).filter { !$0.hasPrefix(".") }.inOrder(by: naturalOrder)
        var paths: [String] = []
        for name in names {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            switch FileLayer.parts(of: name).extension {
            case "xcmappingmodel", "cdm": paths.append(path)
            case "json" where try isMappingFile(path, files): paths.append(path)
            default: break
            }
        }
        return paths
    }

    /// Whether a JSON file has the keys of a mapping file; invalid JSON needs only `"entityMappings"`.
    private static func isMappingFile(_ path: String, _ files: FileLayer) throws(FerryError) -> Bool {
        guard try files.attributesIfPresent(path)?.isDirectory == false else { return false }
        // Other programs' JSON may be of any size; only a file with one of the words is read whole.
        guard try has(anyOf: ["\"entityMappings\"", "\"destination\"", "\"extends\""], path, files) else {
            return false
        }
        let root: JSONNode
        do {
            root = try JSONNode.parse(try files.read(path, limit: byteLimit))
        } catch let error as FerryError {
            throw error
        } catch {
            return try has(anyOf: ["\"entityMappings\""], path, files)
        }
        guard case .object(let members) = root.value else { return false }
        let keys = Set(members.map(\.key))
        // A report of Ferry beside the models has counts under the same key.
        if keys.contains("outcome") { return false }
        return keys.contains("entityMappings") || keys.isSuperset(of: ["source", "destination"])
            || (keys.contains("extends") && keys.isSubset(of: JSONMappingFile.keys))
    }

    /// Whether a file contains one of a few short words; the file is read in pieces.
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

/// The SHA-256 over all files of one mapping model, in the order of reading.
final class Fingerprint {
    private var hash: SHA256? = SHA256()

    func update(_ bytes: [UInt8]) { hash?.update(bytes) }

    /// Finalizes the hash; may be called once.
    func finish() -> [UInt8] {
        guard let hash = hash.take() else { preconditionFailure("A fingerprint is finished once.") }
        return hash.finalize()
    }
}
