import FerryExpression
import FerryModel
import FerryVerify
import Testing

@Suite("Plain evaluator")
struct PlainEvaluatorTests {
    /// A user with three books, in memory.
    private struct Shelf: PlainObjectSource {
        func value(of attribute: String, in object: PlainObject) throws -> PlainValue {
            switch (object.entity, attribute) {
            case ("User", "name"): .string("Zoë 😀")
            case ("User", "age"): .integer(41)
            case ("User", "empty"): .null
            case ("User", "json"):
                .string(#"{"list": [1, "two", 3.5, null, {"k": [true]}, 18446744073709551616], "list2": {}}"#)
            case ("Book", "title"): .string("Book \(object.key)")
            case ("Book", "price"): .real(Double(object.key) / 2)
            default: throw PlainFailure("no \(attribute)")
            }
        }

        func property(_ name: String, of entity: String) -> PlainProperty {
            guard ["books", "owner", "nobody"].contains(name) else { return .other }
            return .relationship(destination: name == "books" ? "Book" : "User", isToMany: name == "books")
        }

        func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws {
            for key in [1, 2, 3] as [Int64] { try body(PlainObject(entity: entity, key: key)) }
        }

        func eachRelated(
            _ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void
        ) throws {
            switch relationship {
            case "books": for key in [3, 1, 2] as [Int64] { try body(PlainObject(entity: "Book", key: key)) }
            case "owner": try body(PlainObject(entity: "User", key: 1))
            default: break
            }
        }
    }

    private let evaluator = PlainEvaluator(objects: Shelf(), now: 12.5)
    private let user = PlainScope(source: PlainObject(entity: "User", key: 1))
    private let book = PlainScope(source: PlainObject(entity: "Book", key: 3))

    @Test(
        "Expressions have Core Data's values",
        arguments: [
            ("1 / 2", .integer(0)), ("-7 / 2", .integer(-3)), ("1 / 2.0", .real(0.5)), ("2 ** 3", .real(8)),
            ("7 - 2 * 3", .integer(1)), ("$source.age + 1", .integer(42)), ("$source.age * 0.5", .real(20.5)),
            ("age", .integer(41)), ("$source.empty + 1", .null), ("now()", .real(12.5)),
            ("$source.name.length", .integer(6)), ("uppercase($source.name)", .string("ZOË 😀")),
            ("TRUE + 1", .integer(2)),
            ("$source.books.@count", .integer(3)), ("$source.nobody.name", .null), ("'text'", .string("text")),
            ("NIL", .null),
        ] as [(String, PlainValue)])
    func values(text: String, expected: PlainValue) throws {
        #expect(try evaluator.value(of: try Expression.parse(text), in: user) == expected)
    }

    @Test(
        "An expression without a value fails",
        arguments: ["1 / 0", "9223372036854775807 + 1", "$source.name * 2", "$source.books.title", "$other.name"])
    func failures(text: String) throws {
        let expression = try Expression.parse(text)
        #expect(throws: PlainFailure.self) { try evaluator.value(of: expression, in: user) }
    }

    @Test("A path follows to-one relationships")
    func followsToOne() throws {
        #expect(try evaluator.value(of: try Expression.parse("$source.owner.age"), in: book) == .integer(41))
    }

    @Test(
        "Predicates hold by Core Data's rules for nil",
        arguments: [
            ("empty == nil", true), ("nil == nil", true), ("empty != nil", false), ("empty < 5", false),
            ("NOT (empty < 5)", true), ("age > 40.5 AND age <= 41", true), ("age == 41.0", true),
            ("age < 9223372036854775807", true), ("name == 'zoë 😀'", false), ("name ==[c] 'zoë 😀'", true),
            ("name ==[cd] 'zoe 😀'", true), ("name MATCHES 'Zo'", false), ("name MATCHES 'Zo.*'", true),
            ("name MATCHES 'a|Zo. .'", true), ("empty MATCHES '.*'", false), ("name < 'zoe'", true),
            ("TRUEPREDICATE", true), ("age == 1 OR name != 'x'", true),
        ])
    func predicates(text: String, expected: Bool) throws {
        #expect(try evaluator.holds(try Predicate.parse(text), in: user) == expected)
    }

