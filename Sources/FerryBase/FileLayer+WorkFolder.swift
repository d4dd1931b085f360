#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension FileLayer {
    /// Runs the body with a folder that only this user may enter, and removes the folder with all that is in it.
    ///
    /// The folder is locked. One that a killed process has left is removed by the next call of the same name in the same
    /// parent folder.
    ///
    /// - Parameters:
    ///   - name: What the folder's name begins with.
    ///   - parent: Where the folder is made.
    ///   - body: Is given the folder's path.
    /// - Returns: What the body returns.
    /// - Throws: ``FerryError`` `.fileFailed`; what the body throws.
    package func withWorkFolder<Result>(
        named name: String, in parent: String, _ body: (String) throws -> Result
    ) throws -> Result {
        do { try removeWorkFolders(named: name, in: parent) } catch {
            // What is left behind is a matter of tidiness: it must not keep the work from being done.
        }
        while true {
            let folder = try makeWorkFolder(named: name, in: parent)
            do {
                // Nil, or nothing there any more: another call took the folder for a left one.
                guard let lock = try lockIfPresent(folder) else { continue }
                defer { withExtendedLifetime(lock) {} }
                let result = try body(folder)
                try removeLocked(folder)
                return result
            } catch {
                // The first error is the one to report.
                do { try removeLocked(folder) } catch {}
                throw error
            }
        }
    }

    private static let lockName = "/lock"
    private static let removedEnding = ".removed"

    /// Removes a folder whose lock this call holds.
    ///
    /// It loses its name first: while its files go, its own among them, no other call finds a lock to be taken at the old
    /// place, neither one that has just made the folder nor one that looks for left ones.
    private func removeLocked(_ folder: String) throws(FerryError) {
        var removed = folder
        if !folder.hasSuffix(Self.removedEnding) {
            removed += Self.removedEnding
            try rename(folder, to: removed)
        }
        do throws(FerryError) {
            try removeTree(removed)
        } catch {
            // Another call that found it without its lock may have made one, and removes the rest.
            guard try holdsNothing(removed) else { throw error }
        }
    }

    private func holdsNothing(_ folder: String) throws(FerryError) -> Bool {
        do throws(FerryError) {
            return try firstEntries(of: folder, limit: 2).allSatisfy { "/" + $0.name == Self.lockName }
        } catch {
            if error.code == .notFound { return true }
            throw error
        }
    }

    private func lockIfPresent(_ folder: String) throws(FerryError) -> FileLock? {
        do throws(FerryError) {
            return try lock(folder + Self.lockName)
        } catch {
            if error.code == .notFound, try !exists(folder) { return nil }
            throw error
        }
    }

    private func makeWorkFolder(named name: String, in parent: String) throws(FerryError) -> String {
        try perform("make a folder in \(parent)") { () throws(SystemError) in
            var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
            let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
            guard made else { throw .last }
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            faults?.tell(.makesFolder(path))
            return path
        }
    }

    /// Removes folders of this user that no process holds.
    private func removeWorkFolders(named name: String, in parent: String) throws {
        var left: [String] = []
        try forEachEntry(in: parent) { entry in
            // A few at a time: whatever else is in a folder for temporary files is none of ours.
            guard left.count < 64, entry.isDirectory, entry.name.hasPrefix(name + "-") else { return }
            left.append(parent + "/" + entry.name)
        }
        for folder in left where try attributesIfPresent(folder)?.owner == geteuid() {
            guard let lock = try lockIfPresent(folder) else { continue }
            try removeLocked(folder)
            withExtendedLifetime(lock) {}
        }
    }
}
