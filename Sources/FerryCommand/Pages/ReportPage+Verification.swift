internal import FerryBase

extension ReportPage {
    func addVerification(to page: inout Page) {
        guard report["error"].isNull else { return }
        let found = report["differences"].elements
        let rows = (report["checked"].whole ?? 0).counting("row")
        if found.isEmpty {
            page.verdict(.good, "No differences in \(rows).")
        } else {
            let total = found.compactMap { $0["count"].whole }.clampedSum
            page.verdict(.bad, "\(total.counting("difference")) in \(rows).")
        }
        page.facts([
            ("Against", report["source"].text), ("Looked at", report["mode"].text), ("Rows", count(report["checked"])),
            (
                "Not recomputed",
                report["notRecomputed"].whole.flatMap { $0 > 0 ? $0.counting("value") : nil }
            ),
        ])
        addDifferences(found, to: &page)
        addTotals(found, to: &page)
    }

    /// The checks that found something, as bars.
    private func addTotals(_ found: [JSON], to page: inout Page) {
        let totals = Dictionary(grouping: found) { $0["check"].text ?? "?" }
            .mapValues { $0.compactMap { $0["count"].whole }.clampedSum }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard let most = totals.first?.value, most > 0, totals.count > 1 else { return }
        page.heading("By check")
        var table = PageTable([.text("Check"), .text("Share of the most"), .number("Differences")])
        for (check, total) in totals {
            table.add([.text(check), PageTable.bar(Double(total) / Double(most)), .text(Quantity.grouped(total))])
        }
        page.table(table)
    }
}
