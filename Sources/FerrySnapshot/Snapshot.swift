package import FerryBase
package import FerrySQLite
internal import Foundation

/// What a snapshot is made from: bytes that can be read in order, and again from any offset.
package protocol PageSource {
    var byteCount: Int64 { get }

    /// Fills the buffer with the content from an offset; both lie within ``byteCount``.
    ///
    /// - Throws: Anything; the snapshot then fails with it as its cause and can be resumed.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws
}

extension PageReader: PageSource {}

/// What the manifest of a new snapshot says about its store; nothing of it is interpreted.
package struct SnapshotDescription: Sendable {
    /// Seconds since 1970.
    package var created: Int64
    /// The store's file name.
    package var store: String
    /// The name of its model version; nil when it is unknown.
    package var version: String?
    package var versionHashes: [String: [UInt8]]
    /// Rows per entity.
    package var rows: [String: Int64]
    /// The tool that makes it, with its version.
    package var tool: String
    /// The folder of its external data (`.NAME_SUPPORT`); nil when it has none.
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

/// How a snapshot is made.
package struct SnapshotOptions: Sendable {
    package var form = SnapshotForm.preferred
    /// The form's level.
    package var level = 1
    /// Content bytes per frame: what is done again at most when a snapshot is resumed.
    package var frameBytes: Int64 = 64 << 20
    /// Names the state of the store: an unfinished snapshot is gone on with only when it has the same; nil never is.
    package var fingerprint: String?
    package var progress: ProgressHook?
    package var stop = StopRequest()

    package init(fingerprint: String? = nil) { self.fingerprint = fingerprint }
}

/// A finished snapshot, as its manifest describes it.
package struct Snapshot: Sendable {
    package let folder: String
    /// What its files are named by: `20261120T101500Z-Model2`.
    package let name: String
    /// How its archive is compressed.
    package internal(set) var form = SnapshotForm.zstandard
    /// Nil where its manifest is not whole.
    var head: Manifest.Head?
    /// What is wrong with it as far as its names, sizes and manifest show; only verifying reads the archive.
    package internal(set) var problem: FerryError?

    /// Whether its manifest is whole; else neither its age nor what it holds is known.
    package var isDescribed: Bool { head != nil }
    /// Which one it is of those in its folder, in the order in which they were made, from 1; nil in manifests of earlier
    /// versions, which come before.
    package var sequence: Int64? { head?.sequence }
    /// Seconds since 1970.
    package var created: Int64 { head?.createdSeconds ?? 0 }
    package var version: String? { head?.version }
    /// Bytes of the database.
    package var bytes: Int64 { head?.content.bytes ?? 0 }
    package var compressedBytes: Int64 { head?.archive.bytes ?? 0 }
    package var hasExternalData: Bool { head?.external != nil }

    package var archivePath: String { folder + "/" + name + form.ending }
    package var manifestPath: String { folder + "/" + name + SnapshotNames.manifest }
    package var externalPath: String { folder + "/" + name + SnapshotNames.external }

    /// The time in UTC as names begin with it, `20261120T101500Z`.
    package static func stamp(_ seconds: Int64) -> String {
        SnapshotNames.time(seconds).filter { $0 != "-" && $0 != ":" }
    }
}

/// What the files of a snapshot are called behind its name.
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
        // File names hold 255 bytes; leave room for the time and the endings.
        var name = String(safe)
        while name.utf8.count > 150 { name.removeLast() }
        return name
    }
}

extension FileLayer {
    /// A path with which, for each of the endings, nothing stands: as wanted, else with `-2`, `-3` and so on behind it.
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
