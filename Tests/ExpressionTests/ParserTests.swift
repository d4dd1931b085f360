import FerryBase
import FerryExpression
import Testing

@Suite struct ParserTests {
    @Test(
        "A value expression is read by Core Data's rules",
        arguments: [
            ("$source.username", .path("username")),
            ("$source.a.b", .path("a", "b")),
            ("$source", .variable("source")),
            ("SELF", .evaluatedObject),
            ("self.x", .keyPath(.evaluatedObject, [.key("x")])),
            ("stable", .keyPath(.evaluatedObject, [.key("stable")])),
            ("#in", .keyPath(.evaluatedObject, [.key("in")])),
            ("$source.#matches.in", .path("matches", "in")),
            (
                "$source.countries.@distinctUnionOfSets.moods",
                .keyPath(
                    .variable("source"),
                    [.key("countries"), .collectionOperator("distinctUnionOfSets"), .key("moods")])
            ),
            ("($source.a).b", .path("a", "b")),
            ("0", .integer(0)),
            ("1024", .integer(1024)),
            ("0x1F", .integer(31)),
            ("0b101", .integer(5)),
            ("0o17", .integer(15)),
            ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)),
            ("- 5", .integer(-5)),
            ("1.25", .constant(.double(1.25))),
            ("1e3", .constant(.double(1000))),
            ("2.5E-1", .constant(.double(0.25))),
            ("-0.0", .constant(.double(-0.0))),
            ("TRUE", .constant(.boolean(true))),
            ("yes", .constant(.boolean(true))),
            ("No", .constant(.boolean(false))),
            ("NULL", .constant(.null)),
            ("nil", .constant(.null)),
            ("\"Unknown\"", .string("Unknown")),
            ("'it\\'s'", .string("it's")),
            ("\"\\\\d\\n\\t\\u00e9\\x41\"", .string("\\d\n\té\u{41}")),
            ("'\\uD83D\\uDE00'", .string("😀")),
            ("'中文 😀'", .string("中文 😀")),
            ("now()", .predefined("now", [])),
            ("sqrt(4)", .predefined("sqrt:", [.integer(4)])),
            ("sqrt:(4)", .predefined("sqrt:", [.integer(4)])),
            ("modulus:by:(7, 4)", .predefined("modulus:by:", [.integer(7), .integer(4)])),
            ("random()", .predefined("random", [])),
            ("random(6)", .predefined("random:", [.integer(6)])),
            ("CAST(0, 'NSDate')", .predefined("castObject:toType:", [.integer(0), .string("NSDate")])),
            ("JSON($source.json, 'artists')", .json(.path("json"), key: "artists")),
            ("json", .keyPath(.evaluatedObject, [.key("json")])),
            (
                "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"M\", $source.r)",
                .function(
                    receiver: .variable("manager"),
                    selector: "destinationInstancesForEntityMappingNamed:sourceInstances:",
                    arguments: [.string("M"), .path("r")])
            ),
            (
                "function($entityPolicy, 'migrateIdentifier')",
                .function(receiver: .variable("entityPolicy"), selector: "migrateIdentifier", arguments: [])
            ),
            (
                "$source.content.length * 0.2",
                .predefined("multiply:by:", [.path("content", "length"), .constant(.double(0.2))])
            ),
        ] as [(String, Expression)])
    func reads(text: String, expected: Expression) throws {
        #expect(try Expression.parse(text) == expected)
    }

    @Test(
        "Operators have the precedence of the language",
        arguments: [
            ("1 + 2 * 3", "1 + 2 * 3"),
            ("(1 + 2) * 3", "(1 + 2) * 3"),
            ("1 - 2 - 3", "1 - 2 - 3"),
            ("1 - (2 - 3)", "1 - (2 - 3)"),
            ("2 * 3 ** 2", "2 * 3 ** 2"),
            ("-3 ** 2", "(-3) ** 2"),
            ("-x", "x * -1"),
            ("-x ** 2", "(x * -1) ** 2"),
            ("-(1 + x)", "(1 + x) * -1"),
            ("6 / 2 / 3", "6 / 2 / 3"),
            ("1 -1", "1 - 1"),
            ("((((x))))", "x"),
        ])
    func binds(text: String, canonical: String) throws {
        #expect(try Expression.parse(text).description == canonical)
    }

    @Test("A sum of sums groups from the left")
    func groupsFromLeft() throws {
        let inner = Expression.predefined("from:subtract:", [.integer(1), .integer(2)])
        #expect(try Expression.parse("1 - 2 - 3") == .predefined("from:subtract:", [inner, .integer(3)]))
    }

    @Test(
        "A predicate is read by Core Data's rules",
        arguments: [
            ("TRUEPREDICATE", "TRUEPREDICATE"),
            ("falsepredicate", "FALSEPREDICATE"),
            ("image != nil", "image != NULL"),
            ("image<>nil", "image != NULL"),
            ("title MATCHES '[a-hA-H].*'", "title MATCHES \"[a-hA-H].*\""),
            ("title matches[cd] $source.pattern", "title MATCHES[cd] $source.pattern"),
            ("a = 1", "a == 1"),
            ("a =< 1 and b => 2", "a <= 1 AND b >= 2"),
            ("a < 1 || b > 2 && c == 3", "a < 1 OR b > 2 AND c == 3"),
            ("(a < 1 || b > 2) && c == 3", "(a < 1 OR b > 2) AND c == 3"),
            ("NOT a == 1 AND b == 2", "NOT a == 1 AND b == 2"),
            ("NOT (a == 1 AND b == 2)", "NOT (a == 1 AND b == 2)"),
            ("!(a == 1)", "NOT a == 1"),
            ("NOT NOT a == 1", "NOT NOT a == 1"),
            ("(a + b) * 2 > (3)", "(a + b) * 2 > 3"),
            ("((a == 1))", "a == 1"),
            ("a == 1 AND (b == 2 AND c == 3)", "a == 1 AND (b == 2 AND c == 3)"),
            ("a == 1 AND b == 2 AND c == 3", "a == 1 AND b == 2 AND c == 3"),
            ("name ==[c] 'x'", "name ==[c] \"x\""),
            ("$user.userId == $source.userId", "$user.userId == $source.userId"),
            ("n IN {1, 2, 3}", "n == 1 OR n == 2 OR n == 3"),
            ("a == 1 AND n in[c] {'x'}", "a == 1 AND n ==[c] \"x\""),
            ("NOT n IN {1, 2}", "NOT (n == 1 OR n == 2)"),
            ("n IN ({1, 2})", "n == 1 OR n == 2"),
            ("n IN {}", "FALSEPREDICATE"),
            ("name LIKE other", "name LIKE other"),
            ("name in[cd] other", "name IN[cd] other"),
            ("any books.x = 1", "ANY books.x == 1"),
            ("SOME a.b IN {1, 2} AND c == 1", "ANY a.b IN {1, 2} AND c == 1"),
            ("NOT NONE a.b BETWEEN {1, 2}", "NOT NONE a.b BETWEEN {1, 2}"),
            ("a == 1 AND ALL b.c LIKE[c] 'x'", "a == 1 AND ALL b.c MATCHES[c] \"(?s)x\""),
            (
                "SUBQUERY(a, $x, $x.b == 1 OR TRUEPREDICATE).@count > 0",
                "SUBQUERY(a, $x, $x.b == 1 OR TRUEPREDICATE).@count > 0"
            ),
            ("ternary(a == 1, {1, 2}[LAST], b.c[0].d) == 2", "TERNARY(a == 1, {1, 2}[LAST], b.c[0].d) == 2"),
            (
                "fetch(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'A', 'b = 1'), $manager.sourceContext, YES) == 2",
                "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"A\", \"b == 1\"), $manager.sourceContext, FALSE).@count == 2"
            ),
            ("n BETWEEN {1, 2 + 3}", "n >= 1 AND n <= 2 + 3"),
            ("name BEGINSWITH[cd] 'a.b c'", "name MATCHES[cd] \"(?s)a\\\\.b c.*\""),
            ("name ENDSWITH 'x'", "name MATCHES \"(?s).*x\""),
            ("name CONTAINS 'é1_'", "name MATCHES \"(?s).*é1\\\\_.*\""),
            ("name LIKE 'a*b?c\\\\*'", "name MATCHES \"(?s)a.*b.c\\\\*\""),
        ])
    func readsPredicate(text: String, canonical: String) throws {
        #expect(try Predicate.parse(text).description == canonical)
    }

    @Test("ANDs in one run are one conjunction, and bind tighter than OR")
    func flattens() throws {
        func comparison(_ name: String) -> Predicate {
            .comparison(.init(left: .keyPath(.evaluatedObject, [.key(name)]), comparator: .equal, right: .integer(1)))
        }
        #expect(
            try Predicate.parse("a == 1 OR b == 1 AND c == 1 AND d == 1 OR e == 1")
                == .or([comparison("a"), .and([comparison("b"), comparison("c"), comparison("d")]), comparison("e")]))
    }

    @Test(
        "An unsupported construct is named, with its place",
        arguments: [
            ("FETCH(a, b, NO)", "FETCH", 1, 1),
            ("SUBQUERY(a, b, b == 1)", "SUBQUERY", 1, 1),
            ("SUBQUERY(a, $b, 1)", "condition", 1, 17),
            ("1 + TERNARY(a == 1, 2)", "TERNARY", 1, 5),
            ("a[x]", "FIRST", 1, 3),
            ("ANY books.x", "condition", 1, 5),
            ("a UNION b", "expected a condition, found a value", 1, 1),
            ("name BEGINSWITH ''", "BEGINSWITH", 1, 17),
            ("n BETWEEN other", "BETWEEN", 1, 11),
            ("n BETWEEN {1}", "two bounds", 1, 11),
            ("n IN {1, 2", "at the end", 1, 11),
            ("kind UTI-EQUALS 'x'", "UTI-EQUALS", 1, 6),
            ("$v := 1", "assignment", 1, 4),
            ("a == %@", "format argument", 1, 6),
            ("nox(1)", "no function nox", 1, 1),
            ("sqrt(1, 2)", "sqrt: takes 1", 1, 1),
            ("FUNCTION(a, \"b:\")", "b: takes 1", 1, 1),
            ("FUNCTION(a)", "FUNCTION", 1, 1),
            ("JSON(a, b)", "JSON", 1, 1),
            ("1 +", "at the end", 1, 4),
            ("(1", "at the end", 1, 3),
            ("1)", "`)`", 1, 2),
            ("a b", "`b`", 1, 3),
            ("'abc", "not closed", 1, 1),
            ("'\\d'", "`\\d` is not a valid escape", 1, 2),
            ("'\\uD800'", "surrogate", 1, 2),
            ("9223372036854775808", "64 bits", 1, 1),
            ("99999999999999999999", "64 bits", 1, 1),
            ("1e999", "range", 1, 1),
            ("12abc", "not a number", 1, 1),
            ("a AND b == 1", "expected a condition", 1, 1),
            ("a == (b == 1)", "expected a value", 1, 6),
            ("a == b == c", "expected a value", 1, 1),
            ("a == AND", "AND", 1, 6),
            ("a MATCHES[x] 'b'", "options", 1, 11),
            ("2 ** 3 ** 4", "parentheses", 1, 8),
            ("", "is empty", 1, 1),
            ("$", "a name must follow", 1, 1),
            ("a.", "at the end", 1, 3),
            ("a ; b", "`;`", 1, 3),
        ] as [(String, String, Int, Int)])
    func refuses(text: String, mention: String, line: Int, column: Int) throws {
        let error = try #require(throws: FerryError.self) { try Predicate.parse(text) }
        #expect(error.code == .badExpression)
        #expect(error.message.contains(mention), "\(error.message)")
        #expect(error.message.contains("line \(line), column \(column)"), "\(error.message)")
    }

    @Test(
        "Extreme nesting is refused, without a crash or a hang",
        arguments: [
            String(repeating: "(", count: 50_000),
            String(repeating: "-", count: 50_000) + "1",
            String(repeating: "!", count: 50_000),
            String(repeating: "NOT ", count: 10_000) + "a == 1",
            String(repeating: "sqrt(", count: 10_000),
            String(repeating: "(", count: 60) + "1" + String(repeating: "+1)", count: 200),
            "1" + String(repeating: "+1", count: 30_000),
            String(repeating: "a", count: 70_000),
        ])
    func refusesNesting(text: String) {
        #expect(throws: FerryError.self) { try Expression.parse(text) }
    }

    @Test("The permitted depth of nesting is read")
    func readsDeepNesting() throws {
        let depth = 60
        let text = String(repeating: "(", count: depth) + "1" + String(repeating: ")", count: depth)
        #expect(try Expression.parse(text) == .integer(1))
    }

    @Test("A condition is no value, and a value is no condition")
    func tellsKinds() {
        #expect(throws: FerryError.self) { try Expression.parse("a == 1") }
        #expect(throws: FerryError.self) { try Predicate.parse("a + 1") }
    }
}

extension Expression {
    static func path(_ keys: String...) -> Expression { .keyPath(.variable("source"), keys.map(KeyPathStep.key)) }
    static func integer(_ value: Int64) -> Expression { .constant(.integer(value)) }
    static func string(_ value: String) -> Expression { .constant(.string(value)) }
}
