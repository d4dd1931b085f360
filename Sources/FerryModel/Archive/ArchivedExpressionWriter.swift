/// Writes the derivation expressions of a model as archived `NSExpression`s.
enum ArchivedExpressionWriter {
    private static let expression = ["NSExpression", "NSObject"]

    /// The archived form of a derivation's text, or nil when it is none that a model can have.
    ///
    /// The text is a key path, `relationship.@count`, `relationship.attribute.@sum`, a function of one key path such as
    /// `canonical:(name)`, or `now()`.
    static func derivation(_ text: String, in archive: inout KeyedArchiveWriter) -> PropertyTree? {
        for (suffix, selector) in [(".@count", "count:"), (".@sum", "sum:")] where text.hasSuffix(suffix) {
            guard let path = keyPath(String(text.dropLast(suffix.count)), in: &archive) else { return nil }
            return function(selector, [path], in: &archive)
        }
        if text == "now()" { return function("now", [], in: &archive) }
        if let colon = text.firstIndex(of: ":"), text.hasSuffix(")") {
            let rest = text[text.index(after: colon)...]
            guard rest.hasPrefix("("), isName(text[..<colon]),
                let path = keyPath(String(rest.dropFirst().dropLast()), in: &archive)
            else { return nil }
            return function(String(text[...colon]), [path], in: &archive)
        }
        return keyPath(text, in: &archive)
    }

    private static func function(
        _ selector: String, _ arguments: [PropertyTree], in archive: inout KeyedArchiveWriter
    ) -> PropertyTree {
        // The built-in functions belong to a class, not to a value.
        let receiver = archive.object(
            ["NSConstantValueExpression"] + expression,
            ["NSExpressionType": .integer(0), "NSConstantValueClassName": archive.text("_NSPredicateUtilities")])
        return archive.object(
            ["NSFunctionExpression"] + expression,
            [
                "NSExpressionType": .integer(4), "NSOperand": receiver, "NSSelectorName": archive.text(selector),
                "NSArguments": archive.array(arguments),
            ])
    }

    private static func keyPath(_ path: String, in archive: inout KeyedArchiveWriter) -> PropertyTree? {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard !parts.isEmpty, parts.allSatisfy(isName) else { return nil }
        let specifier = archive.object(
            ["NSKeyPathSpecifierExpression"] + expression,
            ["NSExpressionType": .integer(10), "NSKeyPath": archive.text(path)])
        let receiver = archive.object(["NSSelfExpression"] + expression, ["NSExpressionType": .integer(1)])
        return archive.object(
            ["NSKeyPathExpression", "NSFunctionExpression"] + expression,
            [
                "NSExpressionType": .integer(3), "NSOperand": receiver,
                "NSSelectorName": archive.text(parts.count > 1 ? "valueForKeyPath:" : "valueForKey:"),
                "NSArguments": archive.array([specifier]),
            ])
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }
}
