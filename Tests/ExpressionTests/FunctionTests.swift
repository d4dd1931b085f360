import FerryBase
import FerryExpression
import Testing

@Suite struct FunctionTests {
    @Test(
        "A function has the results of Core Data's",
        arguments: [
            ("ferry_add", [2, 3], 5),
            ("ferry_add", [2, 0.5], 2.5),
            ("ferry_add", [.integer(.max), 0.0], 9.223372036854775807e18),
            ("ferry_add", [nil, 3], nil),
            ("ferry_add", [3, nil], nil),
            ("ferry_add", [.real(.infinity), .real(-.infinity)], nil),
            ("ferry_subtract", [2, 3], -1),
            ("ferry_subtract", [.integer(.min), 0], .integer(.min)),
            ("ferry_multiply", [6, 7], 42),
            ("ferry_multiply", [.integer(.min), 1], .integer(.min)),
            ("ferry_multiply", [0.1, 3], .real(0.1 * 3)),
            ("ferry_multiply", [-0.0, 1.0], -0.0),
            ("ferry_divide", [1, 2], 0),
            ("ferry_divide", [-7, 2], -3),
            ("ferry_divide", [1, 2.0], 0.5),
            ("ferry_divide", [1.0, 0], .real(.infinity)),
            ("ferry_divide", [0.0, 0.0], nil),
            ("ferry_divide", [nil, 0], nil),
            ("ferry_modulus", [7, 4], 3),
            ("ferry_modulus", [-7, 4], -3),
            ("ferry_modulus", [.integer(.min), -1], 0),
            ("ferry_modulus", [7.5, 2.0], 1.5),
            ("ferry_power", [2, 10], 1024.0),
            ("ferry_power", [2, -1], 0.5),
            ("ferry_power", [-8.0, 0.5], nil),
            ("ferry_sqrt", [16], 4.0),
            ("ferry_sqrt", [-1.0], nil),
            ("ferry_log", [1000], 3.0),
            ("ferry_ln", [1], 0.0),
            ("ferry_exp", [0], 1.0),
            ("ferry_floor", [-1.5], -2.0),
            ("ferry_ceiling", [-1.5], -1.0),
            ("ferry_trunc", [-1.5], -1.0),
            ("ferry_floor", [.integer(.max)], .integer(.max)),
            ("ferry_abs", [-5], 5),
            ("ferry_abs", [-0.5], 0.5),
            ("ferry_abs", [nil], nil),
            ("ferry_bitwise_and", [12, 10], 8),
            ("ferry_bitwise_or", [12, 10], 14),
            ("ferry_bitwise_xor", [12, 10], 6),
            ("ferry_left_shift", [1, 63], .integer(.min)),
            ("ferry_left_shift", [1, 64], 0),
            ("ferry_right_shift", [-8, 1], -4),
            ("ferry_ones_complement", [0], -1),
            ("ferry_length", ["abc"], 3),
            ("ferry_length", [""], 0),
            ("ferry_length", ["é"], 1),
            ("ferry_length", ["e\u{301}"], 2),
            ("ferry_length", ["中文"], 2),
            ("ferry_length", ["😀"], 2),
            ("ferry_length", ["a\0b"], 3),
            ("ferry_length", [nil], nil),
            ("ferry_uppercase", ["straße é"], "STRASSE É"),
            ("ferry_lowercase", ["ÀB"], "àb"),
            ("ferry_canonical", ["Éa"], "ea"),
            ("ferry_uppercase", [nil], nil),
        ] as [(String, [Cell], Cell)])
    func gives(name: String, arguments: [Cell], expected: Cell) throws {
        var result = FunctionResult()
        let value = try call(name, arguments, &result)
        #expect(value == expected)
        if case .real(let zero) = expected, zero == 0, case .real(let found) = value {
            #expect(found.sign == zero.sign)
        }
    }

