internal import Ferry

/// One self-contained page: without scripts, fonts or pictures from other files.
enum Page {
    /// The first bytes of a page, which identify a page of Ferry's.
    static let sign = "<!DOCTYPE html><!-- ferry report -->"

    static func text(_ title: String, _ body: [Markup]) -> String {
        // A browser loads and runs nothing, even if markup got into the page.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        let head = Markup.element(
            "head", [:],
            [
                .element("meta", ["charset": "utf-8"]),
                .element("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
                .element("meta", ["http-equiv": "Content-Security-Policy", "content": policy]),
                .element("meta", ["name": "generator", "content": FerryVersion.tool]),
                .element("title", [:], title), .style(.page),
            ])
        let end = Markup.element(
            "p", ["class": "soft"], "Made by \(FerryVersion.tool). It contains no values of rows.")
        return sign + "\n"
            + Markup.element(
                "html", ["lang": "en"], head, .element("body", [:], [.element("h1", [:], title)] + body + [end])
            ).written + "\n"
    }
}
