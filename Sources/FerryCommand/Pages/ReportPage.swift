internal import FerryBase

/// The page of a command's report: it shows the object that `--json` prints, and nothing else.
package struct ReportPage: Sendable {
    package enum Kind: String, Sendable { case plan, migrate, verify, tune, fleet }

    package let kind: Kind
    package let report: JSON

    package init(kind: Kind, report: JSON) { (self.kind, self.report) = (kind, report) }

    package var text: String {
        var page = Page(title, subject: report["store"].text)
        if !report["error"].isNull, kind != .migrate { addError(to: &page) }
        switch kind {
        case .plan: addPlan(to: &page)
        case .migrate: addMigration(to: &page)
        case .verify: addVerification(to: &page)
        case .tune: addTuning(to: &page)
        case .fleet: addFleet(to: &page)
        }
        return page.text
    }

    private var title: String {
        switch kind {
        case .plan: "Migration plan"
        case .migrate: "Migration report"
        case .verify: "Verification"
        case .tune: "Chunk sizes"
        case .fleet: "Many migrations"
        }
    }

    private func addError(to page: inout Page) {
        let error = report["error"]
        page.verdict(.bad, error["message"].text ?? "")
        addRemedy(of: error, to: &page)
        page.facts([("Reason", error["code"].text)])
    }

    func addRemedy(of error: JSON, to page: inout Page) {
        page.remedy(error["remedy"].text ?? "")
    }

    /// Adds the versions as boxes, and between two boxes the mode of the step.
    func addChain(to page: inout Page) {
        let chain = report["chain"].texts
        guard chain.count > 1 else { return }
        page.heading("Chain")
        page.add(.element("ol", ["class": "chain", "aria-label": "Versions in their order"], boxes(chain)))
        let links = report["links"].elements
        guard !links.isEmpty else { return }
        let runs = LikeRuns.of(links) { $0["reason"].text == $1["reason"].text }
        let rows = runs.compactMap { run -> [String]? in
            guard let first = run.first, let last = run.last else { return nil }
            let reason = first["reason"].text ?? ""
            return [
                first["from"].text ?? "", last["to"].text ?? "",
                run.count > 1 ? "\(run.count) versions further, each \(reason)" : reason,
            ]
        }
        page.table([.text("From"), .text("To"), .text("Why")], rows)
        for note in report["notes"].texts { page.paragraph(note) }
    }

    private func boxes(_ chain: [String]) -> [Markup] {
        // The steps by the index of their first version.
        var steps: [Int: (number: Int, step: JSON)] = [:]
        var passed: Set<Int> = []
        var place = 0
        for (index, step) in report["steps"].elements.enumerated() {
            let length = max(1, step["versions"].elements.count - 1)
            steps[place] = (index + 1, step)
            if length > 1 { passed.formUnion((place + 1)..<(place + length)) }
            place += length
        }
        return chain.enumerated().flatMap { index, version -> [Markup] in
            let box = Markup.element(
                "li", ["class": passed.contains(index) ? "version passed" : "version"], .name(version))
            guard index + 1 < chain.count else { return [box] }
            var words = "→"
            if let (number, step) = steps[index] { words = "step \(number): \(Self.mode(step["mode"].text)) →" }
            return [box, .element("li", ["class": "way"], words)]
        }
    }

    static func mode(_ mode: String?) -> String {
        switch mode {
        case "inPlace": "in place"
        case "copy": "copied"
        case let mode?: mode
        case nil: "?"
        }
    }

    func addLosses(to page: inout Page) {
        let losses = report["losses"].elements
        guard !losses.isEmpty else { return }
        page.heading("Lost")
        page.table(
            [
                .text("Entity"), .text("Property"), .number("Number"), .text("Reason"), .text("Lost in step"),
                .text("Because"),
            ],
            losses.map { loss in
                [
                    loss["entity"].text ?? "", loss["property"].text ?? "",
                    loss["rows"].countText(isEstimated: loss["estimated"].isTrue),
                    loss["property"].isNull ? "objects" : "values", loss["version"].text ?? "",
                    loss["because"].text ?? "",
                ]
            })
    }

    /// Adds the warnings that are not in the table of losses.
    func addWarnings(to page: inout Page) {
        let losses = report["warningDetails"].elements.filter { $0["code"].text == "loss" }.map { $0["message"].text }
        page.list("Warnings", report["warnings"].texts.filter { !losses.contains($0) })
    }

    func addRefusals(to page: inout Page) {
        let refusals = report["refusals"].elements
        guard !refusals.isEmpty else { return }
        page.heading("This cannot run")
        // Sentences with paths would be cut off in the columns of a narrow page.
        for refusal in refusals {
            page.paragraph(refusal["message"].text ?? "")
            addRemedy(of: refusal, to: &page)
            page.facts([("Reason", refusal["code"].text)])
        }
    }

    func addDifferences(_ found: [JSON], to page: inout Page) {
        guard !found.isEmpty else { return }
        page.heading("Differences")
        page.paragraph("An example is a location (table and key), never a value.", isSoft: true)
        page.table(
            [.text("Check"), .text("Entity"), .number("Count"), .text("Example")],
            found.map {
                [
                    $0["check"].text ?? "", $0["entity"].text ?? "", $0["count"].countText(), $0["example"].text ?? "",
                ]
            })
    }
}

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
            ("Against", report["source"].text), ("Checked", report["mode"].text),
            ("Rows", report["checked"].countText()),
            ("Not recomputed", report["notRecomputed"].whole.flatMap { $0 > 0 ? $0.counting("value") : nil }),
        ])
        addDifferences(found, to: &page)
        addTotals(found, to: &page)
        if !found.isEmpty { addNextSteps(to: &page) }
    }

    /// Says what to do about differences.
    private func addNextSteps(to page: inout Page) {
        let store = ShellWord.quoted(report["store"].text ?? "STORE")
        page.heading("What to do")
        if report["source"].text != nil {
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
    private func addTotals(_ found: [JSON], to page: inout Page) {
        let totals = Dictionary(grouping: found) { $0["check"].text ?? "?" }
            .mapValues { $0.compactMap { $0["count"].whole }.clampedSum }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard let most = totals.first?.value, most > 0, totals.count > 1 else { return }
        page.heading("By check")
        page.table(
            [.text("Check"), .text("Share"), .number("Differences")],
            totals.map { [.text($0.key), Page.bar(Double($0.value) / Double(most)), .text($0.value.grouped)] })
    }
}

extension JSON {
    var texts: [String] { elements.compactMap(\.text) }
    var durationText: String? { number.map { Quantity.durationText(seconds: $0) } }
    var sizeText: String? { whole.map { Quantity.sizeText($0) } }

    /// The number; 0 is never marked as an estimate.
    func countText(isEstimated: Bool = false) -> String {
        Quantity.rowsText(whole, isEstimated: isEstimated && whole ?? 0 > 0)
    }
}