    @Test("Objects keep the order of the relationship, operators on collections change nothing")
    func objects() throws {
        for text in ["$source.books", "$source.books.@distinctUnionOfSets.owner.books"] {
            var keys: [Int64] = []
            try evaluator.eachObject(of: try Expression.parse(text), in: user) { keys.append($0.key) }
            #expect(keys == (text == "$source.books" ? [3, 1, 2] : [3, 1, 2, 3, 1, 2, 3, 1, 2]))
        }
        try evaluator.eachObject(of: try Expression.parse("$source.nobody"), in: user) { _ in
            Issue.record("an empty relationship has objects")
        }
    }

    @Test("JSON elements give the values that they represent")
    func jsonElements() throws {
        var values: [PlainValue] = []
        try evaluator.eachElement(of: .json(.keyPath(.variable("source"), [.key("json")]), key: "list"), in: user) {
            #expect($1 == Int64(values.count))
            values.append($0.plain)
        }
        #expect(
            values == [
                .integer(1), .string("two"), .real(3.5), .null, .string(#"{"k": [true]}"#),
                .real(18_446_744_073_709_551_616),
            ])
        #expect(throws: PlainJSON.Invalid.self) {
            try evaluator.eachElement(of: .json(.keyPath(.variable("source"), [.key("json")]), key: "list2"), in: user)
            {
                _, _ in
            }
        }
    }

    @Test("JSON keys lead into an element; a key of nil is nil")
    func jsonKeys() throws {
        let element = PlainValue.json(try PlainJSON(Array(#"{"a": {"b": "c"}, "a2": 5, "a2": 6}"#.utf8)))
        let scope = PlainScope(source: user.source, variable: "e", element: element)
        for (text, expected) in [
            ("$e.a.b", .string("c")), ("$e.a2", .integer(6)), ("$e.a.b.c", .null), ("$e.x", .null),
        ] as [(String, PlainValue)] {
            #expect(try evaluator.value(of: try Expression.parse(text), in: scope).plain == expected)
        }
    }

    @Test(
        "Only complete and strict JSON is accepted",
        arguments: [
            ("[]", true), (" {\"a\":[1,-0.5e+3]} ", true), ("\"\\ud83d\\ude00\"", true), ("[1,]", false),
            ("[01]", false),
            ("{\"a\"}", false), ("[1] 2", false), ("\"\\ud83d\"", false), ("nul", false), ("", false),
            ("[\u{1}]", false),
            ("\"\t\"", false), (String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000), true),
            (String(repeating: "[", count: 100_000), false),
        ])
    func strictJSON(text: String, isValid: Bool) {
        var isJSON = true
        do { _ = try PlainJSON(Array(text.utf8)) } catch { isJSON = false }
        #expect(isJSON == isValid)
    }

    /// One object with a document that is whole or in pieces.
    private struct Sheet: PlainObjectSource {
        let document: [UInt8]
        /// Nil for a whole document.
        var pieceBytes: Int?

        func value(of attribute: String, in object: PlainObject) throws -> PlainValue { .text(document) }

        func longText(of attribute: String, in object: PlainObject) throws -> PlainText? {
            pieceBytes.map { PlainText(count: document.count, pieceBytes: $0) { Array(document[$0]) } }
        }

        func property(_ name: String, of entity: String) -> PlainProperty { .other }
        func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws {}
        func eachRelated(_ name: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws {}
    }

    @Test("A document in pieces has the elements and values of the whole tree, and is refused like it")
    func documentsInPieces() throws {
        let valid =
            #" {"list": [{"a": "é😀\u00e9\ud83d\ude00"}, [1, [], {}], -2.5e3, "x", null], "b": {"c": [true]}, "list": [7, "中"]} "#
        var documents = [
            valid, "", " \t\n", "null", "[]", "[1,]", "[[1], 2]", "{}", "7", "\"text\"", "{\"list\": null}",
            "{\"list\": {}}",
            "{\"list\": 5}", "[1] 2", "[01]", "nul", "{\"l\\u0069st\": [1]}", "{\"list\": [1], \"list\": 2}",
            "\u{FEFF}[1]",
            String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000),
            String(repeating: "[", count: 1001) + String(repeating: "]", count: 1001),
        ].map { Array($0.utf8) }
        let bytes = Array(valid.utf8)
        for place in bytes.indices {
            documents.append(Array(bytes[..<place]))
            for byte in [0x00, 0x22, 0x5C, 0x5D, 0x80, 0xFF] as [UInt8] {
                documents.append(bytes)
                documents[documents.endIndex - 1][place] = byte
            }
        }
        let scope = PlainScope(source: PlainObject(entity: "Sheet", key: 1))
        let text = FerryExpression.Expression.keyPath(.variable("source"), [.key("text")])
        for document in documents {
            for key in ["list", ""] {
                let expected = try? Self.elements(of: document, under: key)
                let first = try? Self.first(of: document)
                for pieceBytes in [nil, 5, 16] as [Int?] {
                    let evaluator = PlainEvaluator(objects: Sheet(document: document, pieceBytes: pieceBytes), now: 0)
                    var found: [PlainValue]? = []
                    do {
                        try evaluator.eachElement(of: .json(text, key: key), in: scope) { element, index in
                            #expect(index == Int64(found?.count ?? 0))
                            found?.append(element)
                        }
                    } catch is PlainJSON.Invalid {
                        // A wrong text has no element.
                        #expect(found == [])
                        found = nil
                    }
                    #expect(found?.map(\.plain) == expected?.map(\.plain))
                    let value = try? evaluator.value(of: .json(text, key: "b.c"), in: scope)
                    #expect(value == first)
                }
            }
        }
    }

    /// The elements by the tree of the whole document.
    private static func elements(of document: [UInt8], under key: String) throws -> [PlainValue] {
        if document.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) { return [] }
        var value = try PlainJSON(document)
        if !key.isEmpty {
            switch value {
            case .object: value = value.member(key) ?? .null
            case .null: break
            default: throw PlainFailure("the value is no array")
            }
        }
        switch value {
        case .null: return []
        case .array(let list): return list.elements.map { .json($0) }
        default: throw PlainFailure("the value is no array")
        }
    }

    private static func first(of document: [UInt8]) throws -> PlainValue {
        if document.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) { return .null }
        return PlainValue.json(try PlainJSON(document).member("b")?.member("c") ?? .null).plain
    }

