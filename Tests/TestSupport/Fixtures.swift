internal import Foundation

/// The collection of real stores, models and mapping models.
///
/// `FERRY_FIXTURES` names the folder; the default is a folder beside the package. Tests must not open the stores in
/// place, because opening a store can checkpoint its `-wal`. Use ``copyStore(_:into:)``.
package enum Fixtures {
    /// The folder, whether it exists or not.
    package static let root: String =
        ProcessInfo.processInfo.environment["FERRY_FIXTURES"] ?? packageRoot + "/../shared/fixtures"

    /// For `.enabled(if:)`: false only where the folder is missing and `CI=true` does not require it.
    package static let areExpected: Bool =
        FileManager.default.fileExists(atPath: root) || ProcessInfo.processInfo.environment["CI"] == "true"

    /// The reason in the output when fixture tests are skipped.
    package static let skipReason = "the fixtures are not here; FERRY_FIXTURES may name their folder"

    package static func path(_ relative: String) -> String { root + "/" + relative }

    /// The package's folder.
    package static var packageRoot: String {
        var components = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        components.removeLast(3)
        return components.joined(separator: "/")
    }

    /// The paths of all files below the folder that begin like an SQLite database, relative to ``root``, in name order.
    ///
    /// Empty where the folder is missing, so that tests can list their arguments in both cases.
    package static let stores: [String] = items.filter { item in
        let attributes = try? FileManager.default.attributesOfItem(atPath: path(item))
        return attributes?[.type] as? FileAttributeType == .typeRegular && hasDatabaseHeader(path(item))
    }

    /// The relative paths of all files and folders, in order, without the reported failures in `field`, each of which is
    /// a case with a script of its own.
    ///
    /// Empty where the folder is missing.
    package static let items: [String] =
        (FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? [])
        .filter { $0 != "field" && !$0.hasPrefix("field/") }.sorted()

    /// Copies a store with its `-wal` and external data, never its `-shm`.
    ///
    /// - Parameters:
    ///   - relative: The store's path below ``root``.
    ///   - folder: The folder to copy into.
    ///   - name: The copy's file name; nil keeps the original's.
    /// - Returns: The path of the copy's main file.
    /// - Throws: The error of copying a file.
    package static func copyStore(
        _ relative: String, into folder: TemporaryFolder, as name: String? = nil
    ) throws -> String {
        try copyStore(from: path(relative), to: folder.file(name ?? lastComponent(relative)))
    }

    /// Copies a store with its `-wal` and external data, never its `-shm`.
    @discardableResult
    package static func copyStore(from source: String, to copy: String) throws -> String {
        let files = FileManager.default
        for suffix in ["", "-wal"] where suffix.isEmpty || files.fileExists(atPath: source + suffix) {
            try files.copyItem(atPath: source + suffix, toPath: copy + suffix)
            // A copied file must be writable even where the collection is read-only.
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy + suffix)
        }
        if files.fileExists(atPath: supportFolder(of: source)) {
            try files.copyItem(atPath: supportFolder(of: source), toPath: supportFolder(of: copy))
        }
        return copy
    }

    private static func supportFolder(of store: String) -> String {
        let url = URL(fileURLWithPath: store)
        let name = url.deletingPathExtension().lastPathComponent
        return url.deletingLastPathComponent().appendingPathComponent(".\(name)_SUPPORT").path
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    private static func hasDatabaseHeader(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        // Opening a folder succeeds; only reading it fails.
        guard let start = try? file.read(upToCount: 16) else { return false }
        return start == Data("SQLite format 3".utf8) + [0]
    }
}
