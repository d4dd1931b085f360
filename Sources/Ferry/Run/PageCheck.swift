internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// The result of a check of a store's pages, which takes minutes, kept for the next call until the run begins.
struct PageCheck: Codable {
    var store: Fingerprint
    var found: [String]

    static let fileName = "pages.json"

    /// Reads the result; nil if there is none for the store's present state, and then the pages must be checked again.
    static func read(in folder: RunFolder, of store: Fingerprint, files: FileLayer) throws -> PageCheck? {
        let mark = try files.decoded(PageCheck.self, at: folder.path + "/" + fileName)
        return mark?.store.compare(with: store) == .same ? mark : nil
    }

    func save(in folder: RunFolder, files: FileLayer) throws {
        try files.replace(folder.path + "/" + Self.fileName, with: [UInt8](JSONEncoder().encode(self)))
    }
}

extension MigrationRun {
    /// The damage in the store's pages, found now or by an earlier call; makes the run folder to keep a slow result.
    ///
    /// With `tables`, only their pages are read. A stop request interrupts the check.
    func checkPages(
        _ store: OpenedStore, only tables: Set<String>? = nil, _ folder: inout RunFolder?
    ) throws -> [String] {
        let now = try store.sourceGuard.fingerprint()
        if let known = try folder.flatMap({ try PageCheck.read(in: $0, of: now, files: files) }) { return known.found }
        // A short check needs no progress event, least of all before a refusal.
        if try store.contentBytes() > configuration.thresholds.smallStoreBytes {
            relay.send(.progress(ProgressUpdate(phase: .preflight, subject: "pages of the store")))
        }
        let time = Clock.nanoseconds()
        let found = try store.sourceGuard.connection.damagedPages(only: tables)
        // A later call may need the pages of other tables.
        guard tables == nil, Clock.seconds(since: time) >= configuration.thresholds.leastMarkedSeconds else {
            return found
        }
        let place = try folder ?? RunFolder(path: place.runFolder, files: files)
        folder = place
        try PageCheck(store: now, found: found).save(in: place, files: files)
        stop.unitIsDone()
        try stop.check()
        return found
    }
}
