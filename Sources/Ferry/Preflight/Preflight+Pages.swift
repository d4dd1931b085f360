internal import FerryBase
internal import FerrySQLite

/// Pages of the store that do not fit together: nothing else misses what a b-tree does not reach any more.
extension Preflight {
    /// What stands for an entity where damaged pages do not tell of which one their rows are.
    static let pages = "Damaged pages"

    /// - Returns: Whether the rows can be looked at.
    func findDamagedPages(_ outcome: inout PreflightOutcome) throws -> Bool {
        let found = try damagedPages ?? store.sourceGuard.connection.damagedPages(after: walk)
        guard let first = found.first else { return true }
        let what =
            "The file \(store.path) is damaged: \(found.count == 1 ? first : "\(first); \(found.count - 1) more findings")"
        let recover =
            "Restore a backup or a snapshot, or get what is left into a new file with .recover of the sqlite3 shell and "
            + "migrate that"
        let refusal = { (why: String, also: Remedy) in
            FerryError(.storeDamaged, "\(what).\(why)", remedy: "\(recover)\(also).")
        }
        let isCopied = !isInPlace || isCopiedLater
        switch configuration.damaged {
        case .refuse where isCopied:
            outcome.refusals.append(
                refusal(
                    " Rows may be out of reach.",
                    "; \(setting: .damaged, .choice("drop")) goes on without what cannot be reached"))
        case .refuse:
            outcome.refusals.append(
                refusal(
                    " Rows may be out of reach.",
                    "; \(setting: .damaged, .choice("keep")) goes on and leaves the damage as it is"))
        case .drop where isCopied:
            outcome.findings.warnings.append(
                FerryWarning(
                    .damagedPages, "\(what). What cannot be reached any more is left out; nothing can count it.",
                    about: .init(path: store.path)))
            outcome.lost(Self.pages, nil, rows: nil, step, "pages of the store do not fit together")
            return true
        case .keep where !isCopied:
            outcome.findings.warnings.append(
                FerryWarning(.damagedPages, "\(what). That stays as it is.", about: .init(path: store.path)))
            return true
        case .keep:
            outcome.refusals.append(
                refusal(" No copy can keep that.", ", or leave it out with \(setting: .damaged, .choice("drop"))"))
        case .drop:
            outcome.refusals.append(
                refusal(
                    " In place nothing can be left out of it.",
                    ", or leave it as it is with \(setting: .damaged, .choice("keep"))"))
        }
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
