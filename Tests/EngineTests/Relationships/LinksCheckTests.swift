import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Links that the rules pass over: engine and verification read the same rules, so that only the source's own links show
/// what is lost.
@Suite("Links of the source that no rule carries")
struct LinksCheckTests {
    /// A relationship with its inverse, of each form.
    enum Form: String, CaseIterable {
        case toOne = "author", oneToOne = "cover", manyToMany = "tags", ownInverse = "similar", withoutInverse = "notes"

        /// The names of the relationship and its inverse.
        var names: Set<String> {
            switch self {
            case .toOne: ["author", "books"]
            case .oneToOne: ["cover", "book"]
            case .manyToMany: ["tags", "tagged"]
            case .ownInverse: ["similar"]
            case .withoutInverse: ["notes"]
            }
        }

        /// The links in ``LinksCheckTests/rows``.
        var count: Int64 {
            switch self {
            case .toOne: 3
            case .oneToOne, .withoutInverse: 2
            case .manyToMany: 4
            // A pair has a row for each direction.
            case .ownInverse: 2
            }
        }
    }

    static func model(_ more: [Attribute] = []) -> ManagedObjectModel {
        ManagedObjectModel(
            .made(
                "Book", [.text("title")] + more,
                [
                    .one("author", "Author", inverse: "books"), .one("cover", "Cover", inverse: "book"),
                    .many("tags", "Tag", inverse: "tagged"), .many("similar", "Book", inverse: "similar"),
                    .many("notes", "Note", inverse: nil),
                ]),
            .made("Author", [.text("name")], [.many("books", "Book", inverse: "author")]),
            .made("Poet", parent: "Author"), .made("Cover", [], [.one("book", "Book", inverse: "cover")]),
            .made("Tag", [], [.many("tagged", "Book", inverse: "tags")]), .made("Note", [.text("text")]))
    }

