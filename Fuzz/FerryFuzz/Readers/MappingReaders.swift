import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import Foundation

/// Passes an input to the reader of mapping models, in a file with an extension of its format.
private struct MappingInput {
    let path: String

    init(_ folder: String, _ name: String) { path = folder + "/" + name }

    func read(_ input: [UInt8]) throws {
        try write(input, to: path)
        _ = try MappingFile.load(path: path)
    }
}

let expressionWords = [
    "(", ")", "{", "}", "[", "]", ",", ".", "+", "-", "*", "/", "**", "==", "!=", "<=", "=<", "<>", "&&", "||", "!",
    " AND ", " OR ", " NOT ", " LIKE ", " MATCHES ", " IN {1,2}", " BETWEEN {1,2}", " CONTAINS[cd] ", " BEGINSWITH ",
    "$source.title", "$source", "SELF", "title", "price", "authors.@count", "@sum", "#in", "nil", "TRUEPREDICATE",
    "uppercase:(", "lowercase:(", "ifnil:then:(", "modulus:by:(", "castObject:toType:(", "FUNCTION(", "JSON(", "CAST(",
    "TERNARY(", "SUBQUERY(", "now()", "'a'", "\"b\"", "'?*?*?*?*?*?*?*?*?*'", "'(a+)+$'", "\\u0041", "\\uD834\\uDD1E",
    "0x7FFFFFFFFFFFFFFF", "0b1", "1e308", "%@", "$", "@", "#", "ANY ", "\u{301}", "é",
]

struct MappingXMLFileReader: FuzzReader {
    static let name = "mapping-xml"
    static let shape = Shape.text(
        expressionWords + [
            "<object type=\"XDDEVENTITYMAPPING\" id=\"z100\">", "</object>",
            "<attribute name=\"name\" type=\"string\">",
            "</attribute>", "<relationship name=\"entitymappings\" idrefs=\"z100 z101 z102\"></relationship>",
            "idrefs=\"z102 z102\"", "XDDEVMAPPINGMODEL", "XDDEVATTRIBUTEMAPPING", "\\u3c00", "\\uffff", "<![CDATA[",
            "]]>", "&#xD800;", "<!ENTITY a \"b\">", "sourcemodeldata",
        ])
    let seeds: [[UInt8]]
    private let input: MappingInput

    init(folder: String, corpus: Corpus) {
        input = MappingInput(folder, "xcmapping.xml")
        // Most of the bytes are embedded models, which the reader drops at once.
        seeds =
            corpus.files(limit: 4 << 20) { $0.hasSuffix("xcmapping.xml") }.map(Self.withoutModels)
            .filter { $0.count < 64 << 10 }
            + [
                Array(
                    """
                    <?xml version="1.0"?><database><object type="XDDEVMAPPINGMODEL" id="z100">
                    <attribute name="sourcemodelpath" type="string">A.xcdatamodel</attribute>
                    <attribute name="destinationmodelpath" type="string">B.xcdatamodel</attribute>
                    <relationship name="entitymappings" type="0/0" idrefs="z101"></relationship></object>
                    <object type="XDDEVENTITYMAPPING" id="z101"><attribute name="sourcename" type="string">A</attribute>
                    <attribute name="destinationname" type="string">B</attribute><attribute name="mappingnumber"
                    type="int16">1</attribute></object></database>
                    """.utf8)
            ]
    }

    private static func withoutModels(_ bytes: [UInt8]) -> [UInt8] {
        var text = String(decoding: bytes, as: UTF8.self)
        for name in ["sourcemodeldata", "destinationmodeldata"] {
            guard let start = text.range(of: "name=\"\(name)\" type=\"binary\">"),
                let end = text.range(of: "</attribute>", range: start.upperBound..<text.endIndex)
            else { continue }
            text.removeSubrange(start.upperBound..<end.lowerBound)
        }
        return Array(text.utf8)
    }

    func read(_ bytes: [UInt8]) throws { try input.read(bytes) }
}

struct CompiledMappingReader: FuzzReader {
    static let name = "mapping-compiled"
    static let shape = Shape.propertyList
    let seeds: [[UInt8]]
    private let input: MappingInput

    init(folder: String, corpus: Corpus) {
        input = MappingInput(folder, "Mapping.cdm")
        seeds = [Self.archive]
    }

    func read(_ bytes: [UInt8]) throws { try input.read(bytes) }

