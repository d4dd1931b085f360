internal import FerryBase
internal import FerryEngine
internal import FerrySQLite
internal import FerryStore

/// Damaged pages of the store: no other check misses rows that a b-tree no longer reaches.
struct PagesCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    mutating func check() throws {
        guard input.writesRows else { return }
        let found = try connection.damagedPages(only: input.checkedTables)
        guard let first = found.first else { return }
        let what =
            "The file \(input.path) is damaged: \(found.count == 1 ? first : "\(first); \(found.count - 1) more findings")"
        let recover =
            "Restore a backup or a snapshot, or recover what is left into a new file with .recover of the sqlite3 shell and "
            + "migrate that"
        let isCopied = !isInPlace || isCopiedLater
        let why: String
        let also: Remedy
        switch options.damaged {
        case .refuse where isCopied:
            why = " Rows may be unreachable."
            also = "; \(setting: .damaged, .choice("drop")) continues without the unreachable rows"
        case .refuse:
            why = " Rows may be unreachable."
            also = "; \(setting: .damaged, .choice("keep")) continues and leaves the damage as it is"
        case .drop where isCopied:
            warn(
                .damagedPages, "\(what). Unreachable rows are left out and cannot be counted.",
                about: .init(path: input.path))
            // The pages do not show the entity of the rows.
            noteLoss("Damaged pages", rows: nil, because: "pages of the store are inconsistent")
            return
        case .keep where !isCopied:
            warn(.damagedPages, "\(what). That stays as it is.", about: .init(path: input.path))
            return
        case .keep:
            why = " A copy cannot keep that."
            also = ", or leave it out with \(setting: .damaged, .choice("drop"))"
        case .drop:
            why = " A migration in place cannot leave it out."
            also = ", or leave it as it is with \(setting: .damaged, .choice("keep"))"
        }
        refuse(FerryError(.storeDamaged, "\(what).\(why)", remedy: "\(recover)\(also)."))
    }
}