    /// Three books of an author and a poet, with links of every form, and one dangling key.
    static func rows(_ layout: StoreLayout) throws -> [String] {
        func number(_ entity: String) -> Int64 { layout.entityNumbers[entity] ?? 0 }
        func column(_ name: String) -> String {
            layout.relationshipStorage[PropertyKey("Book", name)]?.columnNames[0] ?? ""
        }
        func join(_ name: String) throws -> (table: String, own: String, other: String) {
            guard
                case .join(let table, let own, let other, _, _)? = layout.relationshipStorage[PropertyKey("Book", name)]
            else { throw FerryError(.internalError, "\(name) has no join table") }
            return (table, own, other)
        }
        let (tags, similar) = (try join("tags"), try join("similar"))
        let notes = column("notes")
        return [
            """
            INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME)
            VALUES (1, \(number("Author")), 1, 'Ada'), (2, \(number("Poet")), 1, 'Ben')
            """,
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, ZCOVER)
            VALUES (1, \(number("Book")), 1, 'a', 1, 1), (2, \(number("Book")), 1, 'b', 2, 2),
                (3, \(number("Book")), 1, 'c', 2, NULL), (4, \(number("Book")), 1, 'd', 77, NULL)
            """,
            "INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT, ZBOOK) VALUES (1, \(number("Cover")), 1, 1), (2, \(number("Cover")), 1, 2)",
            "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, \(number("Tag")), 1), (2, \(number("Tag")), 1)",
            "INSERT INTO \(tags.table) (\(tags.own), \(tags.other)) VALUES (1, 1), (1, 2), (2, 2), (3, 1)",
            "INSERT INTO \(similar.table) (\(similar.own), \(similar.other)) VALUES (1, 2), (2, 1)",
            """
            INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT, \(notes)) VALUES (1, \(number("Note")), 1, 'x', 1),
                (2, \(number("Note")), 1, 'y', 1), (3, \(number("Note")), 1, 'z', NULL)
            """,
        ]
    }

    // MARK: Steps

    enum Way: String, CaseIterable { case copied, inPlace }

    /// The step to a version with one more attribute, whose rules a test changes before engine and verification read them.
    private func step(
        to model: ManagedObjectModel? = nil, isMapped: Bool = false, unique: Set<String> = [],
        changing change: (ResolvedEntityMapping) -> ResolvedEntityMapping = { $0 }
    ) throws -> InPlaceStep {
        let (source, target) = (Self.model(), model ?? Self.model([.text("more")]))
        var made = try InPlaceStep(
            source, target, maximumKeys: ["Book": 4, "Author": 2, "Cover": 2, "Tag": 2, "Note": 3],
            mappingModels: isMapped ? [Self.mapping(source, target, unique)] : [],
            rows: Self.rows(StoreLayout.canonical(for: source)))
        made.step.resolved = made.step.resolved.with(made.step.resolved.entityMappings.map(change))
        return made
    }

    /// A mapping model that keeps every object and what the new version knows of it.
    ///
    /// Objects of the `unique` entities get new keys.
    private static func mapping(
        _ source: ManagedObjectModel, _ target: ManagedObjectModel, _ unique: Set<String>
    ) throws -> MappingModel {
        let folder = try TemporaryFolder()
        let entities = source.sortedEntityNames.map { name in
            let more = unique.contains(name) ? #", "unique": ["name"]"# : ""
            return #"{ "source": "\#(name)", "destination": "\#(name)"\#(more) }"#
        }
        let path = folder.file("mapping.json")
        try FileLayer().replace(
            path,
            with: Array(
                #"{ "source": "Model", "destination": "Model 2", "entityMappings": [ \#(entities.joined(separator: ", ")) ] }"#
                    .utf8))
        return try MappingFile.load(path: path)
    }

    /// Runs the step without checks, and verifies the result.
    private func verify(
        _ made: InPlaceStep, _ way: Way, _ mode: VerifyMode = .full, told: [ToldLoss]
    ) throws -> [VerificationSummary.Difference] {
        let connection = try way == .copied ? made.copied() : altered(made)
        var verification = Verification(
            mode: mode, of: way == .inPlace ? .altered : .copied(), step: made.step.resolved,
            sourcePath: made.store.path, isSourcePrivate: true,
            destinationPath: connection.path, workFolder: made.store.folder.path, counts: nil, now: 700_000_000)
        verification.told = told
        return try verification.run().differences
    }

    private func copy(_ made: InPlaceStep) throws -> Connection {
        let path = made.store.folder.file("Copy-\(UUID().uuidString).sqlite")
        try Fixtures.copyStore(from: made.store.path, to: path)
        return try Connection(path: path, mode: .readWrite)
    }

    private func altered(_ made: InPlaceStep) throws -> Connection {
        let connection = try copy(made)
        _ = try StepRun(made.step, in: .store(connection), options: made.options).run()
        return connection
    }

    /// Runs the step in place with its checks before COMMIT; nil if these find nothing.
    private func failure(_ made: InPlaceStep, told: [ToldLoss]) throws -> FerryError? {
        let connection = try copy(made)
        do {
            try StepRun.inStore(made.step, on: connection, options: made.options, told: told)
            return nil
        } catch let error as FerryError { return error }
    }

    private func told(_ form: Form, _ number: Int64?) -> ToldLoss {
        ToldLoss(entity: "Book", property: form.rawValue, number: number)
    }

    @Test("None is missed where the rules carry all", arguments: Way.allCases, [VerifyMode.full, .quick])
    func whole(_ way: Way, _ mode: VerifyMode) throws {
        #expect(try verify(step(), way, mode, told: []).isEmpty)
        #expect(try failure(step(), told: []) == nil)
    }

    @Test(
        "Are found in each form, by full and quick verification, and are no difference if they were told",
        arguments: Form.allCases, Way.allCases)
    func passedOver(_ form: Form, _ way: Way) throws {
        let made = try step { mapping in
            mapping.with(relationships: mapping.relationships.filter { !form.names.contains($0.name) })
        }
        for mode in [VerifyMode.full, .quick] {
            let found = try verify(made, way, mode, told: [])
            #expect(found.map(\.check) == [.links] && found.map(\.count) == [form.count], "\(mode): \(found)")
            #expect(found.first?.entity == "Book" && found.first?.property != nil && found.first?.example != nil)
            #expect(try verify(made, way, mode, told: [told(form, form.count)]).isEmpty)
            #expect(try verify(made, way, mode, told: [told(form, nil)]).isEmpty)
            #expect(try verify(made, way, mode, told: [told(form, form.count - 1)]).map(\.count) == [1])
        }
        guard way == .inPlace else { return }
        let error = try #require(try failure(made, told: []))
        #expect(
            error.code == .verificationFailed && error.message.contains("links of Book.")
                && error.message.contains("(\(form.count))"), "\(error)")
        #expect(try failure(made, told: [told(form, form.count)]) == nil)
    }

    @Test("Are found where a rule leaves out the objects of a subentity", arguments: Way.allCases)
    func subentityLeftOut(_ way: Way) throws {
        let made = try step { mapping in
            let rules = mapping.relationships.map { rule in
                var rule = rule
                rule.mappings.removeAll { $0.contains("Poet") }
                return rule
            }
            return mapping.with(relationships: mapping.source == "Poet" ? [] : rules)
        }
        let found = try verify(made, way, told: [])
        #expect(found.map(\.check) == [.links] && found.map(\.count) == [2], "\(found)")
        #expect(try verify(made, way, told: [told(.toOne, 2)]).isEmpty)
    }

    @Test("Are found between objects with new keys, by the associations of full verification")
    func newKeys() throws {
        for isBroken in [false, true] {
            let made = try step(isMapped: true, unique: ["Author", "Poet"]) { mapping in
                guard isBroken else { return mapping }
                return mapping.with(
                    relationships: mapping.relationships.filter { !Form.toOne.names.contains($0.name) })
            }
            #expect(made.step.mode == .copy)
            let found = try verify(made, .copied, told: [])
            #expect(found.map(\.check) == (isBroken ? [.links] : []) && found.allSatisfy { $0.count == 3 }, "\(found)")
            #expect(try verify(made, .copied, told: [told(.toOne, 3)]).isEmpty)
        }
    }

    /// A change of the model by which one cell has to hold several links, and the number of those that it cannot.
    struct Narrowing: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var form: Form
        /// The names and targets of the relationship and its inverse in the new version.
        var relationship: Relationship
        var inverse: Relationship?
        var lost: Int64
        /// Whether no such step is inferred.
        var needsMapping = false
    }

    static let narrowings = [
        Narrowing(
            testDescription: "a to-many becomes to-one", form: .manyToMany,
            relationship: .one("tags", "Tag", inverse: "tagged"), inverse: .many("tagged", "Book", inverse: "tags"),
            lost: 1, needsMapping: true),
        Narrowing(
            testDescription: "the inverse of a to-one becomes to-one", form: .toOne,
            relationship: .one("author", "Author", inverse: "books"), inverse: .one("books", "Book", inverse: "author"),
            lost: 1, needsMapping: true),
        Narrowing(
            testDescription: "a many-to-many loses its inverse", form: .manyToMany,
            relationship: .many("tags", "Tag", inverse: nil), inverse: nil, lost: 2),
        Narrowing(
            testDescription: "a to-one becomes a to-many without inverse", form: .toOne,
            relationship: .many("author", "Author", inverse: nil), inverse: nil, lost: 1),
        Narrowing(
            testDescription: "a many-to-many becomes one-to-one", form: .manyToMany,
            relationship: .one("tags", "Tag", inverse: "tagged"), inverse: .one("tagged", "Book", inverse: "tags"),
            lost: 2, needsMapping: true),
    ]

    private func model(after change: Narrowing) -> ManagedObjectModel {
        var model = Self.model([.text("more")])
        var entities = model.entities
        for (name, entity) in entities {
            var entity = entity
            entity.relationships = entity.relationships.compactMap { old in
                if name == "Book", old.name == change.relationship.name { return change.relationship }
                guard name != "Book", change.form.names.contains(old.name) else { return old }
                return change.inverse
            }
            entities[name] = entity
        }
        model = ManagedObjectModel(versionIdentifiers: [""], entities: Array(entities.values))
        return model
    }

    @Test("Are found where one cell has to hold several", arguments: narrowings)
    func narrowed(_ change: Narrowing) throws {
        let made = try step(to: model(after: change), isMapped: change.needsMapping)
        let ways = made.step.mode == .inPlace ? Way.allCases : [.copied]
        for way in ways {
            let found = try verify(made, way, told: [])
            #expect(found.map(\.check) == [.links] && found.map(\.count) == [change.lost], "\(way): \(found)")
            #expect(try verify(made, way, told: [told(change.form, change.lost)]).isEmpty)
        }
        if ways.count > 1 {
            #expect(try failure(made, told: [])?.message.contains("links of Book.") == true)
            #expect(try failure(made, told: [told(change.form, change.lost)]) == nil)
        }
        // What the models say of the step covers it.
        let said = ToldLoss.of(made.step.resolved, reported: nil)
        #expect(said.contains { $0.property.map(change.form.names.contains) == true }, "\(said)")
        #expect(try verify(made, .copied, told: said).isEmpty)
    }
}
