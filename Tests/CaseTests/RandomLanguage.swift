import FerryExpression
import FerrySQLite

/// Random expressions of every construct, mostly with the types that the construct accepts.
struct RandomLanguage {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0xd1b5_4a32_d192_ed03 &+ 77 }

    private mutating func below(_ count: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((value ^ (value >> 31)) % UInt64(count))
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    private static let texts = [
        "", "a", "A", "ab", "ß", "é", "e\u{301}", "😀", "a😀b", "İ", "0", "-1.5e3x", "  +12 apples", "12", "true", "NO",
        "y",
        "/tmp/a.b/file.tar.gz", "/", "a//b/", "plain.", ".hidden", "x/.y.z", "one two  three", " ", "a*b?c", "\\",
        "a\\*",
        "0E984725-C51C-4BF4-9960-E1C80E27ABA0", "9223372036854775808", "-99999999999999999999", "1e400", ".5", "5.",
        "--1",
    ]
    private static let reals: [Double] = [
        0, -0.0, 1, -1, 0.5, 2.5, -2.5, 1e300, -1e300, .leastNonzeroMagnitude, 9e18, 1e19, 7, 60,
    ]
    private static let wholes: [Int64] = [0, 1, -1, 2, 7, 60, 63, 64, -64, 1 << 53, .max, .min]

    mutating func stored(_ name: String) -> Value {
        if below(6) == 0 { return .null }
        switch name {
        case "real", "other", "date": return .real(pick(Self.reals))
        case "whole": return .integer(pick(Self.wholes))
        case "small": return .integer(Int64(below(65_536) - 32_768))
        case "flag": return .integer(Int64(below(2)))
        case "uid": return .blob((0..<16).map { UInt8(truncatingIfNeeded: $0 &* below(40)) })
        default: return .text(pick(Self.texts))
        }
    }

    mutating func parts() -> [[String: Value]] {
        (0..<below(5)).map { _ in
            [
                "weight": below(5) == 0 ? .null : .real(pick([0, 1, -1, 0.5, 2.5, 1e300, 7])),
                "count": below(5) == 0 ? .null : .integer(pick([0, 1, 2, 7, -3, 1 << 53, (1 << 53) + 1])),
                "label": below(5) == 0 ? .null : .text(pick(["", "a", "A", "ab", "ß", "é", "😀", "12"])),
            ]
        }
    }

    /// Returns objects of the relationship, or an expression over them.
    private mutating func objects(_ depth: Int) -> FerryExpression.Expression {
        let parts = FerryExpression.Expression.keyPath(.variable("source"), [.key("parts")])
        if depth <= 0 { return parts }
        switch below(4) {
        case 0: return parts
        case 1:
            return .subquery(
                objects(depth - 1), variable: "x\(depth)",
                .comparison(
                    .init(
                        left: .keyPath(.variable("x\(depth)"), [.key(pick(["weight", "count"]))]),
                        comparator: pick([.less, .greater, .equal, .notEqual]), right: number(0))))
        default: return .predefined(pick(SetOperator.allCases).rawValue, [objects(depth - 1), objects(depth - 1)])
        }
    }

    /// Returns values of objects, or constants, of one kind.
    private mutating func numbers(_ depth: Int) -> FerryExpression.Expression {
        switch below(6) {
        case 0, 1: return .list((0..<below(4)).map { _ in number(0) })
        case 2:
            return .predefined(pick(SetOperator.allCases).rawValue, [numbers(depth - 1), numbers(depth - 1)])
        case 3:
            let name = pick(["weight", "count"])
            return .keyPath(
                .variable("source"), [.key("parts"), .collectionOperator("distinctUnionOfObjects"), .key(name)])
        default: return .keyPath(objects(depth - 1), [.key(pick(["weight", "count"]))])
        }
    }

    private mutating func labels(_ depth: Int) -> FerryExpression.Expression {
        switch below(4) {
        case 0: return .list((0..<below(4)).map { _ in text(0) })
        case 1: return .predefined(pick(SetOperator.allCases).rawValue, [labels(depth - 1), labels(depth - 1)])
        default: return .keyPath(objects(depth - 1), [.key("label")])
        }
    }

    mutating func any(_ depth: Int) -> FerryExpression.Expression {
        switch below(5) {
        case 0, 1: number(depth)
        case 2, 3: text(depth)
        default: .ternary(condition(depth), .constant(.boolean(true)), .constant(.boolean(false)))
        }
    }

    private func key(_ name: String) -> FerryExpression.Expression { .keyPath(.variable("source"), [.key(name)]) }

    private func call(
        _ receiver: FerryExpression.Expression, _ selector: String, _ arguments: [FerryExpression.Expression] = []
    ) -> FerryExpression.Expression {
        .function(receiver: receiver, selector: selector, arguments: arguments)
    }

    private mutating func number(_ depth: Int) -> FerryExpression.Expression {
        if depth == 0 {
            switch below(4) {
            case 0: return .constant(.integer(pick(Self.wholes)))
            case 1: return .constant(.double(pick(Self.reals)))
            default: return key(pick(["real", "other", "whole", "small", "flag"]))
            }
        }
        switch below(20) {
        case 14, 15:
            let name = pick(["max:", "min:", "sum:", "average:", "count:", "median:", "mode:", "stddev:"])
            return .predefined(name, [numbers(depth - 1)])
        case 16:
            let steps: [KeyPathStep] =
                below(2) == 0
                ? [.collectionOperator("count")]
                : [
                    .collectionOperator(pick(["sum", "avg", "min", "max"])), .key(pick(["weight", "count"])),
                ]
            return .keyPath(objects(depth - 1), steps)
        case 17: return .predefined("count:", [labels(depth - 1)])
        case 18:
            let index = pick([ElementIndex.at(0), .at(1), .at(3), .first, .last, .size])
            if case .size = index { return .element(objects(0), index) }
            return .keyPath(.element(objects(below(2)), index), [.key(pick(["weight", "count"]))])
        case 19:
            return below(2) == 0
                ? .predefined("random", []) : .predefined(pick(["random:", "randomn:"]), [number(depth - 1)])
        case 0, 1, 2:
            let name = pick([
                "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:",
                "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:",
            ])
            return .predefined(name, [number(depth - 1), number(depth - 1)])
        case 3, 4:
            let name = pick([
                "sqrt:", "log:", "ln:", "exp:", "abs:", "floor:", "ceiling:", "trunc:", "onesComplement:", "noindex:",
            ])
            return .predefined(name, [number(depth - 1)])
        case 5:
            let name = pick(["max:", "min:", "sum:", "average:", "count:"])
            return .predefined(name, [.list((0..<below(4)).map { _ in number(depth - 1) })])
        case 6: return .ternary(condition(depth - 1), number(depth - 1), number(depth - 1))
        case 7: return .ifNil(number(depth - 1), then: number(depth - 1))
        case 8:
            return call(text(depth - 1), pick(["length", "integerValue", "doubleValue", "boolValue", "longLongValue"]))
        case 9: return call(number(depth - 1), pick(["integerValue", "doubleValue", "boolValue"]))
        case 10: return .keyPath(parts(depth), [.collectionOperator("count")])
        case 11:
            return .keyPath(key("date"), [.key(pick(["timeIntervalSince1970", "timeIntervalSinceReferenceDate"]))])
        case 12: return call(key("date"), "timeIntervalSinceDate:", [key("date")])
        default: return .predefined("castObject:toType:", [number(depth - 1), .constant(.string("NSNumber"))])
        }
    }

    private mutating func parts(_ depth: Int) -> FerryExpression.Expression {
        call(text(depth - 1), "componentsSeparatedByString:", [text(0)])
    }

    private mutating func text(_ depth: Int) -> FerryExpression.Expression {
        if depth == 0 { return below(3) == 0 ? .constant(.string(pick(Self.texts))) : key(pick(["text", "word"])) }
        switch below(13) {
        case 0: return .predefined(pick(["uppercase:", "lowercase:", "canonical:"]), [text(depth - 1)])
        case 1, 2:
            return call(
                text(depth - 1),
                pick([
                    "uppercaseString", "lowercaseString", "lastPathComponent", "pathExtension",
                    "stringByDeletingPathExtension", "stringByDeletingLastPathComponent",
                ]))
        case 3: return call(text(depth - 1), "stringByAppendingString:", [text(depth - 1)])
        case 4:
            return call(
                text(depth - 1), pick(["substringFromIndex:", "substringToIndex:"]),
                [.constant(.integer(Int64(below(6))))])
        case 5:
            return call(
                text(depth - 1), "stringByReplacingOccurrencesOfString:withString:", [text(0), text(depth - 1)])
        case 6: return .element(parts(depth), pick([.at(0), .at(1), .at(3), .first, .last]))
        case 7: return .keyPath(parts(depth), [.key(pick(["firstObject", "lastObject"]))])
        case 8: return .ternary(condition(depth - 1), text(depth - 1), text(depth - 1))
        case 9: return .ifNil(text(depth - 1), then: text(depth - 1))
        case 10: return call(number(depth - 1), "stringValue")
        case 11 where below(2) == 0:
            return .element(.keyPath(objects(0), [.key("label")]), pick([.first, .last, .at(1)]))
        default:
            return pick([
                .keyPath(key("uid"), [.key("UUIDString")]), .keyPath(key("link"), [.key("absoluteString")]),
                .predefined("max:", [.list([text(0), text(0)])]), .predefined("min:", [.list([text(0), text(0)])]),
            ])
        }
    }

    private mutating func condition(_ depth: Int) -> FerryExpression.Predicate {
        if depth <= 0 { return .constant(below(2) == 0) }
        switch below(13) {
        case 9:
            return .quantified(
                pick([.any, .all, .none]), labels(depth - 1),
                .comparison(.init(left: .member, comparator: pick([.equal, .contains, .less]), right: text(0))))
        case 10:
            return .quantified(
                pick([.any, .all, .none]), numbers(depth - 1),
                .comparison(.init(left: .member, comparator: pick([.equal, .less]), right: number(0))))
        case 11: return .comparison(.init(left: text(0), comparator: .isIn, right: labels(depth - 1)))
        case 12: return .comparison(.init(left: number(0), comparator: .isIn, right: numbers(depth - 1)))
        case 0: return .not(condition(depth - 1))
        case 1: return .and([condition(depth - 1), condition(depth - 1)])
        case 2: return .or([condition(depth - 1), condition(depth - 1)])
        case 3:
            return .comparison(
                .init(
                    left: pick([text(0), number(0)]), comparator: pick([.equal, .notEqual]), right: .constant(.null)))
        case 4, 5:
            return .comparison(
                .init(
                    left: number(depth - 1),
                    comparator: pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]),
                    right: number(depth - 1)))
        case 6:
            return .quantified(
                pick([.any, .all, .none]), .list((0..<below(4)).map { _ in text(0) }),
                .comparison(.init(left: .member, comparator: pick([.equal, .contains, .less]), right: text(0))))
        default:
            return .comparison(
                .init(
                    left: text(depth - 1),
                    comparator: pick([
                        .equal, .notEqual, .less, .greaterOrEqual, .beginsWith, .endsWith, .contains, .like, .isIn,
                    ]),
                    right: text(depth - 1), options: pick(["", "", "c", "d", "cd", "n", "l", "cl", "cdl"])))
        }
    }
}
