internal import Ferry
internal import FerryBase

/// A report in parts, which a terminal prints and a page shows.
struct Report: Sendable {
    enum Part: Sendable {
        /// Labels with their values, if any: a terminal's begin after `margin` characters, a page's below a heading.
        case facts(margin: Int, [(label: String, value: String?)], onPage: String? = nil)
        case heading(String)
        case paragraph(String)
        case list([String])
        /// One of the rows may be the best.
        case table([TableColumn], [[String]], best: Int? = nil)
        case remedy(String)
        case space
        /// What only a page has room for, below a heading if it has one.
        case onPage(String?, [Markup])
    }

    let title: String
    let verdict: (kind: Emphasis, text: String)
    var parts: [Part]
    /// Whether a terminal shows the verdict below the parts, where it stays in view.
    var endsWithVerdict = false

    init(_ title: String, _ kind: Emphasis, _ verdict: String, _ parts: [Part] = []) {
        (self.title, self.verdict, self.parts) = (title, (kind, verdict), parts)
    }

    func text(width: Int) -> [String] {
        let verdict = verdict.kind.mark(verdict.text)
        let shown = parts.flatMap { lines($0, width: width) }
        guard endsWithVerdict, !shown.isEmpty else { return [verdict] + shown }
        return shown.drop { $0.isEmpty } + ["", verdict]
    }

    private func lines(_ part: Part, width: Int) -> [String] {
        switch part {
        case .facts(let margin, let facts, _):
            facts.compactMap { label, value in
                value.map { label + String(repeating: " ", count: max(1, margin - label.count)) + $0 }
            }
        case .heading(let text): ["", Emphasis.heading.mark(text)]
        case .paragraph(let text): [text]
        case .list(let texts): texts.map { "  " + $0 }
        case .table(let columns, let rows, _): Self.filled(columns, rows).lines(width: width)
        case .remedy(let text):
            text.split(separator: "\n").map {
                FerryCommand.isCommand($0) ? Emphasis.command.mark("      " + $0) : "    " + $0
            }
        case .space: [""]
        case .onPage: []
        }
    }

    /// The table without columns of nothing, of zeros or of unknown numbers.
    private static func filled(_ columns: [TableColumn], _ rows: [[String]]) -> TextTable {
        let shown = columns.indices.filter { column in rows.contains { !["", "0", "–", "?"].contains($0[column]) } }
        return TextTable(shown.map { columns[$0] }, rows.map { row in shown.map { row[$0] } })
    }

    /// The signs of verdicts, since not everybody sees the colour.
    private static let signs: [Emphasis: String] = [.good: "✓", .caution: "!", .bad: "✗"]
    /// A page with fewer headings is short enough without a table of contents.
    private static let leastListed = 4
    /// Characters; a narrow page shows a command's line of this length.
    private static let commandWidth = 48

    /// A self-contained page: without scripts, fonts or pictures from other files.
    var page: String {
        var body = [
            Markup.element(
                "p", ["class": "verdict \(verdict.kind)", "role": "status"],
                .text((Self.signs[verdict.kind] ?? "") + " "), .name(verdict.text))
        ]
        var headings: [String] = []
        for part in parts {
            let markup = Self.markup(part)
            let title: String? =
                switch part {
                case .heading(let text): text
                case .onPage(let text, _), .facts(_, _, let text): markup.isEmpty ? nil : text
                default: nil
                }
            if let title {
                headings.append(title)
                body.append(.element("h2", ["id": "part-\(headings.count)"], title))
            }
            body += markup
        }
        if headings.count >= Self.leastListed {
            let entries = headings.enumerated().map { index, text in
                Markup.element("li", [:], .element("a", ["href": "#part-\(index + 1)"], text))
            }
            body.insert(.element("nav", ["aria-label": "Contents"], .element("ol", [:], entries)), at: 1)
        }
        let values = ["title": Markup.escaped(title), "tool": FerryVersion.tool, "style": Template.pageStyle.filled()]
        return Template.page.around(body, values)
    }

