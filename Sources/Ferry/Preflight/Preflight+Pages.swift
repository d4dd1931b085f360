internal import FerryBase
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// Damaged pages of the store: no other check misses rows that a b-tree no longer reaches.
extension Preflight {
    /// - Returns: Whether the rows can be read.
    mutating func findDamagedPages() throws -> Bool {
        let found = try damagedPages ?? connection.damagedPages(only: planned.checkedTables)
        guard let first = found.first else { return true }
        let what =
            "The file \(store.path) is damaged: \(found.count == 1 ? first : "\(first); \(found.count - 1) more findings")"
        let recover =
            "Restore a backup or a snapshot, or recover what is left into a new file with .recover of the sqlite3 shell and "
            + "migrate that"
        let isCopied = !isInPlace || isCopiedLater
        let why: String
        let also: Remedy
        switch configuration.damaged {
        case .refuse where isCopied:
            why = " Rows may be unreachable."
            also = "; \(setting: .damaged, .choice("drop")) continues without the unreachable rows"
        case .refuse:
            why = " Rows may be unreachable."
            also = "; \(setting: .damaged, .choice("keep")) continues and leaves the damage as it is"
        case .drop where isCopied:
            warn(
                .damagedPages, "\(what). Unreachable rows are left out and cannot be counted.",
                about: .init(path: store.path))
            // The pages do not show the entity of the rows.
            noteLoss("Damaged pages", rows: nil, because: "pages of the store are inconsistent")
            return true
        case .keep where !isCopied:
            warn(.damagedPages, "\(what). That stays as it is.", about: .init(path: store.path))
            return true
        case .keep:
            why = " A copy cannot keep that."
            also = ", or leave it out with \(setting: .damaged, .choice("drop"))"
        case .drop:
            why = " A migration in place cannot leave it out."
            also = ", or leave it as it is with \(setting: .damaged, .choice("keep"))"
        }
        refusals.append(FerryError(.storeDamaged, "\(what).\(why)", remedy: "\(recover)\(also)."))
        return false
    }
}

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
