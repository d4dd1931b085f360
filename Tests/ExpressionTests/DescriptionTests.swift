import FerryExpression
import Testing

@Suite struct DescriptionTests {
    @Test("The canonical text of any expression parses back to the same expression", arguments: 0..<8)
    func expressionRoundTrip(seed: Int) throws {
        var trees = RandomTrees(seed: UInt64(seed))
        for _ in 0..<250 {
            let expression = trees.expression(depth: 5)
            #expect(try Expression.parse(expression.description) == expression)
        }
    }

    @Test("The canonical text of any predicate parses back to the same predicate", arguments: 0..<8)
    func predicateRoundTrip(seed: Int) throws {
        var trees = RandomTrees(seed: UInt64(seed))
        for _ in 0..<250 {
            let predicate = trees.predicate(depth: 4)
            #expect(try Predicate.parse(predicate.description) == predicate)
        }
    }
}

/// Makes random trees that have a text form.
private struct RandomTrees: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &+ 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &self)! }

    mutating func constant() -> Expression.Constant {
        switch Int.random(in: 0..<6, using: &self) {
        case 0: .null
        case 1: .boolean(Bool.random(using: &self))
        case 2: .integer(pick([0, 1, -1, .max, .min, 42, -7]))
        case 3: .double(pick([0, -0.0, 0.1, -2.5, 1e300, Double.leastNonzeroMagnitude, 123456789.125, 1e16]))
        default: .string(pick(["", "a", "it's", "say \"x\"", "\\d+", "line\nbreak\t\u{1}", "é😀中", "$x #y @z", "NULL"]))
        }
    }

    mutating func steps() -> [KeyPathStep] {
        (0..<Int.random(in: 1...3, using: &self)).map { index in
            if index > 0, Int.random(in: 0..<4, using: &self) == 0 { return .collectionOperator("count") }
            return .key(pick(["a", "title", "in", "MATCHES", "nil", "Ünïcode", "x1_y", "count", "json", "first"]))
        }
    }

    mutating func expression(depth: Int) -> Expression {
        switch depth == 0 ? Int.random(in: 0..<4, using: &self) : Int.random(in: 0..<15, using: &self) {
        case 0: return .constant(constant())
        case 1: return pick([.evaluatedObject, .variable("source"), .variable("user")])
        case 2, 3: return .keyPath(pick([.evaluatedObject, .variable("source")]), steps())
        case 4:
            return .function(
                receiver: expression(depth: depth - 1), selector: "do:with:",
                arguments: [expression(depth: depth - 1), expression(depth: depth - 1)])
        case 5: return .json(expression(depth: depth - 1), key: pick(["", "artists", "a \"b\""]))
        case 6: return .predefined(pick(["sqrt:", "uppercase:", "count:", "random:"]), [expression(depth: depth - 1)])
        case 7: return pick([.predefined("now", []), .predefined("random", [])])
        case 10:
            return .ternary(predicate(depth: depth - 1), expression(depth: depth - 1), expression(depth: depth - 1))
        case 11: return .list((0..<Int.random(in: 0...2, using: &self)).map { _ in expression(depth: depth - 1) })
        case 12: return .subquery(expression(depth: depth - 1), variable: "x", predicate(depth: depth - 1))
        case 13: return .fetch(entity: "Book", predicate(depth: min(depth - 1, 2)))
        case 14: return .element(expression(depth: depth - 1), pick([.at(0), .at(7), .first, .last, .size]))
        default:
            let selector = pick([
                "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:", "modulus:by:",
                "castObject:toType:",
            ])
            return .predefined(selector, [expression(depth: depth - 1), expression(depth: depth - 1)])
        }
    }

    mutating func predicate(depth: Int) -> Predicate {
        switch depth == 0 ? Int.random(in: 0..<3, using: &self) : Int.random(in: 0..<7, using: &self) {
        case 0: return .constant(Bool.random(using: &self))
        case 1, 2:
            return .comparison(
                .init(
                    left: expression(depth: 2),
                    comparator: pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .matches]),
                    right: expression(depth: 2), options: pick(["", "", "c", "cd"])))
        case 3: return .not(predicate(depth: depth - 1))
        case 6:
            return .quantified(
                pick([.any, .all, .none]), expression(depth: 2),
                .comparison(
                    .init(
                        left: .member, comparator: pick([.equal, .less, .matches, .contains, .isIn]),
                        right: .keyPath(.variable("source"), steps()), options: pick(["", "c"]))))
        case 4: return .and((0..<Int.random(in: 2...3, using: &self)).map { _ in predicate(depth: depth - 1) })
        default: return .or((0..<Int.random(in: 2...3, using: &self)).map { _ in predicate(depth: depth - 1) })
        }
    }
}
