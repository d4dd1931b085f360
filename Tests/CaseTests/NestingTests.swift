import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

private typealias Tree = FerryExpression.Expression

/// Every accepted expression runs, with any depth of nested functions: SQLite 3.40 parses about 20.
///
/// `FERRY_SWEEP=1` tries every depth from 1 to 200.
@Suite("Nested expressions")
struct NestingTests {
    static let depths: [Int] = Sweep.isFull ? Array(1...200) : [1, 2, 11, 12, 13, 20, 21, 64, 199]

    private static let ofText = ["uppercase:", "lowercase:", "canonical:"]
    private static let ofReals = ["sqrt:", "log:", "ln:", "exp:", "abs:", "floor:", "ceiling:", "trunc:"]
    private static let ofTwoReals = [
        "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:", "ifnil:then:",
    ]
    private static let ofTwoIntegers = [
        "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:",
    ]

    /// Returns the name of an attribute, its type, and the same function nested to a depth.
    private static func expressions(_ depth: Int) -> [(name: String, type: AttributeType, value: Tree)] {
        func attribute(_ name: String) -> Tree { Tree(sourceKeys: name) }
        func nested(_ start: Tree, _ wrap: (Tree) -> Tree) -> Tree {
            (0..<depth).reduce(start) { value, _ in wrap(value) }
        }
        var all: [(String, AttributeType, Tree)] = []
        for name in ofText {
            all.append((name, .string, nested(attribute("text")) { .predefined(name, [$0]) }))
        }
        for name in ofReals { all.append((name, .double, nested(attribute("real")) { .predefined(name, [$0]) })) }
        for name in ["onesComplement:", "noindex:"] {
            all.append((name, .integer64, nested(attribute("whole")) { .predefined(name, [$0]) }))
        }
        for (names, key, type) in [(ofTwoReals, "real", AttributeType.double), (ofTwoIntegers, "whole", .integer64)] {
            for name in names {
                let one = Tree.constant(type == .double ? .double(1) : .integer(1))
                all.append((name, type, nested(attribute(key)) { .call(name, [$0, one]) }))
                all.append((name + "right", type, nested(attribute(key)) { .call(name, [one, $0]) }))
            }
        }
        let cast = Tree.constant(.string("NSString"))
        all.append(("cast", .string, nested(attribute("text")) { .predefined("castObject:toType:", [$0, cast]) }))
        return all.enumerated().map { ("a\($0.offset)", $0.element.1, $0.element.2) }
    }

    private struct Setting {
        var source: ModelVersion
        var destination: ModelVersion
        var plan: MigrationPlan

        init(_ depth: Int) throws {
            let parts = NestingTests.expressions(depth)
            let own = [
                Attribute(name: "text", type: .string, isOptional: true),
                Attribute(name: "real", type: .double, isOptional: true),
                Attribute(name: "whole", type: .integer64, isOptional: true),
            ]
            source = Self.version("V1", [Entity(name: "Thing", attributes: own)])
            let made = parts.map { Attribute(name: $0.name, type: $0.type, isOptional: true) }
            let found = [Attribute(name: "text", type: .string, isOptional: true)]
            destination = Self.version(
                "V2",
                [Entity(name: "Thing", attributes: made)] + parts.map { Entity(name: "F\($0.name)", attributes: found) }
            )
            var mappings = [EntityMapping(name: "ThingToThing", source: "Thing", destination: "Thing")]
            mappings[0].attributes = Dictionary(uniqueKeysWithValues: parts.map { ($0.name, .value($0.value)) })
            // The same nesting in a predicate.
            for part in parts {
                mappings.append(
                    EntityMapping(
                        name: "F\(part.name)", source: "Thing", destination: "F\(part.name)",
                        filter: .comparison(.init(left: part.value, comparator: .notEqual, right: .constant(.null)))))
            }
            let model = MappingModel(
                name: "deep", path: "deep.json", sourceVersion: "V1", destinationVersion: "V2",
                entityMappings: mappings)
            plan = Planner(
                catalog: ModelCatalog(versions: [source, destination]), mappingModels: [model], executor: .set
            ).plan(from: source, to: destination, rows: [:], areRowsEstimated: true)
        }

        private static func version(_ name: String, _ entities: [Entity]) -> ModelVersion {
            let model = ManagedObjectModel(versionIdentifiers: [name], entities: entities)
            return ModelVersion(
                name: name, bundle: "Deep", path: "Deep.xcdatamodeld/\(name).xcdatamodel", isCurrent: false,
                model: model, hashes: VersionHash.hashes(of: model))
        }

        func makeStore(at path: String) throws {
            let connection = try Connection(path: path, mode: .create)
            let layout = try StoreLayout.canonical(for: source.model)
            try StoreCreation.prepare(connection)
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
            try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Thing": 2], on: connection)
            try StoreMetadata.new(for: source, uuid: "6F0E4A5C-0B0E-4C35-9B51-6C9A0B8C3E11").write(to: connection)
            try connection.execute(
                """
                INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZREAL, ZWHOLE) VALUES (1, 1, 1, 'Aé', 1.0, 3),
                    (2, 1, 1, NULL, NULL, NULL)
                """)
        }
    }

    @Test("An expression that plan accepts runs at any depth, and is verified", arguments: depths)
    func runs(_ depth: Int) throws {
        let setting = try Setting(depth)
        #expect(setting.plan.refusals.isEmpty, "\(setting.plan.refusals)")
        let folder = try TemporaryFolder()
        let store = folder.file("source.sqlite")
        try setting.makeStore(at: store)
        let run = StepRun(
            step: setting.plan.steps[0], sourcePath: store, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: .automatic, now: 5))
        let report = try run.run()
        let verification = try Verification(
            mode: .full, step: run.step.resolved, sourcePath: store, isSourcePrivate: true,
            destinationPath: run.destinationPath, workFolder: folder.path, counts: report.counts, now: 5,
            policies: report.policies
        ).run()
        #expect(verification.differences.isEmpty, "\(verification.differences)")
    }
}
