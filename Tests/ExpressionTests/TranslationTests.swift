import FerryBase
import FerryExpression
import FerryModel
import TestSupport
import Testing

@Suite struct TranslationTests {
    @Test(
        "A value becomes SQL with only columns, placeholders and Ferry's functions",
        arguments: [
            ("$source.title", "heading", "s.title", []),
            ("title", "heading", "s.title", []),
            ("$source.publisher.name", "heading", "s.publisher.name", []),
            ("$source.title.length", "pages", "ferry_length(s.title)", []),
            ("$source.title.length", "pages16", "ferry_to_integer16(ferry_length(s.title))", []),
            ("$source.title.uppercaseString", "heading", "ferry_uppercase(s.title)", []),
            ("uppercase($source.title)", "heading", "ferry_uppercase(s.title)", []),
            ("$source.price * 1.2", "price", "(s.price * ?1)", ["1.2"]),
            ("$source.price + $source.weight - 1.5", "price", "((s.price + s.weight) - ?1)", ["1.5"]),
            ("$source.price * 2", "price", "ferry_multiply(s.price, ?1)", ["2"]),
            ("$source.price / 2.0", "price", "ferry_divide(s.price, ?1)", ["2.0"]),
            ("$source.pages * 60", "pages", "ferry_multiply(s.pages, ?1)", ["60"]),
            ("$source.pages * 1.5", "pages", "ferry_to_integer64(ferry_multiply(s.pages, ?1))", ["1.5"]),
            ("$source.date + 60", "date", "ferry_to_date(ferry_add(ferry_to_double(s.date), ?1))", ["60"]),
            ("$source.cost * 2.0", "cost", "ferry_to_decimal((ferry_to_double(s.cost) * ?1))", ["2.0"]),
            ("-$source.price", "price", "ferry_multiply(s.price, ?1)", ["-1"]),
            ("$source.price", "weight", "ferry_to_float(s.price)", []),
            ("$source.weight", "price", "s.weight", []),
            ("$source.pages16", "pages", "s.pages16", []),
            ("$source.pages", "pages16", "ferry_to_integer16(s.pages)", []),
            ("$source.isNew", "pages", "s.isNew", []),
            ("$source.pages", "isNew", "ferry_to_boolean(s.pages)", []),
            ("$source.pages", "heading", "ferry_to_string(s.pages)", []),
            ("$source.title", "pages", "ferry_to_integer64(s.title)", []),
            ("$source.title", "uuid", "ferry_to_uuid(s.title)", []),
            ("$source.uuid", "heading", "ferry_uuid_to_string(s.uuid)", []),
            ("$source.cost", "price", "ferry_to_double(s.cost)", []),
            ("$source.image", "image", "s.image", []),
            ("$source.size.width", "price", "s.size.width", []),
            ("ifnil:then:($source.pages, 7)", "pages", "ifnull(s.pages, ?1)", ["7"]),
            ("ifnil:then:($source.pages, 7)", "price", "ifnull(ferry_to_double(s.pages), ?1)", ["7.0"]),
            ("ifnil:then:($source.pages, 7) * 2", "pages", "ferry_multiply(ifnull(s.pages, ?1), ?2)", ["7", "2"]),
            (
                "ifnil:then:($source.uuid, '0E984725-C51C-4BF4-9960-E1C80E27ABA0')", "uuid",
                "ifnull(s.uuid, ferry_to_uuid(?1))", ["\"0E984725-C51C-4BF4-9960-E1C80E27ABA0\""]
            ),
            // The substitute may be larger than the first value's type, or of any type.
            (
                "{ifnil:then:($source.pages16, $source.pages)}[0]", "pages16",
                "ferry_to_integer16(ifnull(s.pages16, s.pages))", []
            ),
            (
                "{ifnil:then:(0.5, $item.n)}[0]", "price", "ferry_to_double(ifnull(?1, ferry_json_get(e.json, ?2)))",
                ["0.5", "\"n\""]
            ),
            ("now()", "date", "?1", ["now"]),
            ("now()", "price", "ferry_to_double(?1)", ["now"]),
            ("0", "price", "?1", ["0.0"]),
            ("5", "pages16", "?1", ["5"]),
            ("TRUE", "pages", "?1", ["TRUE"]),
            ("1", "isNew", "?1", ["TRUE"]),
            ("2.9", "pages", "?1", ["2"]),
            ("'Unknown'", "heading", "?1", ["\"Unknown\""]),
            ("7", "heading", "?1", ["\"7\""]),
            ("NULL", "heading", "?1", ["NULL"]),
            ("CAST(0, 'NSDate')", "date", "ferry_to_date(?1)", ["0"]),
            ("$item.name", "heading", "ferry_to_string(ferry_json_get(e.json, ?1))", ["\"name\""]),
            ("$item.a.b", "pages", "ferry_to_integer64(ferry_json_get(e.json, ?1, ?2))", ["\"a\"", "\"b\""]),
            ("$item", "heading", "ferry_to_string(e.value)", []),
            (
                "$item.n * 2", "price", "ferry_to_double(ferry_multiply(ferry_json_get(e.json, ?1), ?2))",
                ["\"n\"", "2"]
            ),
        ] as [(String, String, String, [String])])
    func translates(text: String, attribute: String, sql: String, parameters: [String]) throws {
        var translator = SQLTranslator(scope: Library.json, resolver: TextResolver())
        let destination = try #require(Library.model.attribute(attribute, of: "Destination"))
        let value = try ExpressionTranslation(scope: Library.json).value(try Expression.parse(text), for: destination)
        #expect(try translator.sql(value) == sql)
        #expect(translator.resolver.parameters == parameters)
    }

