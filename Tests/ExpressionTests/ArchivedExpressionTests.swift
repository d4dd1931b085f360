import FerryBase
import FerryExpression
import Foundation
import TestSupport
import Testing

@Suite struct ArchivedExpressionTests {
    @Test(
        "Every archived expression of the real mapping models is read",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func readsFixtures() throws {
        let archives = try archivedExpressions()
        #expect(archives.count == 32)
        var found: [String: Int] = [:]
        for archive in archives {
            let expression = try ArchivedExpression.decode(archive)
            #expect(try Expression.parse(expression.description) == expression)
            found[expression.description, default: 0] += 1
        }
        for (text, count) in Self.expected { #expect(found[text] == count, "\(text)") }
        #expect(found.keys.sorted() == Self.expected.keys.sorted())
    }

    private static let expected: [String: Int] = [
        "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"PersonToPerson\", $source.owner)":
            3,
        "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", \"cars\", $source.cars)":
            1,
        "$source.timeBudget * 60": 1,
        "$source.content.length * 0.2": 1,
        "$source.continent.numericISO3166Code": 1,
        "FUNCTION($entityPolicy, \"multiplyByTen:\", $source.identifier)": 1,
        "FUNCTION($entityPolicy, \"changeID:\", $source.id)": 1,
        "now()": 1, "0": 1, "1024": 1, "TRUE": 1, "\"Unknown\"": 1,
        "\"nowhere1_2\"": 1, "\"nowhere1_3\"": 1, "\"nowhere2_3\"": 1,
        "$source.color": 1, "$source.username": 1, "$source.cryptoType": 1, "$source.publicKey": 1,
        "$source.title": 1, "$source.companyName": 1, "$source.companyProfits": 1, "$source.companyDateFounded": 1,
        "$source.sourceURL": 1, "$source.lastArchiveSync": 1, "$source.path": 1, "$source.name": 1,
        "$source.numberOfFlippers": 1, "$source.numberOfFlagella": 1, "$source.listeningNotes": 1,
    ]

    @Test("Bytes that are no archive are refused", arguments: [[], Array("bplist00".utf8), Array("<plist/>".utf8)])
    func refusesDamage(bytes: [UInt8]) {
        #expect(throws: FerryError.self) { try ArchivedExpression.decode(bytes) }
    }

    @Test("Every truncation and every flipped byte of an archive gives an expression or an error, never a crash")
    func survivesDamage() throws {
        let whole = try archive([
            "$null", object("NSVariableExpression", ["NSVariable": uid(2)]), "source",
            ["$classname": "NSVariableExpression", "$classes": ["NSVariableExpression", "NSExpression"]],
        ])
        #expect(try ArchivedExpression.decode(whole) == .variable("source"))
        for length in whole.indices {
            #expect(throws: FerryError.self) { try ArchivedExpression.decode(Array(whole[..<length])) }
        }
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x15
            do { _ = try ArchivedExpression.decode(damaged) } catch { #expect(error.code.consequence == .refused) }
        }
    }

    @Test("An unknown class is an error that names it")
    func namesUnknownClass() throws {
        let archive = try archive([
            "$null", object("NSBlockExpression", [:]), "",
            ["$classname": "NSBlockExpression", "$classes": ["NSBlockExpression", "NSExpression"]],
        ])
        let error = try #require(throws: FerryError.self) { try ArchivedExpression.decode(archive) }
        #expect(error.code == .unsupported)
        #expect(error.message.contains("NSBlockExpression"))
    }

    @Test("Every class of expressions and predicates is read as the equivalent text", arguments: Self.forms)
    func readsForms(_ form: Form) throws {
        var archive = Forms()
        let bytes = try archive.bytes(form.root)
        #expect(try ArchivedExpression.decode(bytes) == Expression.parse(form.text))
    }

    @Test(
        "A class that no store can evaluate is refused with the reason",
        arguments: [
            ("NSBlockExpression", "is code"), ("NSAnyKeyExpression", "any key"),
            ("NSVariableAssignmentExpression", "binds a variable"),
        ])
    func refusesClasses(_ name: String, _ reason: String) throws {
        var archive = Forms()
        let bytes = try archive.bytes(.init(name))
        let error = try #require(throws: FerryError.self) { try ArchivedExpression.decode(bytes) }
        #expect(error.code == .unsupported)
        #expect(error.message.contains(name) && error.message.contains(reason), "\(error.message)")
    }

    /// An archived object and the equivalent text.
    struct Form: Sendable, CustomTestStringConvertible {
        var text: String
        var root: Part
        var testDescription: String { text }

        init(_ text: String, _ root: Part) {
            self.text = text
            self.root = root
        }
    }

    /// An object of an archive, before it has a number.
    indirect enum Part: Sendable {
        case object(String, [String: Part])
        case text(String)
        case number(Int)
        case array([Part])

        init(_ name: String, _ values: [String: Part] = [:]) { self = .object(name, values) }

        static func variable(_ name: String) -> Part { Part("NSVariableExpression", ["NSVariable": .text(name)]) }
        static func constant(_ value: Part) -> Part { Part("NSConstantValueExpression", ["NSConstantValue": value]) }
        static func path(_ base: Part, _ keys: String) -> Part {
            Part(
                "NSKeyPathExpression",
                [
                    "NSOperand": base, "NSSelectorName": .text("valueForKeyPath:"),
                    "NSArguments": .array([Part("NSKeyPathSpecifierExpression", ["NSKeyPath": .text(keys)])]),
                ])
        }
        static func source(_ keys: String) -> Part { path(.variable("source"), keys) }
        static func call(_ selector: String, _ arguments: [Part]) -> Part {
            Part(
                "NSFunctionExpression",
                [
                    "NSOperand": Part(
                        "NSConstantValueExpression", ["NSConstantValueClassName": .text("_NSPredicateUtilities")]),
                    "NSSelectorName": .text(selector), "NSArguments": .array(arguments),
                ])
        }
        static func comparison(_ left: Part, _ type: Int, _ right: Part, _ more: [String: Part] = [:]) -> Part {
            let operation = Part(
                "NSPredicateOperator", ["NSOperatorType": .number(type)].merging(more) { first, _ in first })
            return Part(
                "NSComparisonPredicate",
                ["NSLeftExpression": left, "NSRightExpression": right, "NSPredicateOperator": operation])
        }
        static func ternary(_ condition: Part) -> Part {
            Part(
                "NSTernaryExpression",
                [
                    "NSPredicate": condition, "NSTrueExpression": .constant(.number(1)),
                    "NSFalseExpression": .constant(.number(2)),
                ])
        }
        static func list(_ elements: [Part]) -> Part {
            Part("NSAggregateExpression", ["NSCollection": .array(elements)])
        }
    }

    static let forms: [Form] = [
        Form("TERNARY($source.a > 1, 1, 2)", .ternary(.comparison(.source("a"), 2, .constant(.number(1))))),
        Form("TERNARY(TRUEPREDICATE, 1, 2)", .ternary(Part("NSTruePredicate"))),
        Form(
            "TERNARY(NOT ($source.a == 1 OR $source.b != 'x'), 1, 2)",
            .ternary(
                Part(
                    "NSCompoundPredicate",
                    [
                        "NSCompoundPredicateType": .number(0),
                        "NSSubpredicates": .array([
                            Part(
                                "NSCompoundPredicate",
                                [
                                    "NSCompoundPredicateType": .number(2),
                                    "NSSubpredicates": .array([
                                        .comparison(.source("a"), 4, .constant(.number(1))),
                                        .comparison(.source("b"), 5, .constant(.text("x"))),
                                    ]),
                                ])
                        ]),
                    ]))),
        Form(
            "TERNARY($source.b BEGINSWITH[cd] 'x', 1, 2)",
            .ternary(.comparison(.source("b"), 8, .constant(.text("x")), ["NSFlags": .number(3)]))),
        Form(
            "TERNARY($source.b CONTAINS $source.c, 1, 2)", .ternary(.comparison(.source("b"), 99, .source("c")))),
        Form(
            "TERNARY($source.a IN {1, 2}, 1, 2)",
            .ternary(.comparison(.source("a"), 10, .list([.constant(.number(1)), .constant(.number(2))])))),
        Form(
            "TERNARY($source.a BETWEEN {1, 2}, 1, 2)",
            .ternary(.comparison(.source("a"), 100, .list([.constant(.number(1)), .constant(.number(2))])))),
        Form(
            "TERNARY(ANY $source.books.price > 1, 1, 2)",
            .ternary(
                .comparison(.source("books.price"), 2, .constant(.number(1)), ["NSModifier": .number(2)]))),
        Form(
            "SUBQUERY($source.books, $b, $b.price <= 1).@count",
            .path(
                Part(
                    "NSSubqueryExpression",
                    [
                        "NSExpression": .source("books"), "NSVariable": .variable("b"),
                        "NSSubpredicate": .comparison(.path(.variable("b"), "price"), 1, .constant(.number(1))),
                    ]), "@count")),
        Form(
            "$source.a UNION $source.b",
            Part(
                "NSSetExpression",
                [
                    "NSExpressionType": .number(5), "NSLeftExpression": .source("a"),
                    "NSRightExpression": .source("b"),
                ])),
        Form(
            "$source.a MINUS {1}",
            Part(
                "NSSetExpression",
                [
                    "NSExpressionType": .number(7), "NSLeftExpression": .source("a"),
                    "NSRightExpression": .constant(.object("NSArray", ["NS.objects": .array([.number(1)])])),
                ])),
        Form("median:({1, 'x'})", .call("median:", [.list([.constant(.number(1)), .constant(.text("x"))])])),
        Form("$source.a[3]", .call("objectFrom:withIndex:", [.source("a"), .constant(.number(3))])),
        Form(
            "$source.a[LAST]",
            .call("objectFrom:withIndex:", [.source("a"), Part("NSSymbolicExpression", ["NSToken": .text("LAST")])])),
        Form("randomn:(6)", .call("randomn:", [.constant(.number(6))])),
        Form(
            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Book', 'a > 1'), "
                + "$manager.sourceContext, NO)",
            Part(
                "NSFetchRequestExpression",
                [
                    "NSFRExpression": Part(
                        "NSFunctionExpression",
                        [
                            "NSOperand": .variable("manager"),
                            "NSSelectorName": .text("fetchRequestForSourceEntityNamed:predicateString:"),
                            "NSArguments": .array([.constant(.text("Book")), .constant(.text("a > 1"))]),
                        ]), "NSMOCExpression": .source("context"),
                ])),
    ]

    /// Numbers the objects of an archive.
    private struct Forms {
        private var objects: [Any] = ["$null"]

        mutating func bytes(_ root: Part) throws -> [UInt8] {
            _ = add(root)
            return try BinaryArchive(objects).bytes
        }

        private mutating func add(_ part: Part) -> UID {
            let place = objects.count
            objects.append("")
            switch part {
            case .text(let text): objects[place] = text
            case .number(let number): objects[place] = number
            case .array(let parts):
                let elements = parts.map { add($0) as Any }
                let name = "NSArray"
                objects[place] = ["NS.objects": elements, "$class": add(class: name)] as [String: Any]
            case .object(let name, let values):
                var object: [String: Any] = ["$class": add(class: name)]
                for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                    if key == "NS.objects", case .array(let parts) = value {
                        object[key] = parts.map { add($0) as Any }
                    } else if case .number(let number) = value, key != "NSConstantValue" {
                        object[key] = number
                    } else {
                        object[key] = add(value)
                    }
                }
                objects[place] = object
            }
            return UID(position: place)
        }

        private mutating func add(class name: String) -> UID {
            let kinds = name.hasSuffix("Expression") ? [name, "NSExpression"] : [name]
            objects.append(["$classname": name, "$classes": kinds] as [String: Any])
            return UID(position: objects.count - 1)
        }
    }

    @Test("A cycle of expressions is an error")
    func refusesCircle() throws {
        let archive = try archive([
            "$null",
            object(
                "NSFunctionExpression", ["NSSelectorName": uid(2), "NSOperand": uid(1), "NSArguments": uid(0)]),
            "x", ["$classname": "NSFunctionExpression", "$classes": ["NSFunctionExpression", "NSExpression"]],
        ])
        let error = try #require(throws: FerryError.self) { try ArchivedExpression.decode(archive) }
        #expect(error.code == .badArchive)
    }

    // MARK: Archives

    /// An archive in the XML form that ``PropertyListSerialization`` can turn into binary.
    private func archive(_ objects: [Any]) throws -> [UInt8] {
        let data = try #require(
            try? BinaryArchive(objects).bytes as [UInt8]?, "the archive can be written")
        return data
    }

