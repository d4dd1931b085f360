internal import FerryBase

/// Writes archived expressions and predicates of a model as text in the form of a source file.
///
/// Models hold few: derivations of attributes and predicates of partial indexes. An expression without a known text
/// form throws `.badArchive` with its class, so that Ferry never reads a part of an expression as the whole.
enum ArchivedExpressionText {
    /// Returns the text of an `NSExpression`; `pages.@count` for the archived `count:(pages)`.
    static func expression(_ object: ArchivedObject) throws(FerryError) -> String {
        let name = try object.className ?? "a plain value"
        switch name {
        case "NSSelfExpression": return "SELF"
        case "NSKeyPathSpecifierExpression":
            guard let path = try object.text("NSKeyPath") else { throw unreadable(name) }
            return path
        case "NSVariableExpression":
            guard let variable = try object.text("NSVariable") else { throw unreadable(name) }
            return "$" + variable
        case "NSConstantValueExpression":
            guard let value = try object.object("NSConstantValue") else { return "nil" }
            return try constant(value)
        case "NSKeyPathExpression", "NSFunctionExpression": return try function(object, className: name)
        case "NSAggregateExpression":
            guard let elements = try object.elements("NSCollection") else { throw unreadable(name) }
            return "{" + (try texts(elements)).joined(separator: ", ") + "}"
        default: throw unreadable(name)
        }
    }

    private static func function(_ object: ArchivedObject, className: String) throws(FerryError) -> String {
        guard let selector = try object.text("NSSelectorName") else { throw unreadable(className) }
        let arguments = try texts(try object.elements("NSArguments") ?? [])
        if selector == "valueForKey:" || selector == "valueForKeyPath:" {
            guard arguments.count == 1 else { throw unreadable(className) }
            guard let operand = try object.object("NSOperand"), try operand.className != "NSSelfExpression" else {
                return arguments[0]
            }
            return try expression(operand) + "." + arguments[0]
        }
        // Only the built-in functions have a text form; their receiver is a class, not a value.
        guard let receiver = try object.object("NSOperand"), try receiver.text("NSConstantValueClassName") != nil else {
            throw unreadable(className)
        }
        switch (selector, arguments.count) {
        case ("count:", 1): return arguments[0] + ".@count"
        case ("sum:", 1): return arguments[0] + ".@sum"
        case (_, 0): return selector + "()"
        default: return selector + "(" + arguments.joined(separator: ", ") + ")"
        }
    }

    private static func texts(_ objects: [ArchivedObject]) throws(FerryError) -> [String] {
        try objects.map { object throws(FerryError) in try expression(object) }
    }

    private static func constant(_ value: ArchivedObject) throws(FerryError) -> String {
        switch value.value {
        case .plain(.bool(let flag)): return flag ? "1" : "0"
        case .plain(.integer(let number)): return String(number)
        case .plain(.real(let number)): return String(number)
        default: break
        }
        if let text = try value.text { return quoted(text) }
        if let elements = try value.elements {
            let texts = try elements.map { element throws(FerryError) in try constant(element) }
            return "{" + texts.joined(separator: ", ") + "}"
        }
        if try value.isNull { return "nil" }
        throw unreadable(try value.className ?? "a plain value")
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.flatMap { character in
            character == "\\" || character == "\"" ? ["\\", character] : [character]
        }
        return "\"" + String(escaped) + "\""
    }

    /// Returns the text of an `NSPredicate`; a compound predicate inside another one gets parentheses.
    static func predicate(_ object: ArchivedObject, isNested: Bool = false) throws(FerryError) -> String {
        let name = try object.className ?? "a plain value"
        switch name {
        case "NSTruePredicate": return "TRUEPREDICATE"
        case "NSFalsePredicate": return "FALSEPREDICATE"
        case "NSComparisonPredicate":
            guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
                let operation = try object.object("NSPredicateOperator")
            else { throw unreadable(name) }
            return try expression(left) + " " + (try comparison(operation)) + " " + (try expression(right))
        case "NSCompoundPredicate":
            guard let parts = try object.elements("NSSubpredicates") else { throw unreadable(name) }
            let texts = try parts.map { part throws(FerryError) in try predicate(part, isNested: true) }
            switch try object.integer("NSCompoundPredicateType") {
            case 0 where texts.count == 1: return "NOT (\(texts[0]))"
            case 1 where !texts.isEmpty, 2 where !texts.isEmpty:
                let word = try object.integer("NSCompoundPredicateType") == 1 ? " AND " : " OR "
                let text = texts.joined(separator: word)
                return isNested && texts.count > 1 ? "(\(text))" : text
            default: throw unreadable(name)
            }
        default: throw unreadable(name)
        }
    }

    /// Returns the operator's spelling, by the raw values of `NSComparisonPredicate.Operator`.
    private static func comparison(_ operation: ArchivedObject) throws(FerryError) -> String {
        let spellings: [Int64: String] = [
            0: "<", 1: "<=", 2: ">", 3: ">=", 4: "==", 5: "!=", 6: "MATCHES", 7: "LIKE", 8: "BEGINSWITH",
            9: "ENDSWITH", 10: "IN", 99: "CONTAINS",
        ]
        let number = try operation.integer("NSOperatorType") ?? -1
        let modifier = try operation.integer("NSModifier") ?? 0
        let flags = try operation.integer("NSFlags")
        let options = try operation.integer("NSOptions") ?? flags ?? 0
        guard let spelling = spellings[number], modifier == 0, (0...3).contains(options) else {
            throw unreadable("comparison \(number)")
        }
        return spelling + ["", "[c]", "[d]", "[cd]"][Int(options)]
    }

    private static func unreadable(_ what: String) -> FerryError {
        FerryError(
            .badArchive, "An archived expression of the model has no known text form (\(what)).",
            remedy: "Use the model's source (.xcdatamodeld) instead of its compiled form.")
    }
}

/// Writes the derivation expressions of a model as archived `NSExpression`s.
enum ArchivedExpressionWriter {
    private static let expression = ["NSExpression", "NSObject"]

    /// Returns the archived form of a derivation's text, or nil if a model cannot have such a derivation.
    ///
    /// The text is a key path, `relationship.@count`, `relationship.attribute.@sum`, `canonical:(name)` or `now()`.
    static func derivation(_ text: String, in archive: inout KeyedArchiveWriter) -> PropertyTree? {
        for (suffix, selector) in [(".@count", "count:"), (".@sum", "sum:")] where text.hasSuffix(suffix) {
            guard let path = keyPath(String(text.dropLast(suffix.count)), in: &archive) else { return nil }
            return function(selector, [path], in: &archive)
        }
        if text == "now()" { return function("now", [], in: &archive) }
        if let colon = text.firstIndex(of: ":"), text.hasSuffix(")") {
            let rest = text[text.index(after: colon)...]
            guard rest.hasPrefix("("), ManagedObjectModel.isName(text[..<colon]),
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
        guard !parts.isEmpty, parts.allSatisfy(ManagedObjectModel.isName) else { return nil }
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
}