    @Test(
        "A condition becomes SQL that is 1 or 0, never NULL",
        arguments: [
            ("TRUEPREDICATE", "?1", ["TRUE"]),
            ("title != nil", "s.title IS NOT NULL", []),
            ("nil == title", "s.title IS NULL", []),
            ("publisher == nil", "s.publisher IS NULL", []),
            ("image != nil", "s.image IS NOT NULL", []),
            ("title == 'x'", "s.title IS ?1", ["\"x\""]),
            ("title != 'x'", "NOT (s.title IS ?1)", ["\"x\""]),
            ("title ==[c] 'x'", "ferry_text_equal(s.title, ?1, ?2)", ["\"x\"", "\"c\""]),
            ("title ==[n] 'x'", "s.title IS ?1", ["\"x\""]),
            ("pages < 10000", "(s.pages < ?1) IS TRUE", ["10000"]),
            ("pages >= price", "(s.price <= s.pages) IS TRUE", []),
            ("pages == 5", "s.pages IS ?1", ["5"]),
            ("isNew == YES", "s.isNew IS ?1", ["TRUE"]),
            ("date > now()", "(?1 < s.date) IS TRUE", ["now"]),
            ("pages < nil", "(s.pages < ?1) IS TRUE", ["NULL"]),
            ("title < 'm'", "ferry_text_less(s.title, ?1, ?2)", ["\"m\"", "\"\""]),
            ("title >= 'm'", "ferry_text_less_equal(?1, s.title, ?2)", ["\"m\"", "\"\""]),
            ("title MATCHES '[a-h].*'", "ferry_matches(s.title, ?1, ?2)", ["\"[a-h].*\"", "\"\""]),
            ("$item.kind == 'solo'", "ferry_equal(ferry_json_get(e.json, ?1), ?2)", ["\"kind\"", "\"solo\""]),
            ("$item.n < 5", "ferry_less(ferry_json_get(e.json, ?1), ?2)", ["\"n\"", "5"]),
            ("uuid == $source.uuid", "s.uuid IS s.uuid", []),
            (
                "a == 1 AND NOT (b == 2 OR title != nil)",
                "(s.a IS ?1) AND (NOT ((s.b IS ?2) OR (s.title IS NOT NULL)))", ["1", "2"]
            ),
            ("price * 2.0 > 10.0", "(?1 < (s.price * ?2)) IS TRUE", ["10.0", "2.0"]),
        ])
    func translatesCondition(text: String, sql: String, parameters: [String]) throws {
        var translator = SQLTranslator(scope: Library.json, resolver: TextResolver())
        #expect(try translator.condition(try Predicate.parse(text)) == sql)
        #expect(translator.resolver.parameters == parameters)
    }

