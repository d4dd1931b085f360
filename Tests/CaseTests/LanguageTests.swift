import FerryBase
import FerryEngine
import FerryExpression
import FerryModel
import FerrySQLite
import FerryVerify
import Foundation
import Testing

private typealias Tree = FerryExpression.Expression
private typealias Condition = FerryExpression.Predicate

/// SQL, Swift and verification's own evaluator agree about every expression: same type, same bytes, or no value at all.
///
/// `FERRY_ROUNDS` says how many, for each of the eight seeds: 250,000 are 2,000,000 in all.
@Suite("The language, three ways")
struct LanguageTests {
    static let rounds = ProcessInfo.processInfo.environment["FERRY_ROUNDS"].flatMap { Int($0) } ?? 250

    @Test("A random expression has one value, whoever evaluates it", arguments: 0..<8)
    func agrees(_ seed: Int) throws {
        var random = RandomLanguage(seed: UInt64(seed))
        let ways = try ThreeWays()
        var checked = 0
        for _ in 0..<Self.rounds {
            try ways.fill(&random)
            let expression = random.any(4)
            guard let typed = try? ExpressionTranslation(scope: ThreeWays.scope).value(expression) else { continue }
            checked += 1
            try ways.compare(expression, typed)
        }
        // What the checker refuses says nothing.
        #expect(checked > Self.rounds / 2, "\(checked) of \(Self.rounds)")
    }
}

