internal import FerryBase
internal import Foundation

/// The manifest of a snapshot.
///
/// Valid JSON, written and read line by line, because a store can have as many external files as rows. The first line
/// holds ``Head``, each further line an external file, and the last line the SHA-256 of all bytes before it.
enum Manifest {
    struct Head: Codable, Sendable {
        var ferry = 1
        /// One more than the highest in the folder, whatever the clock; absent in manifests of earlier versions.
        var sequence: Int64?
        var created: String
        var createdSeconds: Int64
        var tool: String
        /// The store's file name.
        var store: String
        /// The store's path from a folder that several stores share; nil in the store's own.
        var place: String?
        var version: String?
        /// Base64, by entity.
        var versionHashes: [String: String]
        var rows: [String: Int64]
        var archive: Archive
        var content: Content
        /// The folder's name, if there is external data.
        var external: String?

        var hashes: [String: [UInt8]] {
            versionHashes.compactMapValues { Data(base64Encoded: $0).map(Array.init) }
        }

        struct Archive: Codable, Sendable {
            var file: String
            /// The compression (``SnapshotForm``); absent in manifests of earlier versions, which had Zstandard only.
            var form: String?
            var bytes: Int64
            /// Nil for a clone, which is made without reading a byte.
            var sha256: String?
            /// Nil for a clone.
            var frames: Int?
            /// The time of a clone's last change, in nanoseconds since 1970; nil for other forms.
            var modified: Int64?

            /// - Throws: ``FerryError`` `.unsupported` for a form of a later version of Ferry.
            func known() throws(FerryError) -> SnapshotForm {
                guard let form else { return .zstandard }
                if let known = SnapshotForm(rawValue: form) { return known }
                throw FerryError(
                    .unsupported, "The archive \(file) has a format that this version of Ferry does not know.",
                    remedy: "Use the version of Ferry that created it, or a newer one.")
            }
        }

        struct Content: Codable, Sendable {
            var bytes: Int64
            /// Nil for a clone.
            var sha256: String?
        }
    }

    /// An external file: its path below the folder, with its content's size and hash.
    struct ExternalFile: Codable {
        var name: String
        var bytes: Int64
        /// Nil beside a clone.
        var sha256: String?
    }

    fileprivate static let openList = ",\"externalFiles\":["
    fileprivate static let closeList = "],"
    fileprivate static let lastLineStart = "\"sha256\":\""
    fileprivate static let lastLineEnd = "\"}"
    /// Many times the size of the entities, hashes and counts of the largest model.
    fileprivate static let longestLine = 16 << 20

    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

/// Writes a manifest from front to end.
struct ManifestWriter: ~Copyable {
    private var output: OutputFile
    private var hash = SHA256()
    private var hasFiles = false
    private let encoder = Manifest.encoder()
    /// Buffered lines, 64 KiB at most.
    private var pending: [UInt8] = []

    private init(_ output: consuming OutputFile) { self.output = output }

    static func begin(_ path: String, head: Manifest.Head, files: FileLayer) throws -> ManifestWriter {
        var writer = ManifestWriter(try files.create(path, mode: 0o600))
        // The following lines continue the JSON object.
        try writer.add([UInt8](writer.encoder.encode(head)).dropLast() + Array(Manifest.openList.utf8))
        return writer
    }

    mutating func add(_ file: Manifest.ExternalFile) throws {
        let separator = hasFiles ? "\n," : "\n"
        hasFiles = true
        try add(Array(separator.utf8) + [UInt8](encoder.encode(file)))
    }

    /// Ends the manifest and makes it durable.
    mutating func finish() throws {
        try add(Array("\n\(Manifest.closeList)\n".utf8))
        try flush()
        var whole = SHA256()
        swap(&whole, &hash)
        try output.write(Manifest.lastLineStart + whole.finalize().hexadecimal + Manifest.lastLineEnd + "\n")
        try output.sync()
        try output.close()
    }

    private mutating func add(_ bytes: [UInt8]) throws {
        pending += bytes
        if pending.count >= 64 << 10 { try flush() }
    }

    private mutating func flush() throws {
        hash.update(pending)
        try output.write(pending)
        pending.removeAll(keepingCapacity: true)
    }
}

extension Manifest {
    /// Reads a manifest, checks its own hash, and passes the external files to the body.
    ///
    /// The hash comes last, so the body runs before its check; for a check first, read once without a body.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged` when the bytes are not those that were written.
    static func read(
        _ path: String, files: FileLayer, _ body: (ExternalFile) throws -> Void = { _ in }
    ) throws -> Head {
        let input = try files.open(path)
        var lines = LineReader(input)
        var hash = SHA256()
        let decoder = JSONDecoder()
        var head: Head?
        var isListClosed = false
        while let line = try lines.next(limit: longestLine) {
            if isListClosed {
                guard line == Array((lastLineStart + hash.finalize().hexadecimal + lastLineEnd).utf8), let head,
                    try lines.next(limit: 1) == nil
                else { throw damaged(path, "its content has changed") }
                return head
            }
            hash.update(line)
            hash.update([UInt8(ascii: "\n")])
            if head == nil {
                let end = Array(openList.utf8)
                guard line.count > end.count, line[(line.count - end.count)...].elementsEqual(end) else {
                    throw damaged(path, "it does not start like a manifest")
                }
                head = try decode(Head.self, from: line.dropLast(end.count) + [UInt8(ascii: "}")], decoder, path)
            } else if line == Array(closeList.utf8) {
                isListClosed = true
            } else {
                let text = line.first == UInt8(ascii: ",") ? line.dropFirst() : line[...]
                try body(decode(ExternalFile.self, from: text, decoder, path))
            }
        }
        throw damaged(path, "it is truncated")
    }

    private static func decode<Part: Decodable>(
        _ type: Part.Type, from bytes: some Sequence<UInt8>, _ decoder: JSONDecoder, _ path: String
    ) throws(FerryError) -> Part {
        do {
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            var failure = damaged(path, "one of its lines is not readable")
            failure.cause = error
            throw failure
        }
    }

    fileprivate static func damaged(_ path: String, _ how: String) -> FerryError {
        FerryError(
            .snapshotDamaged, "The manifest \(path) is damaged: \(how).", remedy: "Use another snapshot.")
    }
}

/// Reads the lines of a file, without line ends.
private struct LineReader: ~Copyable {
    private let input: InputFile
    private var offset: Int64 = 0
    private var buffer: [UInt8] = []
    private var position = 0

    init(_ input: consuming InputFile) { self.input = input }

    /// The next line, or nil at the end of the file; the last line needs no line end.
    ///
    /// - Throws: ``FerryError`` `.snapshotDamaged` when the line is longer than the limit.
    mutating func next(limit: Int) throws(FerryError) -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if position == buffer.count {
                buffer = try input.read(count: 64 << 10, at: offset)
                offset += Int64(buffer.count)
                position = 0
                if buffer.isEmpty { return line.isEmpty ? nil : line }
            }
            let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n"))
            line += buffer[position..<(end ?? buffer.count)]
            guard line.count <= limit else {
                throw Manifest.damaged(input.path, "it has a line of more than \(limit) bytes")
            }
            if let end {
                position = end + 1
                return line
            }
            position = buffer.count
        }
    }
}