    @Test(
        "An expression that cannot be evaluated is refused, with an alternative",
        arguments: [
            ("$entityPolicy.sex", "heading", "missingPolicy", "policy"),
            ("FUNCTION($entityPolicy, 'changeID:', $source.pages)", "pages", "missingPolicy", "changeID:"),
            (
                "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'a', $source)",
                "pages", "unsupported", "destinationInstances"
            ),
            ("$manager.userInfo", "heading", "unsupported", "$manager"),
            ("$nobody.name", "heading", "badExpression", "$nobody"),
            ("$source.titel", "heading", "badExpression", "title"),
            ("$source.publisher.nam", "heading", "badExpression", "name"),
            ("stable", "heading", "badExpression", "quotes"),
            ("$source.authors.name", "heading", "badExpression", "collection"),
            ("$source.authors", "heading", "badExpression", "collection"),
            ("$source.authors.@sum", "pages", "badExpression", "@sum of objects"),
            ("$source.title.@count", "pages", "badExpression", "@count"),
            ("$source.publisher", "heading", "badExpression", "object"),
            ("$source.title.foo", "heading", "badExpression", "foo"),
            ("$source.pages.length", "pages", "badExpression", "length"),
            ("$source.title * 2", "pages", "badExpression", "number"),
            ("uppercase($source.pages)", "heading", "badExpression", "text"),
            ("$source.size", "heading", "badExpression", "composite"),
            ("$source.size.depth", "price", "badExpression", "width"),
            ("$source.cache", "heading", "badExpression", "transient"),
            ("$source.date", "heading", "badExpression", "date format"),
            ("$source.image", "heading", "badExpression", "conversion"),
            ("'x'", "pages", "badExpression", "pages"),
            ("40000", "pages16", "badExpression", "range"),
            ("'x'", "date", "badExpression", "date"),
            ("distanceToLocation:fromLocation:($source.price, 1)", "pages", "unsupported", "locations"),
            ("sum($source.pages)", "pages", "badExpression", "collection"),
            ("CAST($source.pages, 'NSFoo')", "pages", "badExpression", "NSDate"),
            ("JSON($source.pages, 'a')", "heading", "badExpression", "JSON from"),
            ("date:format:($source.pages, 'yyyy')", "date", "badExpression", "text"),
            ("date:format:($source.title, '::')", "date", "badExpression", "pattern"),
            ("date:format:zone:($source.title, 'yyyy', 'Nowhere')", "date", "badExpression", "time zone"),
            ("bitwiseAnd:with:($source.price, 1)", "pages", "badExpression", "whole numbers"),
        ])
    func refuses(text: String, attribute: String, code: String, mention: String) throws {
        let destination = try #require(Library.model.attribute(attribute, of: "Destination"))
        let expression = try Expression.parse(text)
        let error = try #require(throws: FerryError.self) {
            try ExpressionTranslation(scope: Library.json).value(expression, for: destination)
        }
        #expect(error.code.name == code, "\(error)")
        #expect(error.description.contains(mention), "\(error)")
    }

    @Test("NULL in an expression that is too deep for SQLite's parser is a part of it")
    func writesNil() throws {
        var text = "NULL"
        for _ in 0..<30 { text = "ifnil:then:(\(text), uppercase($source.title))" }
        let computation = try ExpressionTranslation(scope: Library.json).value(try Expression.parse(text)).computation
        #expect(computation.depth > Computation.depthLimit)
        #expect(BoundComputation(computation).arguments.count == 1)
    }

    @Test("An expression of the permitted depth is read, checked and translated on a thread of 512 KiB")
    func smallThread() throws {
        let texts = try SmallThread.run {
            let sum = Array(repeating: "$source.price", count: 190).joined(separator: " + ")
            let nested = String(repeating: "uppercase:(", count: 60) + "title" + String(repeating: ")", count: 60)
            let predicate = try Predicate.parse("\(sum) > 3 AND \(nested) == 'A'")
            let translation = ExpressionTranslation(scope: Library.json)
            _ = try translation.condition(predicate)
            let attribute = try #require(Library.model.attribute("price", of: "Destination"))
            var translator = SQLTranslator(scope: Library.json, resolver: TextResolver())
            return [
                try translator.sql(try translation.value(try Expression.parse(sum), for: attribute)),
                try translator.condition(predicate), predicate.description,
            ]
        }
        #expect(texts.allSatisfy { !$0.isEmpty })
    }

    @Test(
        "A condition between values that cannot be compared is refused",
        arguments: [
            "title == 5", "pages < 'x'", "image == image", "publisher == 1", "pages MATCHES '5'", "title MATCHES '('",
            "authors.name == 'x'", "authors == nil",
        ])
    func refusesCondition(text: String) throws {
        let predicate = try Predicate.parse(text)
        #expect(throws: FerryError.self) { try ExpressionTranslation(scope: Library.json).condition(predicate) }
    }

    @Test("Objects are reached through relationships, and through operators that only flatten")
    func resolvesObjects() throws {
        let translation = ExpressionTranslation(scope: Library.objects)
        func hops(_ text: String) throws -> [String] {
            let path = try translation.path(toObjects: try Expression.parse(text))
            return path.hops.map { "\($0.entity).\($0.relationship.name)" }
        }
        #expect(try hops("$source") == [])
        #expect(try hops("$source.publisher") == ["Book.publisher"])
        #expect(try hops("$source.publisher.books") == ["Book.publisher", "Publisher.books"])
        #expect(try hops("$author.books") == ["Author.books"])
        let path = try translation.path(toObjects: try Expression.parse("$source.authors.@distinctUnionOfSets.books"))
        #expect(path.hops.map(\.relationship.name) == ["authors", "books"])
        #expect(path.isDistinct && path.isToMany && path.start == .source)
        #expect(try translation.path(toObjects: try Expression.parse("$author")).start == .element)
        #expect(throws: FerryError.self) { try hops("$source.title") }
        #expect(throws: FerryError.self) { try hops("'x'") }
        #expect(throws: FerryError.self) { try hops("$source.publisher.@distinctUnionOfSets.books") }
    }

    @Test("A forEach takes a to-many relationship or JSON in a text")
    func checksElements() throws {
        let translation = ExpressionTranslation(scope: Library.objects)
        #expect(try translation.element(ofEach: try Expression.parse("$source.authors")) == .object(entity: "Author"))
        #expect(try translation.element(ofEach: try Expression.parse("JSON($source.title, 'a')")) == .json)
        for text in [
            "$source.publisher", "$source", "$source.title", "JSON($source.pages, 'a')", "JSON($source.photo, '')",
        ] {
            #expect(throws: FerryError.self) { try translation.element(ofEach: try Expression.parse(text)) }
        }
    }

    @Test("An error names the expression, the entity and the property")
    func namesPlace() throws {
        let error = try #require(throws: FerryError.self) {
            try Library.objects.resolve(.variable("source"), [.key("titel")])
        }
        #expect(error.message == "`$source.titel` names titel, but the entity Book has no property of that name.")
        #expect(error.remedy == "Did you mean title?")
        #expect(error.place.entity == "Book" && error.place.property == "titel")
    }
}

