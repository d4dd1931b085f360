/// The measures of a whole run as a page of Markdown, for the documentation.
package struct ResultPage {
    private let suite: SuiteResult

    package init(_ suite: SuiteResult) { self.suite = suite }

    package var text: String {
        let machine = suite.machine
        let libraries = machine.libraries.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let gibibytes = Figure.decimal(Double(machine.memoryBytes) / 1_073_741_824, digits: 0)
        var lines = [
            "# Figures", "",
            "Written by `ferry-bench --markdown`; [performance.md](performance.md) says how to make and how to read it.",
            "",
            "\(machine.system), \(machine.processors) processors, \(gibibytes) GiB; "
                + "\(libraries.joined(separator: ", ")). Whole commands: "
                + (suite.program.map { "the program `\($0)`" } ?? "the library within the benchmark") + ".",
            "", "| case | rows | measure | median | spread | budget | |", "|---|---|---|---|---|---|---|",
        ]
        for result in suite.cases {
            let rows = result.points.last.map { Figure.grouped($0.point.rows) } ?? ""
            for (index, measure) in result.measures.enumerated() {
                let cells = [index == 0 ? "`\(result.name)`" : "", index == 0 ? rows : ""] + ResultTable.cells(measure)
                lines.append("| \(cells.joined(separator: " | ")) |")
            }
        }
        return (lines + [""]).joined(separator: "\n")
    }
}
