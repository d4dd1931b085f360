internal import Ferry

/// One self-contained page: without scripts, fonts or pictures from other files.
package struct Page: Sendable {
    /// The first bytes of a page, which identify a page of Ferry's.
    static let sign = "<!DOCTYPE html><!-- ferry report -->"

    enum Verdict: String, Sendable {
        case good, caution, bad

        /// The sign of the verdict, since not everybody sees the colour.
        var sign: String {
            switch self {
            case .good: "✓"
            case .caution: "!"
            case .bad: "✗"
            }
        }
    }

    private let title: String
    private let subject: String?
    /// Further style sheets.
    private let sheets: [StaticString]
    /// The parts above the table of contents.
    private var top: [Markup] = []
    private var content: [Markup] = []
    private var headings: [(title: String, anchor: String)] = []
    /// A page with fewer headings is short enough without a table of contents.
    private static let leastListed = 5

    /// Makes a page; `subject` is the path of its subject, if it has only one.
    init(_ title: String, subject: String?, sheets: [StaticString] = []) {
        (self.title, self.subject, self.sheets) = (title, subject, sheets)
    }

    package var text: String {
        // A browser loads and runs nothing, even if markup got into the page.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        let head = Markup.element(
            "head", [:],
            [
                .element("meta", ["charset": "utf-8"]),
                .element("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
                .element("meta", ["http-equiv": "Content-Security-Policy", "content": policy]),
                .element("meta", ["name": "generator", "content": FerryVersion.tool]),
                .element("title", [:], [title, subject].compactMap { $0 }.joined(separator: " ")),
                .style(PageStyle.sheet),
            ] + sheets.map { .style($0) })
        var body: [Markup] = [.element("h1", [:], title)]
        if let subject { body.append(.element("p", ["class": "soft"], .name(subject))) }
        body += top
        if headings.count >= Self.leastListed {
            let entries = headings.map {
                Markup.element("li", [:], .element("a", ["href": "#\($0.anchor)"], $0.title))
            }
            body.append(.element("nav", ["aria-label": "Contents"], .element("ol", ["class": "contents"], entries)))
        }
        body += content
        body.append(.element("p", ["class": "soft"], "Made by \(FerryVersion.tool). It contains no values of rows."))
        return Self.sign + "\n"
            + Markup.element("html", ["lang": "en"], head, .element("body", [:], body)).written + "\n"
    }

    /// The parts before the first heading come before the table of contents.
    mutating func add(_ part: Markup) {
        if headings.isEmpty { top.append(part) } else { content.append(part) }
    }

    /// Adds the most important figures, in large type; `isBad` marks one that passes its limit.
    mutating func headline(_ figures: [(title: String, value: String?, isBad: Bool)]) {
        let known = figures.compactMap { figure in
            figure.value.map { value in
                Markup.element(
                    "div", ["class": figure.isBad ? "figure bad" : "figure"],
                    .element("strong", [:], .name((figure.isBad ? Verdict.bad.sign + " " : "") + value)),
                    .element("span", ["class": "soft"], figure.title))
            }
        }
        if !known.isEmpty { add(.element("div", ["class": "headline"], known)) }
    }

    /// Adds a command to paste: its lines are broken between options only, as a shell reads them.
    mutating func command(_ line: String) {
        add(.element("pre", [:], TextWrap.command(line, width: Self.commandWidth).joined(separator: "\n")))
    }

    /// Characters; a narrow page shows a line of this length.
    private static let commandWidth = 48

    /// Adds lines of text, those of them that are commands as such.
    mutating func remedy(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.drop { $0 == " " }
            if words.hasPrefix("ferry ") { command(String(words)) } else { paragraph(String(line)) }
        }
    }

    /// Parts that are folded under a title.
    static func folded(_ title: String, _ parts: [Markup]) -> Markup {
        .element("details", [:], [.element("summary", [:], title)] + parts)
    }

    mutating func verdict(_ verdict: Verdict, _ text: String) {
        add(.element("p", ["class": "verdict \(verdict.rawValue)", "role": "status"], "\(verdict.sign) \(text)"))
    }

    mutating func paragraph(_ text: String, isSoft: Bool = false) {
        add(.element("p", ["class": isSoft ? "soft" : nil], Self.keepingOptions(text)))
    }

    /// A text whose options (`--to`) no line break divides between their hyphens.
    private static func keepingOptions(_ text: String) -> [Markup] {
        var parts: [Markup] = []
        var plain = ""
        for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { plain += " " }
            guard word.hasPrefix("--") else {
                plain += word
                continue
            }
            if !plain.isEmpty { parts.append(.text(plain)) }
            plain = ""
            parts.append(.element("span", ["class": "option"], String(word)))
        }
        return plain.isEmpty ? parts : parts + [.text(plain)]
    }

    mutating func heading(_ text: String) {
        let anchor = Self.anchor(ofHeading: headings.count + 1)
        headings.append((text, anchor))
        add(.element("h2", ["id": anchor], text))
    }

    /// The anchor of a heading, by its number from 1.
    static func anchor(ofHeading number: Int) -> String { "part-\(number)" }

    mutating func facts(_ facts: [(String, String?)]) {
        let known = facts.flatMap { title, text -> [Markup] in
            text.map { [.element("dt", [:], title), .element("dd", [:], .name($0))] } ?? []
        }
        if !known.isEmpty { add(.element("dl", [:], known)) }
    }

    /// Adds a heading and a list of sentences, if there are sentences.
    mutating func list(_ title: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        heading(title)
        add(.element("ul", [:], texts.map { .element("li", [:], $0) }))
    }

    mutating func table(_ columns: [TableColumn], _ rows: [[String]], anchors: [String?] = []) {
        table(columns, rows.map { $0.map(Markup.name) }, anchors: anchors)
    }

    /// Adds a table, of which one row may be marked as the best one, if there are rows.
    ///
    /// On a narrow page each row is a card, in which each cell has its column's title beside it.
    mutating func table(
        _ columns: [TableColumn], _ rows: [[Markup]], best: Int? = nil, anchors: [String?] = []
    ) {
        precondition(rows.allSatisfy { $0.count == columns.count }, "a row has as many cells as the header")
        if rows.isEmpty { return }
        func style(_ column: TableColumn) -> String? { column.isNumber ? "number" : nil }
        let header = columns.map { Markup.element("th", ["class": style($0), "scope": "col"], $0.title) }
        let body = rows.enumerated().map { index, cells in
            Markup.element(
                "tr", ["class": index == best ? "best" : nil, "id": index < anchors.count ? anchors[index] : nil],
                zip(columns, cells).map { .element("td", ["class": style($0), "data-title": $0.title], $1) })
        }
        add(
            .element(
                "div", ["class": "wide"], .element("table", [:], [.element("tr", ["class": "head"], header)] + body)))
    }

    /// A bar whose length is its part of the longest bar.
    static func bar(_ part: Double) -> Markup {
        let percent = Quantity.decimal(min(1, max(0, part.isNaN ? 0 : part)) * 100, places: 2)
        let bar = Markup.element("span", ["class": "bar", "style": "width:\(percent)%"])
        return .element("span", ["class": "track"], bar)
    }

    /// Adds drawings beside each other, as far as the width allows.
    mutating func charts(_ charts: [Markup]) { add(.element("div", ["class": "charts"], charts)) }
}

