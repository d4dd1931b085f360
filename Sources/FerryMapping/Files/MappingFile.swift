package import FerryBase
internal import FerryModel

/// Reads mapping models of every format.
package struct MappingFile {
    /// A mapping file larger than this is not one; Xcode's are streamed and have no limit.
    static let byteLimit = 64 << 20

    private let files: FileLayer
    private let fingerprint = Fingerprint()
    /// The real paths of the files being read, the outermost first.
    private var reading: [String] = []

    private init(files: FileLayer) { self.files = files }

    // MARK: Entry points

    /// Reads one mapping model: `.xcmappingmodel` (the folder or its XML), `.cdm`, or Ferry's JSON.
    ///
    /// - Throws: `.notFound` when nothing is there; `.badMapping` or `.badExpression` with file, line and path of what is
    ///   wrong in it.
    package static func load(path: String, files: FileLayer = FileLayer()) throws(FerryError) -> MappingModel {
        var file = MappingFile(files: files)
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
            guard Self.fileExtension(of: path) == "xcmappingmodel", try files.exists(xml) else {
                throw FerryError(
                    .badMapping, "The folder \(path) is no mapping model: it has no xcmapping.xml.",
                    remedy: "Name a .xcmappingmodel, a .cdm or a .json file.")
            }
            return try XcodeMappingFile.read(stream(xml), name: name, path: path)
        }
        switch try firstByte(of: path) {
        case UInt8(ascii: "<"): return try XcodeMappingFile.read(stream(path), name: name, path: path)
        case UInt8(ascii: "b"): return try CompiledMappingFile.read(try bytes(of: path), name: name, path: path)
        case UInt8(ascii: "{"):
            let folder = FileLayer.parent(of: path)
            return try JSONMappingFile.read(try bytes(of: path), name: name, path: path) {
                (target) throws(FerryError) in
                try read(target.hasPrefix("/") ? target : "\(folder)/\(target)")
            }
        default:
            throw FerryError(
                .badMapping, "\(path) is no mapping model: it is neither XML, nor JSON, nor a compiled mapping model.",
                remedy: "Name a .xcmappingmodel, a .cdm or a .json file.")
        }
    }

    /// The first byte that is no white space or byte order mark, which tells the formats apart.
    private func firstByte(of path: String) throws(FerryError) -> UInt8? {
        let start = try files.open(path).read(count: 1024, at: 0)
        return start.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    }

    private func bytes(of path: String) throws(FerryError) -> [UInt8] {
        let bytes = try files.read(path, limit: Self.byteLimit)
        fingerprint.update(bytes)
        return bytes
    }

    private func stream(_ path: String) throws(FerryError) -> MappingFileStream {
        MappingFileStream(try files.open(path), fingerprint: fingerprint)
    }

    // MARK: Names

    /// The file's name without extension; the folder's, for the XML inside it.
    private static func name(of path: String) -> String {
        let name = fileName(of: path)
        let parent = FileLayer.parent(of: path)
        let named =
            name == "xcmapping.xml" && fileExtension(of: parent) == "xcmappingmodel" ? fileName(of: parent) : name
        let end = named.lastIndex(of: ".") ?? named.endIndex
        return String(end == named.startIndex ? named[...] : named[..<end])
    }

    static func fileExtension(of path: String) -> String {
        let name = fileName(of: path)
        return name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    }
}

/// The last name of a path, as messages show it.
func fileName(of path: String) -> String { FileLayer.name(of: path) }