    @Test(
        "A wrong argument of a function fails the row, naming the function and no value",
        arguments: [
            ("ferry_add", "add:to:", [.integer(.max), 1]),
            ("ferry_subtract", "from:subtract:", [.integer(.min), 1]),
            ("ferry_multiply", "multiply:by:", [.integer(.min), -1]),
            ("ferry_divide", "divide:by:", [1, 0]),
            ("ferry_divide", "divide:by:", [.integer(.min), -1]),
            ("ferry_modulus", "modulus:by:", [1, 0]),
            ("ferry_abs", "abs:", [.integer(.min)]),
            ("ferry_add", "add:to:", ["secret", 1]),
            ("ferry_bitwise_and", "bitwiseAnd:with:", [1, 0.5]),
            ("ferry_length", "length", [5]),
            ("ferry_to_integer16", "Integer 16", [32768]),
            ("ferry_to_integer16", "Integer 16", [-32769]),
            ("ferry_to_integer32", "Integer 32", [2_147_483_648.0]),
            ("ferry_to_integer64", "Integer 64", [9_223_372_036_854_775_808.0]),
            ("ferry_to_integer64", "Integer 64", [.real(.infinity)]),
            ("ferry_to_integer64", "Integer 64", ["secret"]),
            ("ferry_to_integer64", "Integer 64", ["12 "]),
            ("ferry_to_double", "Double", ["nan"]),
            ("ferry_to_double", "Double", ["0x10"]),
            ("ferry_to_double", "Double", [.bytes([1])]),
            ("ferry_to_float", "Float", [1e39]),
            ("ferry_to_date", "Date", ["2020-01-01"]),
            ("ferry_to_boolean", "Boolean", ["secret"]),
            ("ferry_to_string", "String", [.bytes([65])]),
            ("ferry_to_uuid", "UUID", ["12345678-1234"]),
            ("ferry_uuid_to_string", "String", [.bytes([1, 2])]),
            ("ferry_less", "<", ["a", 1]),
            ("ferry_json_get", "JSON", ["{", "a"]),
        ] as [(String, String, [Cell])])
    func fails(name: String, mention: String, arguments: [Cell]) throws {
        var result = FunctionResult()
        let error = try #require(throws: FerryError.self) { _ = try call(name, arguments, &result) }
        #expect(error.code == .rowFailed)
        #expect(error.message.contains(mention), "\(error.message)")
        #expect(!error.description.contains("secret"))
    }

    @Test(
        "A conversion gives the value that the attribute type stores",
        arguments: [
            ("ferry_to_integer16", -32768, -32768),
            ("ferry_to_integer16", 2.9, 2),
            ("ferry_to_integer16", -2.9, -2),
            ("ferry_to_integer32", "42", 42),
            ("ferry_to_integer32", "1e3", 1000),
            ("ferry_to_integer64", -9_223_372_036_854_775_808.0, .integer(.min)),
            ("ferry_to_integer64", -0.0, 0),
            ("ferry_to_integer64", nil, nil),
            ("ferry_to_double", 5, 5.0),
            ("ferry_to_double", "0.25", 0.25),
            ("ferry_to_decimal", 5, 5.0),
            ("ferry_to_float", 0.1, .real(Double(Float(0.1)))),
            ("ferry_to_float", .real(.infinity), .real(.infinity)),
            ("ferry_to_date", 5, 5.0),
            ("ferry_to_boolean", 2, 1),
            ("ferry_to_boolean", 0.0, 0),
            ("ferry_to_boolean", "Yes", 1),
            ("ferry_to_boolean", "false", 0),
            ("ferry_to_string", 5, "5"),
            ("ferry_to_string", 5.0, "5"),
            ("ferry_to_string", 0.1, "0.1"),
            ("ferry_to_string", 1e300, "1e+300"),
            ("ferry_to_string", "x", "x"),
            ("ferry_to_string", nil, nil),
            (
                "ferry_to_uuid", "00112233-4455-6677-8899-aAbBcCdDeEfF",
                .bytes([0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF])
            ),
            (
                "ferry_uuid_to_string",
                .bytes([0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF]),
                "00112233-4455-6677-8899-AABBCCDDEEFF"
            ),
        ] as [(String, Cell, Cell)])
    func converts(name: String, value: Cell, expected: Cell) throws {
        #expect(try call(name, value) == expected)
    }

