internal import FerryBase
internal import Foundation

/// `BEGINSWITH`, `ENDSWITH`, `CONTAINS` and `LIKE` where the text that is looked for is known only row by row.
extension ScalarFunction {
    static let searches: [ScalarFunction] = [
        search("ferry_begins_with", .beginsWith), search("ferry_ends_with", .endsWith),
        search("ferry_text_contains", .contains), search("ferry_like", .like),
    ]

    private static func search(_ name: String, _ kind: TextOperator) -> ScalarFunction {
        let title = kind.rawValue
        return ScalarFunction(name, title: title, arguments: 3) { arguments, result throws(FerryError) in
            let options = try TextOptions(arguments[2], title)
            guard let string = try arguments[0].string(title), let wanted = try arguments[1].string(title),
                !wanted.isEmpty || kind == .like
            else { return result.set(false) }
            let pattern = Array(kind.pattern(for: wanted).utf8)
            let compiled = pattern.withUnsafeBytes { pattern in
                Result { () throws(FerryError) in try result.patterns.expression(for: pattern, options) }
            }
            let expression = try compiled.get()
            let subject = folded(string, TextOptions(ignoresCase: false, ignoresDiacritics: options.ignoresDiacritics))
            let whole = NSRange(location: 0, length: subject.utf16.count)
            result.set(expression.firstMatch(in: subject, range: whole) != nil)
        }
    }
}
