internal import FerryBase

extension ReportPage {
    func addFleet(to page: inout Page) {
        let outcomes = report["outcomes"].elements
        let reports = report["reports"].whole ?? 0
        func stores(_ words: [String]) -> Int64 {
            outcomes.filter { words.contains($0["outcome"].text ?? "") }.compactMap { $0["stores"].whole }.clampedSum
        }
        let (failed, refused, stopped) = (stores(["failed"]), stores(["refused"]), stores(["resumable"]))
        let broken = report["broken"].whole ?? 0
        let unreadable = report["unreadable"].whole ?? 0
        let done = stores(["migrated", "copied", "upToDate", "rehearsed"])
        let words = [
            "\(Quantity.grouped(done)) of \(reports.counting("store")) done",
            failed > 0 ? "\(Quantity.grouped(failed)) failed" : nil,
            refused > 0 ? "\(Quantity.grouped(refused)) refused" : nil,
            stopped > 0 ? "\(Quantity.grouped(stopped)) stopped" : nil,
            broken > 0 ? "\(Quantity.grouped(broken)) without a whole report" : nil,
            unreadable > 0 ? "\(unreadable.counting("path")) not read" : nil,
        ].compactMap { $0 }
        let verdict: Page.Verdict = failed + refused + unreadable > 0 ? .bad : stopped + broken > 0 ? .caution : .good
        page.verdict(verdict, words.joined(separator: ", ") + ".")
        page.facts([
            ("Objects", report["rows"].whole.map(Quantity.grouped)), ("Time of all", seconds(report["seconds"])),
            ("Most memory", bytes(report["peakResidentBytes"])),
        ])
        page.heading("Outcomes")
        let most = Double(outcomes.compactMap { $0["stores"].whole }.max() ?? 1)
        var table = PageTable([
            .text("Outcome"), .text("Share of the most"), .number("Stores"), .number("Objects"), .number("Time"),
            .number("Gone on with"),
        ])
        for outcome in outcomes {
            let word = outcome["outcome"].text ?? "?"
            table.add([
                .text(FleetSum.words[word] ?? word), PageTable.bar((outcome["stores"].number ?? 0) / most),
                .text(count(outcome["stores"])), .text(count(outcome["rows"])),
                .text(seconds(outcome["seconds"]) ?? "?"),
                .text(count(outcome["resumed"])),
            ])
        }
        page.table(table)
        addReasons(to: &page)
        addSlowest(to: &page)
        page.list("Without a whole report, as a killed process leaves", texts(report["brokenExamples"]))
        page.list("Could not be read", report["unreadableExamples"].elements.compactMap { $0["message"].text })
    }

    private func addReasons(to page: inout Page) {
        let reasons = report["reasons"].elements
        guard !reasons.isEmpty else { return }
        page.heading("Reasons")
        var table = PageTable([.text("Outcome"), .text("Reason"), .number("Stores"), .text("For example")])
        for reason in reasons {
            let word = reason["outcome"].text ?? "?"
            table.add([
                FleetSum.words[word] ?? word, reason["code"].text ?? "", count(reason["stores"]),
                texts(reason["examples"]).joined(separator: ", "),
            ])
        }
        page.table(table)
    }

    private func addSlowest(to page: inout Page) {
        let slowest = report["slowest"].elements
        let most = slowest.compactMap { $0["seconds"].number }.max() ?? 0
        guard most > 0 else { return }
        page.heading("Took longest")
        var table = PageTable([.text("Store"), .text("Time"), .number("Seconds"), .number("Objects")])
        for slow in slowest {
            let time = slow["seconds"].number ?? 0
            table.add([
                .name(slow["store"].text ?? "?"), PageTable.bar(time / most), .text(Quantity.decimal(time, places: 2)),
                .text(count(slow["rows"])),
            ])
        }
        page.table(table)
    }
}