    @Test(
        "A comparison gives 1 or 0, never nil",
        arguments: [
            ("ferry_equal", [nil, nil], 1),
            ("ferry_equal", [nil, 1], 0),
            ("ferry_equal", [1, 1.0], 1),
            ("ferry_equal", [.integer(.max), 9_223_372_036_854_775_808.0], 0),
            ("ferry_equal", [9_007_199_254_740_993, 9_007_199_254_740_992.0], 0),
            ("ferry_equal", ["1", 1], 0),
            ("ferry_equal", ["é", "e\u{301}"], 0),
            ("ferry_less", [nil, 1], 0),
            ("ferry_less", [1, 1.5], 1),
            ("ferry_less", [-1.5, -1], 1),
            ("ferry_less", [.real(-.infinity), .integer(.min)], 1),
            ("ferry_less_equal", ["a", "a"], 1),
            ("ferry_text_equal", [nil, nil, ""], 1),
            ("ferry_text_equal", [nil, "x", ""], 0),
            ("ferry_text_equal", ["ÉA", "ea", ""], 0),
            ("ferry_text_equal", ["EA", "ea", "c"], 1),
            ("ferry_text_equal", ["ÉA", "ea", "cd"], 1),
            ("ferry_text_less", ["a", "b", ""], 1),
            ("ferry_text_less", ["a", "B", ""], 0),
            ("ferry_text_less", ["a", "B", "c"], 1),
            ("ferry_text_less", ["a", "ab", ""], 1),
            ("ferry_text_less", ["😀", "\u{FF21}", ""], 1),
            ("ferry_text_less", ["\u{FF21}", "😀", ""], 0),
            ("ferry_text_less", ["\u{D7FF}", "😀", ""], 1),
            ("ferry_text_less", ["a\u{1F600}", "a\u{1F601}", ""], 1),
            ("ferry_text_less_equal", [nil, "a", ""], 0),
            ("ferry_matches", ["harry", "[a-hA-H].*", ""], 1),
            ("ferry_matches", ["izzy", "[a-hA-H].*", ""], 0),
            ("ferry_matches", ["xharry", "[a-hA-H].*", ""], 0),
            ("ferry_matches", ["ab", "a|ab", ""], 1),
            ("ferry_matches", ["ab\n", "ab", ""], 0),
            ("ferry_matches", ["", "", ""], 1),
            ("ferry_matches", ["ABC", "abc", "c"], 1),
            ("ferry_matches", ["ÉB", "eb", "cd"], 1),
            ("ferry_matches", ["😀", ".", ""], 1),
            ("ferry_matches", [nil, ".*", ""], 0),
            ("ferry_matches", ["a", nil, ""], 0),
        ] as [(String, [Cell], Cell)])
    func compares(name: String, arguments: [Cell], expected: Cell) throws {
        var result = FunctionResult()
        #expect(try call(name, arguments, &result) == expected)
    }

    @Test(
        "BEGINSWITH, CONTAINS, ENDSWITH and LIKE match the texts that they describe",
        arguments: [
            ("BEGINSWITH 'Fr.'", "Fr. Kafka", 1), ("BEGINSWITH 'Fr.'", "Fra", 0), ("BEGINSWITH 'a'", "a\nb", 1),
            ("ENDSWITH '^$'", "x^$", 1), ("ENDSWITH '^$'", "", 0), ("CONTAINS '\\\\Q(*'", "a\\Q(*b", 1),
            ("CONTAINS[cd] 'kafka'", "Franz KÁFKA!", 1), ("CONTAINS ' '", "a b", 1), ("CONTAINS '😀'", "x😀y", 1),
            ("LIKE 'a*c'", "abbc", 1), ("LIKE 'a?c'", "abbc", 0), ("LIKE 'a\\\\*c'", "abc", 0),
            ("LIKE 'a\\\\*c'", "a*c", 1), ("LIKE ''", "", 1),
        ] as [(String, String, Cell)])
    func fitsPattern(condition: String, text: String, expected: Cell) throws {
        guard case .comparison(let comparison) = try Predicate.parse("name \(condition)"),
            case .constant(.string(let pattern)) = comparison.right
        else { preconditionFailure("\(condition) is a comparison") }
        #expect(try call("ferry_matches", .text(text), .text(pattern), .text(comparison.options)) == expected)
    }

    @Test("More patterns than the cache keeps match correctly, in any order")
    func keepsPatterns() throws {
        var result = FunctionResult()
        for index in 0..<60 {
            let number = index * 7 % 20
            #expect(try call("ferry_matches", [.text("x\(number)"), .text("x\(number)"), ""], &result) == 1)
            #expect(try call("ferry_matches", [.text("x\(number)"), .text("x\(number + 1)"), ""], &result) == 0)
        }
    }

    @Test("A pattern that is no regular expression is refused", arguments: ["(", "a)b(", "[", "*"])
    func refusesPattern(pattern: String) throws {
        let error = try #require(throws: FerryError.self) { _ = try call("ferry_matches", "a", .text(pattern), "") }
        #expect(error.code == .badExpression)
    }

    @Test("Names in SQL are unique and begin with the prefix")
    func names() {
        #expect(ScalarFunction.all.allSatisfy { $0.name.hasPrefix("ferry_") })
        #expect(Set(ScalarFunction.all.map(\.name)).count == ScalarFunction.all.count)
    }
}
