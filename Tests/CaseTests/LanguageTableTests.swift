import Foundation
import TestSupport
import Testing

@testable import FerryExpression

/// The constructs of `docs/expressions.md`.
@Suite("The page of constructs")
struct LanguageTableTests {
    @Test("The page has every predefined function and every method")
    func isWhole() throws {
        let page = try String(contentsOfFile: Fixtures.packageRoot + "/docs/expressions.md", encoding: .utf8)
        let code = page.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        let known = Set(code.flatMap { $0.split { " (,)".contains($0) } }.map(String.init))
        for selector in Self.evaluatedSelectors {
            #expect(known.contains(selector), "\(selector)")
        }
    }

    /// The selectors of all predefined functions and all methods of values that Ferry evaluates.
    private static var evaluatedSelectors: [String] {
        let written = Set(ValueOperator.all.map(\.selector)).union(PredefinedFunction.refused.keys)
        let functions = PredefinedFunction.all.keys.filter { !written.contains($0) && $0 != "castObject:toType:" }
        return (functions + TypedFunction.methods.map(\.selector)).sorted()
    }
}