/// The style of pages: on a screen in light and dark, from a width of 360 pixels on, and on paper.
///
/// Colour alone carries no meaning: verdicts have a sign and a word, bars and ribbons numbers, limits a dashed line.
enum PageStyle {
    static let sheet: StaticString = """
        :root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #c5ccd4; --paper: #ffffff;
          --shade: #f3f5f8; --main: #0b62a8; --good: #116329; --caution: #7a4b00; --bad: #a40e26; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e6edf3; --soft: #a3adb8; --line: #3d444d; --paper: #0d1117; --shade: #171c24; --main: #6cb6ff;
            --good: #56d364; --caution: #e3b341; --bad: #ff7b72; } }
        @media print {
          :root { color-scheme: light; --ink: #000000; --soft: #444444; --line: #999999; --paper: #ffffff;
            --shade: #ffffff; --main: #0b62a8; --good: #116329; --caution: #7a4b00; --bad: #a40e26; }
          body { font-size: 11px; padding: 0; }
          section, figure, tr, li { break-inside: avoid; } h2, h3 { break-after: avoid; }
          .wide { overflow: visible; } table { max-width: 100%; } th, td { overflow-wrap: anywhere; padding: 3px 6px; }
          .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
        * { box-sizing: border-box; }
        body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
          max-width: 1200px; padding: 16px; overflow-wrap: anywhere; }
        h1 { font-size: 1.5em; margin: 0 0 4px; } h2 { font-size: 1.15em; margin: 28px 0 8px; }
        h3 { font-size: 1em; margin: 20px 0 6px; }
        p { margin: 6px 0; } .soft { color: var(--soft); }
        .verdict { border: 1px solid currentColor; border-left-width: 6px; padding: 10px 14px; font-weight: 600;
          background: var(--shade); }
        .good { color: var(--good); } .caution { color: var(--caution); } .bad { color: var(--bad); }
        dl { display: grid; grid-template-columns: minmax(90px, max-content) 1fr; gap: 4px 16px; margin: 12px 0; }
        dt { color: var(--soft); } dd { margin: 0; }
        .wide { overflow-x: auto; scrollbar-width: thin; }
        table { border-collapse: collapse; margin: 8px 0; overflow-wrap: normal; }
        th, td { padding: 4px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
        th { color: var(--soft); font-weight: 600; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        tr.best td { font-weight: 700; background: var(--shade); }
        .track { display: block; width: clamp(40px, 18vw, 300px); }
        @media screen and (max-width: 600px) {
          table, tbody, tr, td { display: block; width: 100%; } tr.head { display: none; }
          tr { border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 0 0 10px; }
          td, td.number { display: grid; grid-template-columns: minmax(80px, 32%) minmax(0, 1fr); gap: 0 10px; border: 0;
            padding: 2px 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
          td::before { content: attr(data-title); color: var(--soft); font-weight: 400; }
          .track { width: 100%; align-self: center; } }
        a { color: var(--main); } svg a[href] text { text-decoration: underline; }
        svg.graph a[href] text { text-decoration: none; } svg.graph a[href] rect + text { text-decoration: underline; }
        :target { background: var(--shade); outline: 2px solid var(--main); }
        ol.contents { display: flex; flex-wrap: wrap; gap: 2px 18px; padding: 0; margin: 12px 0; list-style: none; }
        .headline { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 14px 0; }
        .figure strong { display: block; font-size: 1.5em; line-height: 1.2; font-variant-numeric: tabular-nums; }
        .figure.bad strong { color: var(--bad); }
        pre { font: 13px/1.5 ui-monospace, monospace; background: var(--shade); border: 1px solid var(--line);
          padding: 8px 12px; margin: 8px 0; overflow-x: auto; white-space: pre; overflow-wrap: normal; }
        @media print { pre { white-space: pre-wrap; } details { display: block; } nav { display: none; } }
        .option { white-space: nowrap; } details { margin: 8px 0; } summary { cursor: pointer; color: var(--main); }
        .bar { display: block; height: 14px; min-width: 1px; background: var(--main); border: 1px solid var(--main); }
        ol.chain { list-style: none; padding: 0; margin: 8px 0; display: flex; flex-wrap: wrap; gap: 8px 6px;
          align-items: center; }
        ol.chain .version { border: 2px solid var(--main); border-radius: 6px; padding: 4px 10px; font-weight: 600; }
        ol.chain .passed { border: 1px dashed var(--soft); font-weight: 400; }
        ol.chain .way { color: var(--soft); font-size: 0.87em; }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 12px 24px; }
        figure { margin: 0; } figcaption { color: var(--soft); font-size: 0.87em; }
        svg { display: block; width: 100%; height: auto; max-width: 620px; font: 11px system-ui, sans-serif; }
        svg.graph { width: auto; max-width: none; font-size: 13px; }
        @media print { svg.graph { max-width: 100%; max-height: 90vh; } }
        svg.graph .curve { stroke: var(--soft); stroke-width: 1.2; }
        svg text { fill: var(--ink); unicode-bidi: isolate; } svg .soft { fill: var(--soft); }
        svg .grid { stroke: var(--line); fill: none; } svg .axis { stroke: var(--soft); fill: none; }
        svg .curve { stroke: var(--main); fill: none; stroke-width: 2; } svg .area { fill: var(--main); opacity: 0.18; }
        svg .dot { fill: var(--main); } svg .limit { stroke: var(--bad); stroke-dasharray: 6 3; fill: none; }
        svg .mark { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
        svg .span { fill: var(--main); } svg .node { fill: var(--main); } svg .ribbon { fill: var(--main); fill-opacity: 0.25; stroke: var(--main);
          stroke-opacity: 0.6; } svg .gone { fill: none; stroke: var(--bad); stroke-dasharray: 4 2; }
        """
}
