internal import Ferry

/// One page that needs nothing else: no script, no font, no picture from elsewhere.
package struct Page: Sendable {
    /// By what a page of Ferry's is known again in its first bytes.
    static let sign = "<!DOCTYPE html><!-- ferry report -->"

    enum Verdict: String, Sendable {
        case good, caution, bad

        /// Told by a sign, too, since not everybody sees the colour.
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
    private var content: [Markup] = []

    /// - Parameters:
    ///   - title: What the page is.
    ///   - subject: The path of what it is about.
    init(_ title: String, subject: String? = nil) {
        self.title = title
        self.subject = subject
    }

    package var text: String {
        // Whatever got into the page, a browser loads and runs nothing for it.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        let head = Markup.element(
            "head", [],
            .element("meta", [("charset", "utf-8")]),
            .element("meta", [("name", "viewport"), ("content", "width=device-width, initial-scale=1")]),
            .element("meta", [("http-equiv", "Content-Security-Policy"), ("content", policy)]),
            .element("meta", [("name", "generator"), ("content", FerryVersion.tool)]),
            .element("title", [], [title, subject].compactMap { $0 }.joined(separator: " ")),
            .style(PageStyle.sheet))
        var body: [Markup] = [.element("h1", [], title)]
        if let subject { body.append(.element("p", [("class", "soft")], .name(subject))) }
        body += content
        body.append(.element("p", [("class", "soft")], "Made by \(FerryVersion.tool). It holds no values of rows."))
        return Self.sign + "\n"
            + Markup.element("html", [("lang", "en")], [head, .element("body", [], body)]).written + "\n"
    }

    // MARK: Parts

    mutating func add(_ part: Markup) { content.append(part) }

    mutating func verdict(_ verdict: Verdict, _ text: String) {
        add(.element("p", [("class", "verdict \(verdict.rawValue)"), ("role", "status")], "\(verdict.sign) \(text)"))
    }

    mutating func paragraph(_ text: String, isSoft: Bool = false) {
        add(.element("p", isSoft ? [("class", "soft")] : [], text))
    }

    mutating func heading(_ text: String) { add(.element("h2", [], text)) }

    mutating func facts(_ facts: [(String, String?)]) {
        let known = facts.compactMap { fact in fact.1.map { (fact.0, $0) } }
        guard !known.isEmpty else { return }
        add(
            .element(
                "dl", [],
                known.flatMap { [Markup.element("dt", [], $0.0), .element("dd", [], [.name($0.1)])] }))
    }

    /// A list of sentences under a heading; nothing where there is none.
    mutating func list(_ title: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        heading(title)
        add(.element("ul", [], texts.map { .element("li", [], $0) }))
    }

    mutating func table(_ table: PageTable) { if !table.rows.isEmpty { add(table.markup) } }

    /// Drawings beside each other where there is room.
    mutating func charts(_ charts: [Markup]) {
        if !charts.isEmpty { add(.element("div", [("class", "charts")], charts)) }
    }
}

/// A table of a page.
struct PageTable {
    struct Column {
        var title: String
        var isNumber = false

        static func text(_ title: String) -> Column { Column(title: title) }
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    }

    let columns: [Column]
    fileprivate(set) var rows: [(cells: [Markup], isBest: Bool)] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [String], isBest: Bool = false) { add(cells.map { .name($0) }, isBest: isBest) }

    mutating func add(_ cells: [Markup], isBest: Bool = false) {
        precondition(cells.count == columns.count, "a row has as many cells as the header")
        rows.append((cells, isBest))
    }

    var markup: Markup {
        let header = columns.map { Markup.element("th", attributes($0) + [("scope", "col")], $0.title) }
        let body = rows.map { row in
            Markup.element(
                "tr", row.isBest ? [("class", "best")] : [],
                zip(columns, row.cells).map { .element("td", attributes($0), [$1]) })
        }
        return .element("div", [("class", "wide")], .element("table", [], [.element("tr", [], header)] + body))
    }

    private func attributes(_ column: Column) -> [(String, String)] { column.isNumber ? [("class", "number")] : [] }

    /// A bar as long as its part of the longest one.
    static func bar(_ part: Double) -> Markup {
        let percent = Quantity.decimal(min(1, max(0, part.isNaN ? 0 : part)) * 100, places: 2)
        return .element(
            "span", [("class", "track")], .element("span", [("class", "bar"), ("style", "width:\(percent)%")], []))
    }
}
