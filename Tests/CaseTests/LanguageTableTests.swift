import Foundation
import TestSupport
import Testing

@testable import FerryExpression

/// The table of `docs/expressions.md` that names a case for each construct.
@Suite("Every construct has a case")
struct LanguageTableTests {
    private struct Row: Sendable {
        var construct: String
        var place: String
    }

    private static let rows: [Row] = {
        let path = Fixtures.packageRoot + "/docs/expressions.md"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        guard let start = text.range(of: "## Every construct and its case") else { return [] }
        return text[start.upperBound...].split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5, let first = cells[1].firstIndex(of: "`"), let last = cells[1].lastIndex(of: "`"),
                first != last
            else { return nil }
            return Row(
                construct: String(cells[1][cells[1].index(after: first)..<last]),
                place: cells[3].trimmingCharacters(in: .whitespaces))
        }
    }()

    @Test("The text of every construct is in the mapping of its case")
    func hasCase() throws {
        #expect(Self.rows.count > 100)
        for row in Self.rows where !row.place.hasPrefix("(") {
            let mapping = "\(Case.folder)/\(row.place)/mapping.json"
            let file = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: mapping)))
            #expect(Self.texts(file).contains { $0.contains(row.construct) }, "\(row.construct) in \(row.place)")
        }
    }

    private static func texts(_ value: Any) -> [String] {
        switch value {
        case let text as String: [text]
        case let list as [Any]: list.flatMap(texts)
        case let object as [String: Any]: object.values.flatMap(texts)
        default: []
        }
    }

    /// The selectors of all predefined functions and all methods of values that Ferry evaluates.
    private static var evaluatedSelectors: [String] {
        let written = Set(ValueOperator.all.map(\.selector)).union(PredefinedFunction.refused.keys)
        let functions = PredefinedFunction.all.keys.filter { !written.contains($0) && $0 != "castObject:toType:" }
        return (functions + TypedFunction.methods.map(\.selector)).sorted()
    }

    @Test("The table lists every predefined function and every method")
    func isWhole() {
        let known = Set(Self.rows.map(\.construct))
        for selector in Self.evaluatedSelectors {
            let forms = [selector, "\(selector)(", "\(selector)()", "\(selector.dropLast())("]
            #expect(forms.contains(where: known.contains), "\(selector)")
        }
    }
}
