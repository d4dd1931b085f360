internal import FerryBase
internal import FerrySQLite
internal import FerryStore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// What the check of a store's pages has found, kept in the run folder until the run itself begins.
///
/// The pages of a large store take minutes; a call that is stopped after them is not to make the next one read them again.
struct PageMark: Codable {
    /// The store that was checked.
    var store: Fingerprint
    var found: [String]

    static let fileName = "pages.json"

    /// - Returns: Nil when nothing is known of the store as it is now.
    static func read(in folder: RunFolder, of store: Fingerprint, files: FileLayer) throws -> PageMark? {
        let path = folder.path + "/" + fileName
        guard try files.exists(path) else { return nil }
        do {
            let mark = try JSONDecoder().decode(PageMark.self, from: Data(files.read(path)))
            return mark.store.compare(with: store) == .same ? mark : nil
        } catch is DecodingError {
            // Of another version of Ferry, or torn: the pages are read again.
            return nil
        }
    }

    func save(in folder: RunFolder, files: FileLayer) throws {
        try files.replace(folder.path + "/" + Self.fileName, with: [UInt8](JSONEncoder().encode(self)))
    }
}

extension MigrationRun {
    /// Walks over the store's pages, unless an earlier call has checked them: what the plan and preflight ask of the rows
    /// is counted on the way.
    func walkPages(of store: OpenedStore, _ layout: StoreLayout, _ folder: RunFolder?) throws -> PageWalk? {
        let now = try store.sourceGuard.fingerprint()
        if let folder, try PageMark.read(in: folder, of: now, files: files) != nil { return nil }
        // What is over in no time need not be told, least of all before a refusal.
        if try store.contentBytes() > Self.smallStoreBytes {
            relay.send(.progress(ProgressUpdate(phase: .preflight, subject: "pages of the store")))
        }
        let time = Clock.nanoseconds()
        defer { walkSeconds = Clock.seconds(since: time) }
        return try PageWalk(of: layout, on: store.sourceGuard.connection, stop: stop)
    }

    /// Checks the store's pages, unless an earlier call did.
    ///
    /// - Parameters:
    ///   - store: The store, under its guard.
    ///   - walk: The walk of this call, where there was one.
    ///   - folder: The run's, made here where the check took so long that it is worth keeping.
    /// - Returns: What does not fit.
    /// - Throws: ``DatabaseError``, ``FerryError``.
    func checkPages(
        _ store: OpenedStore, after walk: PageWalk? = nil, _ folder: inout RunFolder?
    ) throws -> [String] {
        let now = try store.sourceGuard.fingerprint()
        if let known = try folder.flatMap({ try PageMark.read(in: $0, of: now, files: files) }) { return known.found }
        if walk == nil { relay.send(.progress(ProgressUpdate(phase: .preflight, subject: "pages of the store"))) }
        let time = Clock.nanoseconds()
        let found = try store.sourceGuard.connection.damagedPages(after: walk, stop: stop)
        guard walkSeconds + Clock.seconds(since: time) >= configuration.leastMarkedSeconds else { return found }
        let place = try folder ?? RunFolder(path: place.runFolder, files: files)
        folder = place
        try PageMark(store: now, found: found).save(in: place, files: files)
        stop.unitIsDone()
        try stop.check()
        return found
    }
}