    /// An archive of one entity mapping with expressions, in the form that the compiler of mapping models writes.
    static let archive: [UInt8] = {
        var objects: [PropertyTree] = [.string("$null")]
        func add(_ object: PropertyTree) -> PropertyTree {
            objects.append(object)
            return .uid(objects.count - 1)
        }
        func type(_ names: String...) -> PropertyTree {
            add(
                .dictionary([
                    "$classname": .string(names[0]), "$classes": .array((names + ["NSObject"]).map { .string($0) }),
                ]))
        }
        let array = type("NSArray")
        func list(_ elements: [PropertyTree]) -> PropertyTree {
            add(.dictionary(["$class": array, "NS.objects": .array(elements)]))
        }
        let expression = type("NSFunctionExpression", "NSExpression")
        let constant = type("NSConstantValueExpression", "NSExpression")
        let variable = type("NSVariableExpression", "NSExpression")
        let source = add(
            .dictionary(["$class": variable, "NSVariable": add(.string("source")), "NSExpressionType": .integer(2)]))
        let key = add(
            .dictionary([
                "$class": constant, "NSConstantValue": add(.string("title")), "NSExpressionType": .integer(0),
            ]))
        var value = add(
            .dictionary([
                "$class": expression, "NSOperand": source, "NSSelectorName": add(.string("valueForKey:")),
                "NSArguments": list([key]), "NSExpressionType": .integer(3),
            ]))
        let utilities = add(
            .dictionary([
                "$class": constant, "NSConstantValueClassName": add(.string("_NSPredicateUtilities")),
                "NSExpressionType": .integer(0),
            ]))
        value = add(
            .dictionary([
                "$class": expression, "NSOperand": utilities, "NSSelectorName": add(.string("uppercase:")),
                "NSArguments": list([value]), "NSExpressionType": .integer(4),
            ]))
        let property = add(
            .dictionary([
                "$class": type("NSPropertyMapping"), "NSDestinationPropertyName": add(.string("heading")),
                "NSValueExpression": value,
            ]))
        let mapping = add(
            .dictionary([
                "$class": type("NSEntityMapping"), "NSMappingName": add(.string("BookToBook")),
                "NSSourceEntityName": add(.string("Book")), "NSDestinationEntityName": add(.string("Book")),
                "NSAttributeMappings": list([property]), "NSRelationshipMappings": list([property]),
                "NSSourceEntityVersionHash": add(.data([UInt8](repeating: 1, count: 32))), "NSMappingType": .integer(1),
            ]))
        let root = add(.dictionary(["$class": type("NSMappingModel"), "NSEntityMappings": list([mapping])]))
        return PropertyTree.dictionary([
            "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
            "$top": .dictionary(["root": root]), "$objects": .array(objects),
        ]).binary
    }()
}

struct JSONMappingReader: FuzzReader {
    static let name = "mapping-json"
    static let shape = Shape.text(
        expressionWords + [
            "{", "[", "\"", ":", "\"entityMappings\":[", "\"forEach\":{\"a\":\"$source.authors\"}",
            "\"unique\":[\"a\"]",
            "\"where\":\"", "\"attributes\":{", "\"relationships\":{", "\"partitions\":[[", "\"extends\":\"x.json\"",
            "null", "true", "\\ud800", "\\u0000", "1e999", "-", "\"automatic\":false", "\"onInvalid\":\"skip\"",
        ])
    let seeds: [[UInt8]]
    private let input: MappingInput

    init(folder: String, corpus: Corpus) {
        input = MappingInput(folder, "mapping.json")
        seeds = [
            Array(
                """
                {"ferry": 1, "source": "Model1", "destination": "Model2", "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book", "where": "title != nil",
                  "attributes": { "heading": "$source.title", "price": "$source.price * 1.2", "notes": null },
                  "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" } } },
                { "name": "BookAuthor", "source": "Book", "destination": "Author", "unique": ["name"],
                  "forEach": { "artist": "JSON($source.json, 'artists')" }, "onInvalid": "skip",
                  "attributes": { "name": "$artist.name", "age": -12.5e3, "flag": true } } ],
                "partitions": [["BookToBook"], ["BookAuthor"]] }
                """.utf8)
        ]
    }

    func read(_ bytes: [UInt8]) throws { try input.read(bytes) }
}

/// Expressions and predicates in text, parsed and then resolved against a model.
struct ExpressionReader: FuzzReader {
    static let name = "expression"
    static let shape = Shape.text(expressionWords)
    let seeds: [[UInt8]]
    private let scope: ExpressionScope

