package import Ferry
internal import FerryBase

/// What a command has found, in its three forms: the object that `--json` prints, text, and a page.
package protocol CommandReport {
    var json: JSON { get }
    /// Members that only a report file has.
    var extras: JSON { get }
    var page: Page { get }
    func text(width: Int) -> [String]
}

extension CommandReport {
    package var extras: JSON { [:] }
}

/// The report of a command that ended with an error before it found anything.
///
/// Without it, the report of an earlier call would tell of a success.
package struct FailureReport: CommandReport {
    /// The title of the page that the command would have made.
    let title: String
    let store: String
    let code: String
    let message: String
    let remedy: String

    package init(_ error: FerryError, title: String, store: String) {
        self.init(
            title: title, store: store, code: error.code.name, message: error.message, remedy: error.wordedRemedy)
    }

    init(title: String, store: String, code: String, message: String, remedy: String) {
        (self.title, self.store, self.code) = (title, store, code)
        (self.message, self.remedy) = (message, remedy)
    }

    package var json: JSON {
        ["store": store, "error": ["code": code, "message": message, "remedy": remedy] as JSON]
    }

    package func text(width: Int) -> [String] { [message, remedy] }

    package var page: Page {
        var page = Page(title, subject: store)
        page.verdict(.bad, message)
        page.remedy(remedy)
        page.facts([("Reason", code)])
        return page
    }
}

/// The parts that pages of several commands have.
extension Page {
    /// Adds the versions as boxes, and between two boxes the mode of the step.
    mutating func chain(_ chain: [String], of plan: PlanReport?) {
        guard chain.count > 1 else { return }
        heading("Chain")
        add(
            .element(
                "ol", ["class": "chain", "aria-label": "Versions in their order"],
                Self.boxes(chain, steps: plan?.steps ?? [])))
        guard let plan, !plan.links.isEmpty else { return }
        let rows = LikeRuns.of(plan.links) { $0.reason == $1.reason }.compactMap { run -> [String]? in
            guard let first = run.first, let last = run.last else { return nil }
            return [
                first.from, last.to,
                run.count > 1 ? "\(run.count) versions further, each \(first.reason)" : first.reason,
            ]
        }
        table([.text("From"), .text("To"), .text("Why")], rows)
        for note in plan.notes { paragraph(note) }
    }

    private static func boxes(_ chain: [String], steps: [PlanReport.Step]) -> [Markup] {
        // The steps by the index of their first version.
        var starts: [Int: (number: Int, step: PlanReport.Step)] = [:]
        var passed: Set<Int> = []
        var place = 0
        for (index, step) in steps.enumerated() {
            let length = max(1, step.versions.count - 1)
            starts[place] = (index + 1, step)
            if length > 1 { passed.formUnion((place + 1)..<(place + length)) }
            place += length
        }
        return chain.enumerated().flatMap { index, version -> [Markup] in
            let box = Markup.element(
                "li", ["class": passed.contains(index) ? "version passed" : "version"], .name(version))
            guard index + 1 < chain.count else { return [box] }
            let words = starts[index].map { "step \($0.number): \($0.step.mode.words) →" } ?? "→"
            return [box, .element("li", ["class": "way"], words)]
        }
    }

    mutating func losses(_ losses: [Loss]) {
        guard !losses.isEmpty else { return }
        heading("Lost")
        table(
            [
                .text("Entity"), .text("Property"), .number("Number"), .text("Reason"), .text("Lost in step"),
                .text("Because"),
            ],
            losses.map { loss in
                [
                    loss.entity, loss.property ?? "", loss.rows.countText(isEstimated: loss.isEstimated),
                    loss.property == nil ? "objects" : "values", loss.version, loss.because,
                ]
            })
    }

    /// Adds the warnings that are not in the table of losses.
    mutating func warnings(_ warnings: [FerryWarning]) {
        let losses = Set(warnings.filter { $0.code == .loss }.map(\.message))
        list("Warnings", warnings.map(\.message).filter { !losses.contains($0) })
    }

    mutating func refusals(_ refusals: [FerryError]) {
        guard !refusals.isEmpty else { return }
        heading("This cannot run")
        // Sentences with paths would be cut off in the columns of a narrow page.
        for refusal in refusals {
            paragraph(refusal.message)
            remedy(refusal.wordedRemedy)
            facts([("Reason", refusal.code.name)])
        }
    }

    mutating func differences(_ found: [VerificationSummary.Difference]) {
        guard !found.isEmpty else { return }
        heading("Differences")
        paragraph("An example is a location (table and key), never a value.", isSoft: true)
        table(
            [.text("Check"), .text("Entity"), .number("Count"), .text("Example")],
            found.map { [$0.check.rawValue, $0.entity ?? "", $0.count.grouped, $0.example ?? ""] })
    }
}

extension PlanReport.Step.Mode {
    var words: String {
        switch self {
        case .inPlace: "in place"
        case .copy: "copied"
        case .nothing, .refused: rawValue
        }
    }
}

extension Int64? {
    /// The number; 0 is never marked as an estimate.
    func countText(isEstimated: Bool = false) -> String {
        Quantity.rowsText(self, isEstimated: isEstimated && self ?? 0 > 0)
    }
}
