import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Values within the bounds of their validation, and unique values where the model requires them.
struct GeneratedValueTests {
    private func generate(
        _ model: ManagedObjectModel, _ options: GenerationOptions = GenerationOptions(rows: 2_000),
        in folder: TemporaryFolder
    ) throws -> Connection {
        let version = ModelVersion(of: model)
        let path = folder.file("Store.sqlite")
        try StoreGenerator(version, options: options).generate(at: path, files: FileLayer())
        let report = try Verification(ofStore: version, at: path, isNew: true, workFolder: folder.path).run()
        #expect(report.differences == [])
        return try Connection(path: path, mode: .readOnly)
    }

    private func attribute(
        _ name: String, _ type: AttributeType, _ minimum: Double? = nil, _ maximum: Double? = nil,
        pattern: String? = nil
    ) -> Attribute {
        var attribute = Attribute(name: name, type: type)
        attribute.validation = AttributeValidation(minimum: minimum, maximum: maximum, pattern: pattern)
        return attribute
    }

    @Test("Numbers, dates and lengths stay within the bounds of the model, and use their range")
    func bounds() throws {
        let cases: [(Attribute, Double, Double)] = [
            (attribute("a", .integer16, 3, 5), 3, 5), (attribute("b", .integer32, -10, -8), -10, -8),
            (attribute("c", .integer64, nil, -100), -.infinity, -100), (attribute("d", .double, 0, 1), 0, 1),
            (attribute("e", .float, -1, 1), -1, 1), (attribute("f", .decimal, 10, 12), 10, 12),
            (attribute("g", .date, 1_000, 2_000), 1_000, 2_000), (attribute("h", .integer16, 32_760), 32_760, 32_767),
            (attribute("i", .integer16, 7, 7), 7, 7), (attribute("j", .double, 0.25, 0.75), 0.25, 0.75),
        ]
        let texts: [(Attribute, Int, Int)] = [
            (attribute("s", .string, 3, 8), 3, 8), (attribute("t", .string, nil, 5), 0, 5),
            (attribute("u", .string, 60), 60, .max), (attribute("v", .string, 4, 4), 4, 4),
        ]
        let model = ManagedObjectModel(
            versionIdentifiers: [], entities: [Entity(name: "Item", attributes: cases.map(\.0) + texts.map(\.0))])
        let folder = try TemporaryFolder()
        let store = try generate(model, in: folder)
        for (attribute, low, high) in cases {
            let column = "Z\(attribute.name.uppercased())"
            let row = try store.rows("SELECT min(\(column)), max(\(column)), count(DISTINCT \(column)) FROM ZITEM")[0]
            let (least, most) = (row[0].number ?? -.infinity, row[1].number ?? .infinity)
            #expect(least >= low && most <= high, "\(attribute.name): \(least)...\(most)")
            #expect(row[2].integer ?? 0 > 1 || low == high, "\(attribute.name)")
        }
        for (attribute, low, high) in texts {
            let column = "Z\(attribute.name.uppercased())"
            let row = try store.rows("SELECT min(length(\(column))), max(length(\(column))) FROM ZITEM")[0]
            #expect(row[0].integer ?? -1 >= low && row[1].integer ?? .max <= high, "\(attribute.name): \(row)")
        }
    }

