package import FerryBase
package import FerrySQLite
internal import Foundation

/// The content of a snapshot: bytes that can be read in order, and again from any offset.
package protocol PageSource {
    var byteCount: Int64 { get }

    /// Fills the buffer with the content at an offset; both are within ``byteCount``.
    ///
    /// - Throws: Any error; it becomes the cause of the snapshot's failure, and the snapshot can be resumed.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws
}

extension PageReader: PageSource {}

/// The facts about a store for the manifest of its snapshot, which does not interpret them.
package struct SnapshotDescription: Sendable {
    /// Seconds since 1970.
    package var created: Int64
    /// The store's file name.
    package var store: String
    /// The name of its model version; nil if it is unknown.
    package var version: String?
    package var versionHashes: [String: [UInt8]]
    /// Row counts by entity.
    package var rows: [String: Int64]
    /// The tool that makes the snapshot, with its version.
    package var tool: String
    /// The folder of the store's external data (`.NAME_SUPPORT`); nil if there is none.
    package var externalFolder: String?

    package init(
        created: Int64, store: String, version: String?, versionHashes: [String: [UInt8]] = [:],
        rows: [String: Int64] = [:], tool: String, externalFolder: String? = nil
    ) {
        self.created = created
        self.store = store
        self.version = version
        self.versionHashes = versionHashes
        self.rows = rows
        self.tool = tool
        self.externalFolder = externalFolder
    }
}

/// The options of making a snapshot.
package struct SnapshotOptions: Sendable {
    package var form = SnapshotForm.preferred
    /// A level of the form.
    package var level = 1
    /// The bytes of content in a frame, which one thread compresses: with a half of it archives are 1 % larger, and with
    /// the double, half as many threads fit into the same memory.
    package static let usualFrameBytes: Int64 = 512 << 10
    /// The same frames make the same archive; only tests use other ones.
    package var frameBytes = usualFrameBytes
    /// Content bytes that become durable at a time: a resumed snapshot repeats at most this much.
    package var unitBytes: Int64 = 64 << 20
    /// The limit of the memory that the threads share.
    package var memory = MemoryBudget()
    package var processors = ProcessInfo.processInfo.activeProcessorCount
    /// The state of the store: an unfinished snapshot is resumed only at an equal one; nil is never equal.
    package var fingerprint: String?
    package var progress: ProgressHook?
    package var stop = StopRequest()

    package init(fingerprint: String? = nil) { self.fingerprint = fingerprint }
}

/// A finished snapshot, as its manifest describes it.
package struct Snapshot: Sendable {
    package let folder: String
    /// The base name of its files: `20261120T101500Z-Model2`.
    package let name: String
    /// The form in which it keeps the database.
    package internal(set) var form = SnapshotForm.zstandard
    /// Nil if its manifest is damaged.
    var head: Manifest.Head?
    /// Damage that shows in names, sizes and the manifest; only verifying reads the archive.
    package internal(set) var problem: FerryError?

    /// Whether its manifest is intact; otherwise neither its age nor its content is known.
    package var isDescribed: Bool { head != nil }
    /// The number in its folder, in the order of creation, from 1; nil in manifests of earlier versions.
    package var sequence: Int64? { head?.sequence }
    /// Seconds since 1970.
    package var created: Int64 { head?.createdSeconds ?? 0 }
    package var version: String? { head?.version }
    package var versionHashes: [String: [UInt8]] { head?.hashes ?? [:] }
    /// Bytes of the database.
    package var bytes: Int64 { head?.content.bytes ?? 0 }
    /// The bytes of the archive; a clone shares its blocks with the store, and takes space for those that change only.
    package var compressedBytes: Int64 { head?.archive.bytes ?? 0 }
    package var hasExternalData: Bool { head?.external != nil }

    package var archivePath: String { path(as: form) }
    package var manifestPath: String { folder + "/" + name + SnapshotNames.manifest }
    package var externalPath: String { folder + "/" + name + SnapshotNames.external }

    func path(as form: SnapshotForm) -> String { folder + "/" + name + form.ending }

    /// Whether a path names the snapshot's archive, or named it before the snapshot was compressed.
    package func isArchive(_ path: String?) -> Bool { path.map(Self.name(ofArchive:)) == name }

    /// The name of the snapshot to which an archive or a manifest belongs, by its path.
    package static func name(ofArchive path: String) -> String {
        let name = FileLayer.name(of: path)
        let endings = SnapshotForm.allCases.map(\.ending) + [SnapshotNames.manifest]
        return endings.first(where: name.hasSuffix).map { String(name.dropLast($0.count)) } ?? name
    }

    /// The time in UTC at the beginning of names, `20261120T101500Z`.
    package static func stamp(_ seconds: Int64) -> String {
        SnapshotNames.time(seconds).filter { $0 != "-" && $0 != ":" }
    }
}

/// The endings of a snapshot's files after its name.
enum SnapshotNames {
    static let manifest = ".json"
    static let external = "_SUPPORT"
    static let partialManifest = ".json.new"
    static let partialState = ".partial.json"

    /// The time in UTC, `2026-11-20T10:15:00Z`.
    static func time(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// A version's name as part of a file name.
    static func file(version: String?) -> String {
        guard let version else { return "unknown" }
        let safe = version.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "/", "\\", ":", "\0", "*", "?", "\"", "<", ">", "|": "_"
            default: scalar.value < 32 ? "_" : Character(scalar)
            }
        }
        // File names have at most 255 bytes; the time and the endings need some.
        var name = String(safe)
        while name.utf8.count > 150 { name.removeLast() }
        return name
    }
}

extension FileLayer {
    /// A path that is free with each ending: the wanted one, else with `-2`, `-3` and so on appended.
    package func freePath(_ wanted: String, endings: [String] = [""]) throws -> String {
        var path = wanted
        var number = 1
        while try endings.contains(where: { try exists(path + $0) }) {
            number += 1
            path = "\(wanted)-\(number)"
        }
        return path
    }
}
