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

    package func text(width: Int) -> [String] {
        var what = "\(store): \(summary.checked.counting("row"))"
        if let source {
            what =
                "\(store) against \(source): \(summary.checked.counting("row")) compared"
                + (summary.notRecomputed > 0 ? ", \(summary.notRecomputed.counting("value")) not recomputed" : "")
        }
        let added = addedLines(summary.added ?? [])
        guard !summary.differences.isEmpty else { return [Emphasis.good.mark("\(what), no differences.")] + added }
        let table = TextTable(
            [.text("Check"), .text("Entity"), .number("Count"), .text("Example")],
            summary.differences.map { [$0.check.rawValue, $0.entity ?? "", $0.count.grouped, $0.example ?? ""] })
        return [Emphasis.bad.mark("\(what), with differences:"), ""] + table.lines(width: width) + added
    }

    private func addedLines(_ added: [String]) -> [String] {
        guard !added.isEmpty else { return [] }
        let names = added.prefix(8).joined(separator: ", ") + (added.count > 8 ? " and \(added.count - 8) more" : "")
        return [
            "\(source == nil ? "Not Core Data's, and not checked" : "Added to the schema by the app, and not compared"): \(names)."
        ]
    }
}

// MARK: The page

extension VerificationRendering {
    package var page: Page {
        var page = Page(Self.title, subject: store)
        let found = summary.differences
        let rows = summary.checked.counting("row")
        if found.isEmpty {
            page.verdict(.good, "No differences in \(rows).")
        } else {
            let total = found.map(\.count).clampedSum
            page.verdict(.bad, "\(total.counting("difference")) in \(rows).")
        }
        page.facts([
            ("Against", source), ("Checked", mode), ("Rows", summary.checked.grouped),
            ("Not recomputed", summary.notRecomputed > 0 ? summary.notRecomputed.counting("value") : nil),
        ])
        page.differences(found)
        addTotals(to: &page)
        if !found.isEmpty { addNextSteps(to: &page) }
        return page
    }

    /// Says what to do about differences.
    private func addNextSteps(to page: inout Page) {
        let store = ShellWord.quoted(store)
        page.heading("What to do")
        if source != nil {
            page.paragraph(
                "What an app has written since the migration also differs. Compare a store right after its migration.")
            page.paragraph(
                "If nothing has been written since, do not use this store. If there is a snapshot from before the migration, "
                    + "restore it:")
            page.command("ferry rollback \(store)")
            page.paragraph("Then please report the difference, with the command that you ran and the models.")
        } else {
            page.paragraph("These rows do not fit the model of the store's version. To list the damage by kind:")
            page.command("ferry inspect \(store)")
            page.paragraph(
                "A migration treats damaged rows as --damaged says. If the store was whole before a migration and there is a "
                    + "snapshot, restore it:")
            page.command("ferry rollback \(store)")
        }
    }

    /// Adds the checks with differences, as bars.
    private func addTotals(to page: inout Page) {
        let totals = Dictionary(grouping: summary.differences, by: \.check.rawValue)
            .mapValues { $0.map(\.count).clampedSum }
            .inOrder { ($1.value, $0.key) < ($0.value, $1.key) }
        guard let most = totals.first?.value, most > 0, totals.count > 1 else { return }
        page.heading("By check")
        page.table(
            [.text("Check"), .text("Share"), .number("Differences")],
            totals.map { [.text($0.key), Page.bar(Double($0.value) / Double(most)), .text($0.value.grouped)] })
    }
}