    @Test(
        "Texts match a simple regular expression, and are unique where required",
        arguments: [
            "^[A-Z]{3}-[0-9]{4}$", "\\d{5}", "[a-z]+@[a-z]{2,5}\\.com", "#[0-9a-fA-F]{6}", "x?y*z", "[A-Z0-9_-]{8}",
        ])
    func patterns(_ pattern: String) throws {
        let isUnique = pattern.contains("{") && !pattern.contains("@")
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Item", attributes: [attribute("code", .string, pattern: pattern)],
                    uniquenessConstraints: isUnique ? [["code"]] : [])
            ])
        let folder = try TemporaryFolder()
        let store = try generate(model, GenerationOptions(rows: 500), in: folder)
        let expression = try NSRegularExpression(pattern: "^(?:\(pattern))$")
        for row in try store.rows("SELECT ZCODE FROM ZITEM") {
            let text = row[0].text ?? ""
            let match = expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count))
            #expect(match != nil, "\(text)")
        }
        #expect(try !isUnique || store.integer("SELECT count(DISTINCT ZCODE) FROM ZITEM") == 500)
    }

    @Test("A regular expression that is not simple gives plain words")
    func otherPatterns() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [Entity(name: "Item", attributes: [attribute("code", .string, pattern: "(a|b)\\1(?=c)")])])
        let folder = try TemporaryFolder()
        #expect(
            try generate(model, GenerationOptions(rows: 5), in: folder).integer("SELECT count(ZCODE) FROM ZITEM") == 5)
    }

    @Test("Constraints of several small properties hold together, also with relationships and in subentities")
    func compoundConstraints() throws {
        let to = { (name: String, entity: String, isOptional: Bool) in
            Relationship(name: name, destinationEntity: entity, isOptional: isOptional)
        }
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(name: "User"), Entity(name: "Group"),
                Entity(
                    name: "Member", attributes: [attribute("active", .boolean), attribute("rank", .integer16, 1, 9)],
                    relationships: [to("user", "User", false), to("group", "Group", false)],
                    uniquenessConstraints: [["user", "group"]]),
                Entity(name: "Guest", superentity: "Member", uniquenessConstraints: [["active", "rank", "user"]]),
                Entity(
                    name: "Seat",
                    attributes: [attribute("row", .string, 1, 1), attribute("number", .integer16, 1, 60)],
                    uniquenessConstraints: [["row", "number"]]),
            ])
        let folder = try TemporaryFolder()
        let store = try generate(
            model,
            GenerationOptions(
                rows: 10, rowsOfEntity: ["User": 40, "Group": 30, "Member": 350, "Guest": 300, "Seat": 500]),
            in: folder)
        #expect(try store.integer("SELECT count(*) FROM (SELECT DISTINCT ZUSER, ZGROUP FROM ZMEMBER)") == 650)
        #expect(try store.integer("SELECT count(*) FROM (SELECT DISTINCT ZROW, ZNUMBER FROM ZSEAT)") == 500)
        #expect(throws: FerryError.self) {
            try generate(
                model, GenerationOptions(rows: 0, rowsOfEntity: ["Seat": 1_000]), in: try TemporaryFolder())
        }
    }

    @Test("The leaves of composite attributes have values of their types, and NULL where allowed")
    func composites() throws {
        var model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Place", attributes: [Attribute(name: "spot", type: .composite, compositeName: "Point")])
            ])
        model.composites["Point"] = [
            attribute("x", .double, -90, 90), Attribute(name: "label", type: .string, isOptional: true),
        ]
        let folder = try TemporaryFolder()
        let store = try generate(model, in: folder)
        #expect(try store.integer("SELECT count(*) FROM ZPLACE WHERE ZX NOT BETWEEN -90 AND 90 OR ZX IS NULL") == 0)
        #expect((1...400).contains(try store.integer("SELECT sum(ZLABEL IS NULL) FROM ZPLACE") ?? 0))
    }

    @Test("Equal models, numbers and seeds give equal files, byte for byte")
    func sameBytes() throws {
        let folder = try TemporaryFolder()
        var bytes: [Data] = []
        for name in ["1.sqlite", "2.sqlite"] {
            try StoreGenerator(StoreGeneratorTests.version(), options: StoreGeneratorTests.options)
                .generate(at: folder.file(name), files: FileLayer())
            bytes.append(try Data(contentsOf: URL(fileURLWithPath: folder.file(name))))
        }
        #expect(bytes[0] == bytes[1] && bytes[0].count > 100_000)
    }

    @Test(
        "A compiled model has the bounds of its source",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
    func compiledValidation() throws {
        for (source, compiled) in [
            ("xcservercoredata/XCServerCoreData.xcdatamodeld", "xcservercoredata/XCServerCoreData.momd"),
            ("coredataplus-samplemodel/SampleModel.xcdatamodeld", "coredataplus-samplemodel/SampleModel.momd"),
        ] {
            let sources = try ModelCatalog(paths: [Fixtures.path(source)]).versions
            for version in try ModelCatalog(paths: [Fixtures.path(compiled)]).versions {
                guard let same = sources.first(where: { $0.hashes == version.hashes }) else { continue }
                for entity in version.model.entities.values {
                    for attribute in entity.attributes {
                        let other = same.model.attribute(attribute.name, of: entity.name)
                        #expect(attribute.validation == other?.validation, "\(entity.name).\(attribute.name)")
                    }
                }
            }
        }
    }
}

extension Value {
    fileprivate var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real
        default: nil
        }
    }
}