/// One row of values, and the ways to an expression's value in it.
private final class ThreeWays: PlainObjectSource {
    static let model = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Thing",
                attributes: [
                    Attribute(name: "real", type: .double), Attribute(name: "other", type: .double),
                    Attribute(name: "whole", type: .integer64), Attribute(name: "small", type: .integer16),
                    Attribute(name: "flag", type: .boolean), Attribute(name: "text", type: .string),
                    Attribute(name: "word", type: .string), Attribute(name: "date", type: .date),
                    Attribute(name: "uid", type: .uuid), Attribute(name: "link", type: .uri),
                ],
                relationships: [
                    Relationship(
                        name: "parts", destinationEntity: "Part", inverseName: "thing", inverseEntity: "Thing",
                        maxCount: 0)
                ]),
            Entity(
                name: "Part",
                attributes: [
                    Attribute(name: "weight", type: .double), Attribute(name: "count", type: .integer64),
                    Attribute(name: "label", type: .string),
                ],
                relationships: [
                    Relationship(
                        name: "thing", destinationEntity: "Thing", inverseName: "parts", inverseEntity: "Part")
                ]),
        ])
    static let scope = ExpressionScope(model: model, entity: "Thing")
    static let names = ["real", "other", "whole", "small", "flag", "text", "word", "date", "uid", "link"]

    private let connection: Connection
    private var values: [String: Value] = [:]
    private var parts: [[String: Value]] = []
    static let partNames = ["weight", "count", "label"]

    init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try FunctionRegistry.register(on: connection)
        try connection.execute("CREATE TABLE t (\(Self.names.joined(separator: ", ")))")
        try connection.execute("CREATE TABLE p (\(Self.partNames.joined(separator: ", ")))")
    }

    func fill(_ random: inout RandomLanguage) throws {
        values = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, random.stored($0)) })
        try connection.execute("DELETE FROM t")
        let places = Self.names.map { _ in "?" }.joined(separator: ", ")
        let insert = try connection.prepare("INSERT INTO t VALUES (\(places))")
        for (index, name) in Self.names.enumerated() { try insert.bind(values[name] ?? .null, at: index + 1) }
        _ = try insert.step()
        parts = random.parts()
        try connection.execute("DELETE FROM p")
        let add = try connection.prepare("INSERT INTO p VALUES (?, ?, ?)")
        for part in parts {
            for (index, name) in Self.partNames.enumerated() { try add.bind(part[name] ?? .null, at: index + 1) }
            _ = try add.step()
            add.reset()
        }
    }

    // MARK: The three

    func compare(_ expression: Tree, _ typed: ExpressionTranslation.Typed) throws {
        let found = [
            outcome { try self.bySQL(typed) }, outcome { try self.bySwift(typed) },
            outcome { try self.plainly(expression) },
        ]
        for (index, other) in found.enumerated().dropFirst() where !isSame(found[0], other) {
            Issue.record(
                "`\(expression)` of \(values), \(parts): \(String(describing: found[0])) in SQL, \(String(describing: other)) \(index == 1 ? "in Swift" : "plainly")"
            )
        }
    }

    private func outcome(_ body: () throws -> Value) -> Value? { try? body() }

    private func bySQL(_ typed: ExpressionTranslation.Typed) throws -> Value {
        var translator = SQLTranslator(scope: Self.scope, resolver: Columns())
        let sql = try translator.sql(typed.computation)
        let statement = try connection.prepare("SELECT \(sql) FROM t AS s")
        for (index, value) in translator.resolver.parameters.enumerated() { try statement.bind(value, at: index + 1) }
        return try statement.step() ? statement.value(0) : .null
    }

    private func bySwift(_ typed: ExpressionTranslation.Typed) throws -> Value {
        var places = Columns()
        let evaluator = try RowEvaluator(typed.computation, now: 5, places: &places)
        let columns = (["s.*", "s.rowid"] + places.collections).joined(separator: ", ")
        let statement = try connection.prepare("SELECT \(columns) FROM t AS s")
        for (index, value) in places.parameters.enumerated() { try statement.bind(value, at: index + 1) }
        _ = try statement.step()
        return switch try evaluator.value(in: StepRow(statement)) {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob(Array(bytes))
        }
    }

    private func plainly(_ expression: Tree) throws -> Value {
        let evaluator = PlainEvaluator(objects: self, now: 5)
        let scope = PlainScope(source: PlainObject(entity: "Thing", key: 1))
        return switch try evaluator.value(of: expression, in: scope).plain {
        case .null: .null
        case .boolean(let flag): .integer(flag ? 1 : 0)
        case .integer(let integer): .integer(integer)
        case .real(let real): real.isNaN ? .null : .real(real)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob(bytes)
        case .object, .json: throw PlainFailure("no value")
        }
    }

    private func isSame(_ left: Value?, _ right: Value?) -> Bool {
        if case .real(let left)? = left, case .real(let right)? = right { return left.bitPattern == right.bitPattern }
        if case .text(let left)? = left, case .text(let right)? = right { return Array(left.utf8) == Array(right.utf8) }
        return left == right
    }

    // MARK: The object

    func value(of attribute: String, in object: PlainObject) throws -> PlainValue {
        switch (object.entity == "Thing" ? values : parts[Int(object.key) - 1])[attribute] ?? .null {
        case .null: .null
        case .integer(let integer): attribute == "date" ? .real(Double(integer)) : .integer(integer)
        case .real(let real): .real(real)
        case .text(let text): .string(text)
        case .blob(let bytes): .blob(bytes)
        }
    }

    func isComposite(_ name: String, of entity: String) -> Bool { false }
    func isRelationship(_ name: String, of entity: String) -> Bool { name == "parts" || name == "thing" }
    func isToMany(_ name: String, of entity: String) -> Bool { name == "parts" }
    func destination(of relationship: String, in entity: String) -> String? {
        relationship == "parts" ? "Part" : "Thing"
    }
    func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws {
        for index in entity == "Part" ? parts.indices : 0..<1 {
            try body(PlainObject(entity: entity, key: Int64(index) + 1))
        }
    }
    func eachRelated(_ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws {
        try eachObject(of: relationship == "parts" ? "Part" : "Thing", body)
    }
}