    init(folder: String, corpus: Corpus) {
        let author = Entity(
            name: "Author", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "books", destinationEntity: "Book", inverseName: "author", maxCount: 0)])
        let book = Entity(
            name: "Book",
            attributes: [
                Attribute(name: "title", type: .string), Attribute(name: "price", type: .double),
                Attribute(name: "pages", type: .integer64), Attribute(name: "json", type: .binary),
            ],
            relationships: [
                Relationship(name: "author", destinationEntity: "Author", inverseName: "books", maxCount: 1)
            ])
        scope = ExpressionScope(
            model: ManagedObjectModel(versionIdentifiers: [], entities: [book, author]), entity: "Book")
        seeds = [
            "$source.title", "uppercase:(lowercase:($source.author.name))", "price * 1.2 + 3 - -4 / 2 ** 2",
            "title LIKE[c] 'a*b?c' AND NOT (pages BETWEEN {1, 0x10} OR price IN {1.5, 2})",
            "ifnil:then:(title, 'x\\u00e9\\n') == author.name", "author.books.@count > 3 && title MATCHES '[a-z]+'",
            "FUNCTION($entityPolicy, 'name:of:', 1, $source)", "JSON($source.json, 'a')", "modulus:by:(pages, 7)",
            "castObject:toType:(pages, 'NSString') CONTAINS 'x'", "title != nil", "TRUEPREDICATE", "$a.b.c.d",
        ].map { Array($0.utf8) }
    }

    func read(_ input: [UInt8]) throws {
        let text = String(decoding: input, as: UTF8.self)
        var failures: [any Error] = []
        for attempt in [value, predicate] {
            do { try attempt(text) } catch { failures.append(error) }
        }
        // A valid text is an expression or a predicate.
        if failures.count == 2 { throw failures[0] }
    }

    private func value(_ text: String) throws {
        let expression = try Expression.parse(text)
        // The text of a parsed expression has the same meaning.
        let again = try Expression.parse("\(expression)")
        precondition(again == expression, "An expression does not survive being written.")
        _ = try ExpressionTranslation(scope: scope).value(expression, for: Attribute(name: "title", type: .string))
    }

    private func predicate(_ text: String) throws {
        let predicate = try Predicate.parse(text)
        let again = try Predicate.parse("\(predicate)")
        precondition(again == predicate, "A predicate does not survive being written.")
        _ = try ExpressionTranslation(scope: scope).condition(predicate)
    }
}

/// Patterns of LIKE and its variants against a text; the text before the first NUL is the pattern.
struct PatternReader: FuzzReader {
    static let name = "pattern"
    static let shape = Shape.text([
        "*", "?", "?*", "*a", "\\*", "\\", "a", "aaaaaaaaaaaaaaaaaaaa", "\u{0}", "é", "\r\n", "𝄞",
    ])
    let seeds: [[UInt8]]
    private let function: ScalarFunction

    init(folder: String, corpus: Corpus) {
        seeds = ["a*b?c\u{0}axxbxc", "?*?*?*\u{0}aaaaaaaaaaaaaaaaa", "*\u{0}", "\\?*\u{0}?aa"].map { Array($0.utf8) }
        function = ScalarFunction.named("ferry_matches")!
    }

    func read(_ input: [UInt8]) throws {
        let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let pattern = String(decoding: parts[0], as: UTF8.self)
        let quoted = pattern.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'")
        guard case .comparison(let comparison) = try Predicate.parse("title LIKE '\(quoted)'"),
            case .constant(.string(let expression)) = comparison.right
        else { return }
        let text = Array((parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "").utf8)
        try matches(text, expression)
    }

    private func matches(_ text: [UInt8], _ pattern: String) throws {
        var result = FunctionResult()
        let pattern = Array(pattern.utf8)
        try text.withUnsafeBytes { text in
            try pattern.withUnsafeBytes { pattern in
                try [UInt8]().withUnsafeBytes { none in
                    try [FunctionValue.text(text), .text(pattern), .text(none)].withUnsafeBufferPointer {
                        try function.call($0, result: &result)
                    }
                }
            }
        }
    }
}

/// JSON in rows, as `forEach` unfolds it; the text before the first NUL is the key.
struct RowJSONReader: FuzzReader {
    static let name = "row-json"
    static let shape = Shape.text([
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\ud834\\udd1e\"", "\"\\ud800\"", "null", "true", "1e999", "-0.0",
        "9223372036854775808", "\u{0}", " ", "\n", "\"a\":[", "\\",
    ])
    let seeds: [[UInt8]]

    init(folder: String, corpus: Corpus) {
        seeds = [
            "a\u{0}{\"a\": [1, 2.5, \"x\", null, true, {\"b\": [1]}], \"c\": {}}",
            "\u{0}[1, [2], {\"a\": \"b\\u00e9\"}]",
            "a\u{0}{\"b\": 1}", "a\u{0}{\"a\": null}",
        ].map { Array($0.utf8) }
    }

    func read(_ input: [UInt8]) throws {
        let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let (key, text) = (Array(parts[0]), Array(parts.count > 1 ? parts[1] : []))
        var result = FunctionResult()
        try text.withUnsafeBytes { text in
            try key.withUnsafeBytes { key in
                var scanner = try JSONArrayScanner(text, key: key)
                var count = 0
                while let element = try scanner.next() {
                    element.read(into: &result)
                    element.read([Array("b".utf8), Array("0".utf8)], into: &result)
                    count += 1
                    precondition(count <= text.count, "There are more elements than bytes.")
                }
            }
        }
    }
}
