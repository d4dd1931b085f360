package import Ferry
internal import FerryBase

/// The result of `verify`.
package struct VerificationRendering: CommandReport {
    static let title = "Verification"

    let summary: VerificationSummary
    let store: String
    /// The store that ``store`` was migrated from; nil if it was checked on its own.
    let source: String?
    let isSample: Bool

    package init(summary: VerificationSummary, store: String, source: String?, isSample: Bool = false) {
        (self.summary, self.store, self.source, self.isSample) = (summary, store, source, isSample)
    }

    private var mode: String { source == nil ? "store" : isSample ? "sample" : "full" }

    package var json: JSON {
        [
            "mode": mode, "checked": summary.checked,
            "notRecomputed": summary.notRecomputed, "differences": MigrationRendering.json(summary.differences),
            "store": store, "source": source, "added": summary.added,
        ]
    }

    package var report: Report {
        var what = "\(store): \(summary.checked.counting("row"))"
        if let source {
            what =
                "\(store) against \(source): \(summary.checked.counting("row")) compared"
                + (summary.notRecomputed > 0 ? ", \(summary.notRecomputed.counting("value")) not recomputed" : "")
        }
        let added = addedLines(summary.added ?? []).map(Report.Part.paragraph)
        if summary.differences.isEmpty { return Report(Self.title, .good, "\(what), no differences.", added) }
        return Report(
            Self.title, .bad, "\(what), with differences:",
            [.space, .differences(summary.differences)] + added + [.heading("What to do"), .remedy(advice)])
    }

    private var advice: String {
        let store = ShellWord.quoted(store)
        guard source != nil else {
            return """
                These rows do not fit the model of the store's version. To list the damage by kind:
                ferry inspect \(store)
                A migration treats damaged rows as --damaged says. If the store was whole before a migration, restore it:
                ferry rollback \(store)
                """
        }
        return """
            What an app has written since the migration also differs. Compare a store right after its migration.
            If nothing has been written since, do not use this store, report the difference, and restore the snapshot:
            ferry rollback \(store)
            """
    }

    private func addedLines(_ added: [String]) -> [String] {
        guard !added.isEmpty else { return [] }
        let names = added.prefix(8).joined(separator: ", ") + (added.count > 8 ? " and \(added.count - 8) more" : "")
        return [
            "\(source == nil ? "Not Core Data's, and not checked" : "Added to the schema by the app, and not compared"): \(names)."
        ]
    }
}