    private static func markup(_ part: Part) -> [Markup] {
        switch part {
        case .facts(_, let facts, _):
            let known = facts.flatMap { label, value -> [Markup] in
                value.map { [.element("dt", [:], label), .element("dd", [:], .name($0))] } ?? []
            }
            return known.isEmpty ? [] : [.element("dl", [:], known)]
        case .paragraph(let text): return [.element("p", [:], keepingOptions(text))]
        case .list(let texts):
            return texts.isEmpty ? [] : [.element("ul", [:], texts.map { .element("li", [:], keepingOptions($0)) })]
        case .table(let columns, let rows, let best): return table(columns, rows, best: best)
        case .remedy(let text):
            return text.split(separator: "\n").map { line in
                let words = String(line.drop { $0 == " " })
                guard FerryCommand.isCommand(words) else { return .element("p", [:], keepingOptions(words)) }
                return .element(
                    "pre", [:], TextWrap.command(words, width: commandWidth).joined(separator: "\n"))
            }
        case .onPage(_, let markup): return markup
        case .heading, .space: return []
        }
    }

    /// On a narrow page each row is a card, in which each cell has its column's title beside it.
    fileprivate static func table(_ columns: [TableColumn], _ rows: [[String]], best: Int?) -> [Markup] {
        if rows.isEmpty { return [] }
        func style(_ column: TableColumn) -> String? { column.isNumber ? "number" : nil }
        let table = filled(columns, rows)
        let header = table.columns.map { Markup.element("th", ["class": style($0), "scope": "col"], $0.title) }
        let body = table.rows.dropFirst().enumerated().map { index, cells in
            Markup.element(
                "tr", ["class": index == best ? "best" : nil],
                zip(table.columns, cells).map {
                    .element("td", ["class": style($0), "data-title": $0.title], .name($1))
                })
        }
        return [.element("table", [:], [.element("tr", ["class": "head"], header)] + body)]
    }

    /// A text whose options (`--to`) no line break divides between their hyphens.
    private static func keepingOptions(_ text: String) -> [Markup] {
        text.split(separator: " ", omittingEmptySubsequences: false).enumerated().map { index, word in
            let space = index > 0 ? " " : ""
            guard word.hasPrefix("--") else { return .text(space + word) }
            return .element("span", ["class": "option"], space + word)
        }
    }
}

extension Report.Part {
    static func titled(_ title: String, _ texts: [String]) -> [Report.Part] {
        texts.isEmpty ? [] : [.heading(title), .list(texts)]
    }

    static func titled(_ title: String, _ columns: [TableColumn], _ rows: [[String]]) -> [Report.Part] {
        rows.isEmpty ? [] : [.heading(title), .table(columns, rows)]
    }

    static func losses(_ losses: [Loss]) -> [Report.Part] {
        titled(
            "Lost", [.text("Entity"), .text("Property"), .number("Number"), .below("Because")],
            losses.map { [$0.entity, $0.property ?? "", $0.number, $0.because] })
    }

    static func refusals(_ refusals: [FerryError]) -> [Report.Part] {
        if refusals.isEmpty { return [] }
        let isOfLosses = refusals.allSatisfy { $0.code == .lossRefused }
        return [.heading(isOfLosses ? "Not accepted:" : "This cannot run:")]
            + refusals.flatMap { [.list([$0.message]), .remedy($0.wordedRemedy)] as [Report.Part] }
    }

    static func differences(_ found: [VerificationSummary.Difference]) -> [Report.Part] {
        titled(
            "Differences", [.text("Check"), .text("Entity"), .number("Count"), .below("Example")],
            found.map { [$0.check.rawValue, $0.entity ?? "", $0.count.grouped, $0.example ?? ""] })
    }

    /// The way of each property that does not keep its name and entity through the chain.
    static func lineage(_ lineages: [PropertyLineage]) -> Report.Part {
        let rows = lineages.map { lineage in
            let stops = lineage.stops.map { stop in
                let names = stop.properties
                let what =
                    stop.isByPolicy
                    ? "decided by a migration policy" : names.isEmpty ? "lost" : names.joined(separator: ", ")
                return "\(what) (\(stop.version))"
            }
            return [lineage.property, stops.joined(separator: " → ")]
        }
        return .onPage(
            "Where each property goes", Report.table([.text("Property"), .text("Then")], rows, best: nil))
    }

    static func statements(_ steps: [PlannedStatements]) -> Report.Part {
        let folded = steps.flatMap { step in
            step.groups.filter { !$0.statements.isEmpty }.map { group in
                let title = [
                    steps.count > 1 ? "step \(step.step)" : nil, group.phase?.rawValue, group.reason ?? "tables",
                ].compactMap { $0 }.joined(separator: ": ")
                let count = Int64(group.statements.count).counting("statement")
                return Markup.element(
                    "details", [:], .element("summary", [:], "\(title) (\(count))"),
                    .element("pre", [:], group.statements.map { $0.sql + ";" }.joined(separator: "\n")))
            }
        }
        return .onPage("Statements", folded)
    }
}
