/// How pages look: on a screen in light and dark, from 360 pixels on, and on paper.
///
/// Nothing is told by colour alone: verdicts have a sign and a word, bars and ribbons their numbers, limits a dashed line.
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
          .wide { overflow: visible; }
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
        @media (max-width: 600px) { table { font-size: 0.85em; } th, td { padding: 3px 6px; } }
        .bar { display: block; height: 14px; min-width: 1px; background: var(--main); border: 1px solid var(--main); }
        ol.chain { list-style: none; padding: 0; margin: 8px 0; display: flex; flex-wrap: wrap; gap: 8px 6px;
          align-items: center; }
        ol.chain .version { border: 2px solid var(--main); border-radius: 6px; padding: 4px 10px; font-weight: 600; }
        ol.chain .passed { border: 1px dashed var(--soft); font-weight: 400; }
        ol.chain .way { color: var(--soft); font-size: 0.87em; }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 12px 24px; }
        figure { margin: 0; } figcaption { color: var(--soft); font-size: 0.87em; }
        svg { display: block; width: 100%; height: auto; max-width: 620px; font: 11px system-ui, sans-serif; }
        svg text { fill: var(--ink); unicode-bidi: isolate; } svg .soft { fill: var(--soft); }
        svg .grid { stroke: var(--line); fill: none; } svg .axis { stroke: var(--soft); fill: none; }
        svg .curve { stroke: var(--main); fill: none; stroke-width: 2; } svg .area { fill: var(--main); opacity: 0.18; }
        svg .dot { fill: var(--main); } svg .limit { stroke: var(--bad); stroke-dasharray: 6 3; fill: none; }
        svg .mark { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
        svg .node { fill: var(--main); } svg .ribbon { fill: var(--main); fill-opacity: 0.25; stroke: var(--main);
          stroke-opacity: 0.6; } svg .gone { fill: none; stroke: var(--bad); stroke-dasharray: 4 2; }
        """
}