    @Test(
        "A type stores a value exactly, or fails",
        arguments: [
            (.real(2.9), .integer16, .integer(2)), (.real(-2.9), .integer64, .integer(-2)),
            (.integer(40_000), .integer16, nil),
            (.string("12"), .integer32, .integer(12)), (.string("12 "), .integer32, nil),
            (.real(.infinity), .integer64, nil),
            (.integer(3), .double, .real(3)), (.real(0.1), .float, .real(Double(Float(0.1)))),
            (.real(1e300), .float, nil),
            (.real(3), .string, .string("3")), (.real(0.5), .string, .string("0.5")),
            (.boolean(true), .string, .string("1")),
            (.string("YES"), .boolean, .integer(1)), (.string("maybe"), .boolean, nil),
            (.integer(2), .boolean, .integer(1)),
            (.string("100"), .date, nil), (.integer(100), .date, .real(100)), (.null, .uuid, .null),
            (.string("00010203-0405-0607-0809-0A0B0C0D0E0F"), .uuid, .blob(Array(0...15))),
            (.blob(Array(0...15)), .string, .string("00010203-0405-0607-0809-0A0B0C0D0E0F")),
            (.blob([1]), .double, nil),
        ] as [(PlainValue, AttributeType, PlainValue?)])
    func conversions(value: PlainValue, type: AttributeType, expected: PlainValue?) throws {
        guard let expected else {
            #expect(throws: PlainFailure.self) { try PlainConversion.stored(value, as: type) }
            return
        }
        #expect(try PlainConversion.stored(value, as: type) == expected)
    }
}

/// The sources of these tests hold their values in memory, without look-ups and mostly without long texts.
extension PlainObjectSource {
    func longText(of attribute: String, in object: PlainObject) throws -> PlainText? { nil }

    func eachObject(
        of entity: String, meeting equality: PlainEvaluator.Equality, _ body: (PlainObject) throws -> Void
    ) throws -> Bool { false }
}