    private func object(_ name: String, _ values: [String: Any]) -> [String: Any] {
        var values = values
        values["$class"] = uid(3)
        return values
    }

    private func uid(_ position: Int) -> UID { UID(position: position) }

    private func archivedExpressions() throws -> [[UInt8]] {
        var archives: [[UInt8]] = []
        for file in Fixtures.items {
            guard file.hasSuffix("xcmapping.xml") else { continue }
            let text = try String(contentsOfFile: Fixtures.path(file), encoding: .utf8)
            for piece in text.components(separatedBy: "<attribute name=\"valueexpressiondata\"").dropFirst() {
                let start = try #require(piece.firstIndex(of: ">"))
                let end = try #require(piece.range(of: "</attribute>")).lowerBound
                let base64 = String(piece[piece.index(after: start)..<end])
                let data = try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters))
                archives.append(Array(data))
            }
        }
        return archives
    }
}

/// A reference inside a keyed archive.
struct UID { var position: Int }

/// Writes small keyed archives as binary property lists, with UIDs, which Foundation cannot write.
private struct BinaryArchive {
    private(set) var bytes: [UInt8] = Array("bplist00".utf8)
    private var offsets: [Int] = []
    private var values: [Any] = []

    init(_ objects: [Any]) throws {
        let root: [String: Any] = [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": UID(position: 1)],
            "$objects": objects,
        ]
        let top = number(root)
        for value in values { write(value) }
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 255)] }
        bytes += [0, 0, 0, 0, 0, 0, 2, 2]
        for value in [offsets.count, top, table] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * (7 - $0))) }
        }
    }

    /// Collections whose elements are replaced by their numbers.
    private struct Array_ { var numbers: [Int] }
    private struct Dictionary_ { var keys: [Int], values: [Int] }

    private mutating func number(_ value: Any) -> Int {
        let stored: Any
        if let list = value as? [Any] {
            stored = Array_(numbers: list.map { number($0) })
        } else if let map = value as? [String: Any] {
            let sorted = map.sorted { $0.key < $1.key }
            stored = Dictionary_(keys: sorted.map { number($0.key) }, values: sorted.map { number($0.value) })
        } else {
            stored = value
        }
        values.append(stored)
        return values.count - 1
    }

    private mutating func write(_ value: Any) {
        offsets.append(bytes.count)
        switch value {
        case let text as String:
            marker(0x50, text.utf8.count)
            bytes += text.utf8
        case let uid as UID: bytes += [0x80, UInt8(uid.position)]
        case let number as Int: bytes += [0x12] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * (3 - $0))) }
        case let list as Array_:
            marker(0xA0, list.numbers.count)
            bytes += list.numbers.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        case let map as Dictionary_:
            marker(0xD0, map.keys.count)
            bytes += (map.keys + map.values).flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        default: preconditionFailure("no form for \(value)")
        }
    }

    private mutating func marker(_ kind: UInt8, _ count: Int) {
        if count < 15 { bytes.append(kind | UInt8(count)) } else { bytes += [kind | 15, 0x10, UInt8(count)] }
    }
}