/// Returns columns named by their paths, and collects parameters.
private struct TextResolver: PathResolver {
    var parameters: [String] = []

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        #expect(path.valueKeys.isEmpty)
        var parts = [path.start == .source ? "s" : "e"] + path.hops.map(\.relationship.name)
        switch path.end {
        case .object: break
        case .attribute(_, let names): parts += names
        case .json(let keys):
            #expect(keys.isEmpty)
            parts.append("value")
        }
        return parts.joined(separator: ".")
    }

    mutating func elementText() throws(FerryError) -> String { "e.json" }

    mutating func parameter(_ bound: BoundComputation) -> String {
        parameters.append("deep")
        return "?\(parameters.count)"
    }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .constant(let constant): parameters.append(constant.description)
        case .now: parameters.append("now")
        }
        return "?\(parameters.count)"
    }
}

/// Books, their authors and publishers.
private enum Library {
    static let json = ExpressionScope(
        model: model, entity: "Book", iteration: .init(variable: "item", element: .json))
    static let objects = ExpressionScope(
        model: model, entity: "Book", iteration: .init(variable: "author", element: .object(entity: "Author")))

    static let model = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Book",
                attributes: attributes + [
                    Attribute(name: "title", type: .string),
                    Attribute(name: "a", type: .integer64),
                    Attribute(name: "b", type: .integer64),
                    Attribute(name: "cache", type: .string, isTransient: true),
                    Attribute(name: "photo", type: .binary, allowsExternalStorage: true),
                    Attribute(name: "size", type: .composite, compositeName: "Size"),
                ],
                relationships: [
                    Relationship(name: "publisher", destinationEntity: "Publisher"),
                    Relationship(name: "authors", destinationEntity: "Author", maxCount: 0),
                ]),
            Entity(
                name: "Publisher", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "books", destinationEntity: "Book", maxCount: 0)]),
            Entity(
                name: "Author", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "books", destinationEntity: "Book", maxCount: 0)]),
            Entity(name: "Destination", attributes: attributes + [Attribute(name: "heading", type: .string)]),
        ],
        composites: ["Size": [Attribute(name: "width", type: .double)]])

    private static let attributes = [
        Attribute(name: "pages16", type: .integer16), Attribute(name: "pages", type: .integer64),
        Attribute(name: "price", type: .double), Attribute(name: "weight", type: .float),
        Attribute(name: "cost", type: .decimal), Attribute(name: "date", type: .date),
        Attribute(name: "isNew", type: .boolean), Attribute(name: "uuid", type: .uuid),
        Attribute(name: "image", type: .binary),
    ]
}
