internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Pages of the store that do not fit together: nothing else misses what a b-tree does not reach any more.
extension Preflight {
    /// - Returns: Whether the rows can be looked at.
    mutating func findDamagedPages() throws -> Bool {
        let found = try damagedPages ?? connection.damagedPages(after: planned.walk)
        guard let first = found.first else { return true }
        let what =
            "The file \(store.path) is damaged: \(found.count == 1 ? first : "\(first); \(found.count - 1) more findings")"
        let recover =
            "Restore a backup or a snapshot, or get what is left into a new file with .recover of the sqlite3 shell and "
            + "migrate that"
        let isCopied = !isInPlace || isCopiedLater
        let why: String
        let also: Remedy
        switch configuration.damaged {
        case .refuse where isCopied:
            why = " Rows may be out of reach."
            also = "; \(setting: .damaged, .choice("drop")) goes on without what cannot be reached"
        case .refuse:
            why = " Rows may be out of reach."
            also = "; \(setting: .damaged, .choice("keep")) goes on and leaves the damage as it is"
        case .drop where isCopied:
            warn(
                .damagedPages, "\(what). What cannot be reached any more is left out; nothing can count it.",
                about: .init(path: store.path))
            // The pages do not tell of which entity their rows are.
            lose("Damaged pages", rows: nil, because: "pages of the store do not fit together")
            return true
        case .keep where !isCopied:
            warn(.damagedPages, "\(what). That stays as it is.", about: .init(path: store.path))
            return true
        case .keep:
            why = " No copy can keep that."
            also = ", or leave it out with \(setting: .damaged, .choice("drop"))"
        case .drop:
            why = " In place nothing can be left out of it."
            also = ", or leave it as it is with \(setting: .damaged, .choice("keep"))"
        }
        refusals.append(FerryError(.storeDamaged, "\(what).\(why)", remedy: "\(recover)\(also)."))
        return false
    }
}

extension FerryError {
    /// An error that was met before anything was done: one of pages that cannot be read is the store's.
    static func beforeRun(_ error: any Error, on path: String) -> FerryError {
        let wrapped = wrapping(error, on: path)
        guard let cause = (error as? DatabaseError) ?? (wrapped.cause as? DatabaseError), cause.isCorrupt else {
            return wrapped
        }
        return FerryError(
            .storeDamaged, "The file \(path) is damaged: SQLite cannot read it (\(cause.message)).",
            remedy: "Restore a backup or a snapshot, or get what is left into a new file with .recover of the sqlite3 "
                + "shell and migrate that.", cause: cause)
    }
}

/// What the check of a store's pages has found, kept in the run folder until the run itself begins.
///
/// The pages of a large store take minutes; a call that is stopped after them is not to make the next one read them again.
struct PageMark: Codable {
    /// The store that was checked.
    var store: Fingerprint
    var found: [String]

    static let fileName = "pages.json"

    /// Nil when nothing is known of the store as it is now; then the pages are read again.
    static func read(in folder: RunFolder, of store: Fingerprint, files: FileLayer) throws -> PageMark? {
        let mark = try files.decoded(PageMark.self, at: folder.path + "/" + fileName)
        return mark?.store.compare(with: store) == .same ? mark : nil
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

    /// Checks the store's pages, unless an earlier call did; what does not fit.
    ///
    /// The run's folder is made where the check took so long that it is worth keeping.
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
