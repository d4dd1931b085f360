import FerryBase
import FerryEngine
import FerryExpression
import FerryModel
import FerrySQLite
import FerryVerify
import Foundation
import Testing

private typealias Tree = FerryExpression.Expression

/// SQL, Swift and verification's own evaluator give the same result for every expression: same type, same bytes, or no
/// value.
///
/// `FERRY_ROUNDS` gives the number of expressions for each of the eight seeds: 250,000 are 2,000,000 in all.
@Suite("The language, three ways")
struct LanguageTests {
    static let rounds = ProcessInfo.processInfo.environment["FERRY_ROUNDS"].flatMap { Int($0) } ?? 250

    @Test("A random expression has one value with every evaluator", arguments: 0..<8)
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
        // Expressions that the checker refuses do not count.
        #expect(checked > Self.rounds / 2, "\(checked) of \(Self.rounds)")
    }
}

/// One row of values, and the three evaluations of an expression on it.
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

    // MARK: The three evaluations

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
        try translator.resolver.bind(to: statement)
        return try statement.step() ? statement.value(0) : .null
    }

    private func bySwift(_ typed: ExpressionTranslation.Typed) throws -> Value {
        let bound = BoundComputation(typed.computation)
        var translator = SQLTranslator(scope: Self.scope, resolver: Columns())
        let columns = try ["NULL"] + bound.arguments.map { try translator.sql($0) }
        let statement = try connection.prepare("SELECT \(columns.joined(separator: ", ")) FROM t AS s")
        try translator.resolver.bind(to: statement)
        _ = try statement.step()
        let arguments = columns.indices.dropFirst().map(statement.borrowedValue)
        let evaluator = RowEvaluator(bound)
        return try withExtendedLifetime(evaluator) {
            switch try arguments.withUnsafeBufferPointer({ try evaluator.value(of: $0) }) {
            case .null: .null
            case .integer(let integer): .integer(integer)
            case .real(let real): .real(real)
            case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
            case .blob(let bytes): .blob(Array(bytes))
            }
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

    func property(_ name: String, of entity: String) -> PlainProperty {
        guard name == "parts" || name == "thing" else { return .other }
        return .relationship(destination: name == "parts" ? "Part" : "Thing", isToMany: name == "parts")
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

/// The sources of these tests hold their values in memory, without long texts and look-ups.
extension PlainObjectSource {
    func longText(of attribute: String, in object: PlainObject) throws -> PlainText? { nil }

    func eachObject(
        of entity: String, meeting equality: PlainEvaluator.Equality, _ body: (PlainObject) throws -> Void
    ) throws -> Bool { false }
}

private struct Columns: PathResolver {
    private var parameters: [Value] = []
    /// The parameters of what Swift computes.
    private var deep: [(name: String, computation: BoundComputation)] = []
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

    mutating func open(
        _ collection: CollectionComputation, keys: String?, _ lookups: [(equality: MemberEquality, value: String)]
    ) throws(FerryError) {
        aliases += 1
        let alias = "p\(aliases)"
        open.append(("p AS \(alias)", keys.map { ["\(alias).rowid IN (\($0))"] } ?? [], alias))
        members[collection.level] = alias
    }

    mutating func closeCollection() -> (from: String, conditions: [String], order: [String]) {
        guard let last = open.popLast() else { preconditionFailure("none is open") }
        return (last.from, last.conditions, ["\(last.alias).rowid"])
    }

    mutating func elementText() throws(FerryError) -> String { throw Self.none }

    mutating func parameter(_ computation: BoundComputation) -> String {
        let name = add(.null)
        deep.append((name, computation))
        return name
    }

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

    func bind(to statement: Statement) throws {
        for (index, value) in parameters.enumerated() { try statement.bind(value, at: index + 1) }
        for (name, computation) in deep { try statement.bind(object: RowEvaluator(computation), named: name) }
    }

    private mutating func add(_ value: Value) -> String {
        parameters.append(value)
        return "?\(parameters.count)"
    }

    private static var none: FerryError { FerryError(.internalError, "there is but one row") }
}

extension Statement {
    fileprivate func borrowedValue(_ place: Int) -> FunctionValue {
        switch storageClass(place) {
        case .null: .null
        case .integer: .integer(integer(place))
        case .real: .real(real(place))
        case .text: .text(withBytes(place) { $0 })
        case .blob: .blob(withBytes(place) { $0 })
        }
    }
}
