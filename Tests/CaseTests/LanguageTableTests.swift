import Foundation
import TestSupport
import Testing

@testable import FerryExpression

/// The table of `docs/expressions.md`.
@Suite("The table of constructs")
struct LanguageTableTests {
    @Test("The table lists every predefined function and every method")
    func isWhole() throws {
        let page = try String(contentsOfFile: Fixtures.packageRoot + "/docs/expressions.md", encoding: .utf8)
        let start = try #require(page.range(of: "## Every construct and its case"))
        let known = Set(
            page[start.upperBound...].split(separator: "\n").compactMap { line -> String? in
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                guard cells.count == 5, let first = cells[1].firstIndex(of: "`"),
                    let last = cells[1].lastIndex(of: "`"), first != last
                else { return nil }
                return String(cells[1][cells[1].index(after: first)..<last])
            })
        for selector in Self.evaluatedSelectors {
            let forms = [selector, "\(selector)(", "\(selector)()", "\(selector.dropLast())("]
            #expect(forms.contains(where: known.contains), "\(selector)")
        }
    }

    /// The selectors of all predefined functions and all methods of values that Ferry evaluates.
    private static var evaluatedSelectors: [String] {
        let written = Set(ValueOperator.all.map(\.selector)).union(PredefinedFunction.refused.keys)
        let functions = PredefinedFunction.all.keys.filter { !written.contains($0) && $0 != "castObject:toType:" }
        return (functions + TypedFunction.methods.map(\.selector)).sorted()
    }
}
