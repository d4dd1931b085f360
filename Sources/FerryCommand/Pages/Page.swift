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
                .element("title", [:], title), .style(sheet),
            ])
        let end = Markup.element(
            "p", ["class": "soft"], "Made by \(FerryVersion.tool). It contains no values of rows.")
        return sign + "\n"
            + Markup.element(
                "html", ["lang": "en"], head, .element("body", [:], [.element("h1", [:], title)] + body + [end])
            ).written + "\n"
    }

    /// On a screen in light and dark, from a width of 360 pixels on, and on paper.
    ///
    /// Colour alone carries no meaning: verdicts have a sign and a word, bars and ribbons numbers, limits a dashed line.
    private static let sheet: StaticString = """
        :root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #c5ccd4; --paper: #ffffff;
          --shade: #f3f5f8; --main: #0b62a8; --good: #116329; --caution: #7a4b00; --bad: #a40e26; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e6edf3; --soft: #a3adb8; --line: #3d444d; --paper: #0d1117; --shade: #171c24; --main: #6cb6ff;
            --good: #56d364; --caution: #e3b341; --bad: #ff7b72; } }
        @media print {
          :root { color-scheme: light; --ink: #000000; --soft: #444444; --line: #999999; --paper: #ffffff;
            --shade: #ffffff; --main: #0b62a8; --good: #116329; --caution: #7a4b00; --bad: #a40e26; }
          body { font-size: 11px; padding: 0; } nav { display: none; } pre { white-space: pre-wrap; }
          figure, tr, li { break-inside: avoid; } h2 { break-after: avoid; } }
        * { box-sizing: border-box; }
        body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
          max-width: 1200px; padding: 16px; overflow-wrap: anywhere; }
        h1 { font-size: 1.5em; margin: 0 0 4px; } h2 { font-size: 1.15em; margin: 28px 0 8px; }
        p { margin: 6px 0; } .soft { color: var(--soft); }
        .verdict { border: 1px solid currentColor; border-left-width: 6px; padding: 10px 14px; font-weight: 600;
          background: var(--shade); }
        .good { color: var(--good); } .caution { color: var(--caution); } .bad { color: var(--bad); }
        dl { display: grid; grid-template-columns: minmax(90px, max-content) 1fr; gap: 4px 16px; margin: 12px 0; }
        dt { color: var(--soft); } dd { margin: 0; } ul { padding-left: 20px; }
        table { border-collapse: collapse; margin: 8px 0; max-width: 100%; }
        th, td { padding: 4px 10px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
        th { color: var(--soft); font-weight: 600; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        tr.best td { font-weight: 700; background: var(--shade); }
        @media screen and (max-width: 600px) {
          table, tbody, tr, td { display: block; width: 100%; } tr.head { display: none; }
          tr { border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 0 0 10px; }
          td, td.number { display: grid; grid-template-columns: minmax(80px, 32%) minmax(0, 1fr); gap: 0 10px; border: 0;
            padding: 2px 0; text-align: left; }
          td::before { content: attr(data-title); color: var(--soft); font-weight: 400; } }
        a { color: var(--main); } .option { white-space: nowrap; }
        nav ol { display: flex; flex-wrap: wrap; gap: 2px 18px; padding: 0; margin: 12px 0; list-style: none; }
        pre { font: 13px/1.5 ui-monospace, monospace; background: var(--shade); border: 1px solid var(--line);
          padding: 8px 12px; margin: 8px 0; overflow-x: auto; }
        details { margin: 8px 0; } summary { cursor: pointer; color: var(--main); }
        figure { margin: 12px 0; } figcaption { color: var(--soft); font-size: 0.87em; }
        svg { display: block; width: 100%; height: auto; max-width: 620px; font: 11px system-ui, sans-serif; }
        svg text { fill: var(--ink); unicode-bidi: isolate; } svg .soft { fill: var(--soft); }
        svg .grid { stroke: var(--line); fill: none; } svg .curve { stroke: var(--main); fill: none; stroke-width: 2; }
        svg .area { fill: var(--main); opacity: 0.18; } svg .limit { stroke: var(--bad); stroke-dasharray: 6 3; }
        svg .node { fill: var(--main); } svg .ribbon { fill: var(--main); fill-opacity: 0.25; stroke: var(--main);
          stroke-opacity: 0.6; } svg .gone { fill: none; stroke: var(--bad); stroke-dasharray: 4 2; }
        """
}