private struct Columns: PathResolver, PlaceResolver {
    var parameters: [Value] = []
    /// Subqueries that Swift reads as columns.
    var collections: [String] = []
    /// The aliases of members, by their collection's level, and of collections that are open.
    private var members: [Int: String] = [:]
    private var open: [(from: String, conditions: [String], alias: String)] = []
    private var aliases = 0

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        guard path.hops.isEmpty else { throw Self.none }
        let alias = if case .member(let level) = path.start { members[level] ?? "" } else { "s" }
        switch path.end {
        case .attribute(_, let names): return "\(alias).\(names[0])"
        case .object: return "\(alias).rowid"
        case .json: throw Self.none
        }
    }

    mutating func open(_ collection: CollectionComputation, keys: String?) throws(FerryError) {
        aliases += 1
        let alias = "p\(aliases)"
        open.append(("p AS \(alias)", keys.map { ["\(alias).rowid IN (\($0))"] } ?? [], alias))
        members[collection.level] = alias
    }

    mutating func closeCollection() -> CollectionSQL {
        guard let last = open.popLast() else { preconditionFailure("none is open") }
        return CollectionSQL(from: last.from, conditions: last.conditions, order: ["\(last.alias).rowid"])
    }

    mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int {
        var translator = SQLTranslator(scope: ThreeWays.scope, resolver: self)
        let sql = try translator.sql(.collection(collection))
        self = translator.resolver
        collections.append(sql)
        return ThreeWays.names.count + collections.count
    }

    mutating func place(of path: ResolvedPath) throws(FerryError) -> Int {
        if case .object = path.end, path.start == .source, path.hops.isEmpty { return ThreeWays.names.count }
        guard case .attribute(_, let names) = path.end, let place = ThreeWays.names.firstIndex(of: names[0]) else {
            throw Self.none
        }
        return place
    }

    mutating func elementText() throws(FerryError) -> String { throw Self.none }
    mutating func elementTextPlace() throws(FerryError) -> Int { throw Self.none }

    mutating func parameter(program: [UInt8]) -> String { add(.blob(program)) }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .now: add(.real(5))
        case .constant(.null): add(.null)
        case .constant(.boolean(let flag)): add(.integer(flag ? 1 : 0))
        case .constant(.integer(let integer)): add(.integer(integer))
        case .constant(.double(let real)): add(.real(real))
        case .constant(.string(let text)): add(.text(text))
        }
    }

    private mutating func add(_ value: Value) -> String {
        parameters.append(value)
        return "?\(parameters.count)"
    }

    private static var none: FerryError { FerryError(.internalError, "there is but one row") }
}

private final class StepRow: RowValues {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    func value(at place: Int) -> FunctionValue {
        switch statement.storageClass(place) {
        case .null: .null
        case .integer: .integer(statement.integer(place))
        case .real: .real(statement.real(place))
        case .text: .text(statement.withBytes(place) { $0 })
        case .blob: .blob(statement.withBytes(place) { $0 })
        }
    }
}

/// Expressions of every construct, as a rule of the types that it takes.
private struct RandomLanguage {
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

    /// Objects behind the relationship, or what is made of them.
    private mutating func objects(_ depth: Int) -> Tree {
        let parts = Tree.keyPath(.variable("source"), [.key("parts")])
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

    /// Values of objects, or written ones, of one kind.
    private mutating func numbers(_ depth: Int) -> Tree {
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

    private mutating func labels(_ depth: Int) -> Tree {
        switch below(4) {
        case 0: return .list((0..<below(4)).map { _ in text(0) })
        case 1: return .predefined(pick(SetOperator.allCases).rawValue, [labels(depth - 1), labels(depth - 1)])
        default: return .keyPath(objects(depth - 1), [.key("label")])
        }
    }

    mutating func any(_ depth: Int) -> Tree {
        switch below(5) {
        case 0, 1: number(depth)
        case 2, 3: text(depth)
        default: .ternary(condition(depth), .constant(.boolean(true)), .constant(.boolean(false)))
        }
    }

    private func key(_ name: String) -> Tree { .keyPath(.variable("source"), [.key(name)]) }

    private func call(_ receiver: Tree, _ selector: String, _ arguments: [Tree] = []) -> Tree {
        .function(receiver: receiver, selector: selector, arguments: arguments)
    }

    private mutating func number(_ depth: Int) -> Tree {
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
        case 7: return .predefined("ifnil:then:", [number(depth - 1), number(depth - 1)])
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

    private mutating func parts(_ depth: Int) -> Tree {
        call(text(depth - 1), "componentsSeparatedByString:", [text(0)])
    }

    private mutating func text(_ depth: Int) -> Tree {
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
        case 9: return .predefined("ifnil:then:", [text(depth - 1), text(depth - 1)])
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

    private mutating func condition(_ depth: Int) -> Condition {
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
