import FerryBase
import FerryMapping
import FerryModel
import Foundation
import TestSupport
import Testing

/// Every real mapping model with two available models, against a reviewed text.
///
/// `FERRY_RECORD_GOLDENS=1` rewrites the texts.
@Suite("Real mapping models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct FixtureMappingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// The folder below the fixtures; also the golden's name.
        var folder: String
        /// The folder's model files for the mapping models.
        var models: [String]
        /// Mapping models of one step, each step one list.
        var steps: [[String]]
        /// The policy classes and calls for which the steps are refused, in order.
        var policies: [String] = []
        /// The real source and destination of mapping models with outdated names for them.
        var versions: [String: (source: String, destination: String)] = [:]

        var testDescription: String { folder }
    }

    static let cases = [
        Case(
            folder: "objcio-bookmigration", models: ["Model.xcdatamodeld"],
            steps: [["Model1_to_Model2"], ["Model2_to_Model3", "Model2_to_Model3_User"]],
            policies: ["MHWBookToBookPolicy", "MHWBookToBookPolicy"]),
        Case(
            folder: "objcio-moody", models: ["Moody.xcdatamodeld"],
            steps: [["Moody 2-Moody 3"], ["Moody 3-Moody 4"], ["Moody 4-Moody 5"], ["Moody 5-Moody 6"]],
            policies: ["Migrations.Country5ToCountry6Policy"]),
        Case(
            folder: "wibosco-posts", models: ["CoreDataMigration_Example.xcdatamodeld"],
            steps: [["Migration1to2"], ["Migration2to3"]],
            policies: ["CoreDataMigration_Example.Post2ToPost3MigrationPolicy"]),
        Case(
            folder: "translationcatalog",
            models: ["CatalogModel_1.xcdatamodeld", "CatalogModel_2.xcdatamodeld", "CatalogModel_3.xcdatamodeld"],
            steps: [["Model_1_to_2"], ["Model_2_to_3"]]),
        Case(
            folder: "coredataplus-samplemodel", models: ["SampleModel.xcdatamodeld"], steps: [["V2toV3"]],
            policies: Array(repeating: "REPLACE_AT_RUNTIME.V2to3MakerPolicy", count: 3)),
        Case(
            folder: "practical-core-data", models: ["Chapter9.xcdatamodeld"],
            steps: [["Chapter9v2Tov3"], ["Chapter9v3Tov4"], ["Chapter9v4Tov5"]],
            policies: ["StorageProvider.V3AlbumToAlbumPolicy", "StorageProvider.V4AlbumToAlbumPolicy"]),
        Case(
            folder: "xcservercoredata", models: ["XCServerCoreData.xcdatamodeld"],
            steps: [["MappingModel1.2.0to2.0.1"], ["MappingModel2.0.1to2.0.2"]],
            policies: ["XCServerCoreData.IntegrationStringToDateMigrationPolicy"]),
        Case(
            folder: "loopkit-model", models: ["Model.xcdatamodeld"], steps: [["Modelv1v4"]],
            policies: [
                "LoopKit.CachedCarbObjectv3EntityMigrationPolicy", "LoopKit.DeletedCarbObjectv3EntityMigrationPolicy",
            ]),
        Case(
            folder: "models-only/billmoss-hybrid", models: ["Model.xcdatamodeld"],
            steps: [
                ["Model1ToModel2"], ["Model3ToModel4"], ["Model4ToModel5-1", "Model4ToModel5-2", "Model4ToModel5-3"],
            ],
            policies: Array(repeating: "CDMTopicToTopicMigrationPolicy", count: 3)),
        Case(
            folder: "models-only/corestore-evolution", models: ["V1.xcdatamodeld"],
            steps: [["V1.FromV2"], ["V2.FromV1"]], policies: ["Advanced_EvolutionDemo_V2_FromV1MigrationPolicy"]),
        Case(
            folder: "models-only/jdspoone-example", models: ["CoreDataMigration.xcdatamodeld"],
            steps: [["v1.0-to-v1.1"], ["v1.1-to-v1.2"], ["v1.2-to-v1.3"]],
            policies: [
                "CoreDataMigration.NoteToNotePolicy", "CoreDataMigration.ImageToImagePolicy",
                "CoreDataMigration.NoteToNotePolicy",
            ]),
        Case(
            folder: "models-only/jsqcoredatakit", models: ["ExampleModel.xcdatamodeld"],
            steps: [["Version1_to_Version2"], ["Version2_to_Version3"]]),
        Case(
            folder: "models-only/kodeco-uncloudnotes", models: ["UnCloudNotesDataModel.xcdatamodeld"],
            steps: [["UnCloudNotesMappingModel_v2_to_v3"], ["UnCloudNotesMappingModel_v3_to_v4"]],
            policies: ["UnCloudNotes.AttachmentToImageAttachmentMigrationPolicyV3toV4"]),
        Case(
            folder: "models-only/nova-wallet", models: ["UserDataModel.xcdatamodeld"], steps: [["SingleToMultiasset"]],
            policies: ["novawallet.SingleToMultiassetMigrationPolicy"]),
        Case(
            folder: "models-only/openemu", models: ["OEDatabase.xcdatamodeld"],
            steps: [
                ["1.0 Beta to 0.2"], ["0.2 to 0.3"], ["1.0 Beta 4 to 1.0"], ["1.1 to 1.2"], ["1.2 to 1.3"],
            ],
            policies: [
                "OEDBRomMigrationPolicy", "OEDBSaveStateMigrationPolicy", "OEDBRomMigrationPolicy",
                "OEDBImageMigrationPolicy", "OEDBSaveStateMigrationPolicy", "OEDBRomMigrationPolicy",
            ]),
        Case(
            folder: "models-only/persistentstoremigrationkit",
            models: ["TestModelV1.xcdatamodel", "TestModelV2.xcdatamodel", "TestModelV3.xcdatamodel"],
            steps: [["ModelV1ToModelV2"], ["ModelV2ToModelV3"]]),
        Case(
            folder: "models-only/sworm", models: ["MigratableDataModel.xcdatamodeld"], steps: [["V0V1"], ["V1V2"]],
            policies: ["V0V1MigrationPolicy", "V1V2MigrationPolicy"]),
        Case(
            folder: "models-only/tpmigrationmanager", models: ["Any.xcdatamodeld", "SpecificOnly.xcdatamodeld"],
            steps: [["AnyMap-1_2"], ["AnyMap-1_3"], ["AnyMap-2_3"], ["SpecificOnlyMap-1_2"]],
            versions: [
                "AnyMap-1_2": ("Any", "Any2"), "AnyMap-1_3": ("Any", "Any3"), "AnyMap-2_3": ("Any2", "Any3"),
            ]),
    ]

    @Test("Each step resolves, or is refused for exactly its policies", arguments: cases)
    func steps(of fixture: Case) throws {
        let folder = Fixtures.path(fixture.folder)
        let catalog = try ModelCatalog(paths: fixture.models.map { "\(folder)/\($0)" })
        var rendered = ""
        var refused: [String] = []
        for step in fixture.steps {
            let models = try step.map { try MappingFile.load(path: "\(folder)/\($0).xcmappingmodel") }
            let names =
                fixture.versions[step[0]]
                ?? (source: models[0].sourceVersion, destination: models[0].destinationVersion)
            let resolution = MappingResolution.resolve(
                source: try catalog.version(named: names.source),
                destination: try catalog.version(named: names.destination), mappingModels: models)
            rendered += "# \(step.joined(separator: " + "))\n\(text(of: resolution))\n"
            refused += resolution.problems.map { problem in
                problem.code == .missingPolicy ? problem.message : "other: \(problem.message)"
            }
        }
        #expect(refused.count == fixture.policies.count, "\(refused)")
        for (message, policy) in zip(refused, fixture.policies) { #expect(message.contains(" \(policy) ")) }
        try expectGolden(rendered, named: fixture.folder.split(separator: "/").last.map(String.init) ?? fixture.folder)
    }

    @Test("Every mapping model of the fixtures loads")
    func allLoad() throws {
        var count = 0
        for path in Fixtures.items {
            guard path.hasSuffix(".xcmappingmodel") else { continue }
            let model = try MappingFile.load(path: Fixtures.path(path))
            #expect(!model.entityMappings.isEmpty, "\(path)")
            #expect(model.entityMappings.allSatisfy { $0.unreadable.isEmpty }, "\(path)")
            count += 1
        }
        #expect(count >= 44)
    }

    @Test("The reader finds as many elements in each mapping model as a plain count of its XML")
    func counts() throws {
        var total = PlainMappingCount()
        for path in Fixtures.items {
            guard path.hasSuffix(".xcmappingmodel") else { continue }
            let counted = try PlainMappingCount(xml: "\(Fixtures.path(path))/xcmapping.xml")
            let read = PlainMappingCount(try MappingFile.load(path: Fixtures.path(path)))
            #expect(read == counted, "\(path)")
            total = total + counted
        }
        // Without these minimums, a count of zero would agree with a reader that reads nothing.
        #expect(total.entityMappings > 180 && total.attributes > 800 && total.relationships > 400, "\(total)")
        #expect(total.expressions > 20 && total.filters > 5 && total.policies > 25, "\(total)")
    }

    @Test("Every mapping model of the fixtures resolves, and with its policies in code every expression is accepted")
    func allExpressions() throws {
        var resolved: Set<String> = []
        for fixture in Self.cases {
            let folder = Fixtures.path(fixture.folder)
            let catalog = try ModelCatalog(paths: fixture.models.map { "\(folder)/\($0)" })
            // The two methods of policies that expressions call; another one would be refused by its name.
            let methods: Set<String> = ["changeID:", "multiplyByTen:"]
            let classes = Set(fixture.policies)
            let policies = KnownPolicies(Dictionary(uniqueKeysWithValues: classes.map { ($0, methods) }))
            for step in fixture.steps {
                let models = try step.map { try MappingFile.load(path: "\(folder)/\($0).xcmappingmodel") }
                let names =
                    fixture.versions[step[0]]
                    ?? (source: models[0].sourceVersion, destination: models[0].destinationVersion)
                let problems = MappingResolution.resolve(
                    source: try catalog.version(named: names.source),
                    destination: try catalog.version(named: names.destination), mappingModels: models,
                    policies: policies
                ).problems
                #expect(problems.isEmpty, "\(step): \(problems.map(\.message))")
                resolved.formUnion(step.map { "\(fixture.folder)/\($0).xcmappingmodel" })
            }
        }
        let found = Fixtures.items.filter {
            $0.hasSuffix(".xcmappingmodel") || $0.hasSuffix(".cdm")
        }
        #expect(resolved == Set(found))
    }

    @Test("JSON files replace the policies of the book migration and the car migration")
    func standIns() throws {
        let books = Fixtures.path("objcio-bookmigration")
        let cars = Fixtures.path("coredataplus-samplemodel")
        func car(_ entity: String) -> String {
            """
            { "name": "\(entity)To\(entity)", "source": "\(entity)", "destination": "\(entity)",
              "relationships": { "createdBy": { "mapping": "\(entity)Maker", "from": "$source" },
                                 "previousOwners": { "mapping": "PersonToPerson", "from": "$source.owner" } } },
            { "name": "\(entity)Maker", "source": "\(entity)", "destination": "Maker", "where": "maker != nil",
              "unique": ["name"], "attributes": { "name": "$source.maker" } }
            """
        }
        let cases = [
            (
                ["\(books)/Model.xcdatamodeld"],
                """
                { "extends": "\(books)/Model1_to_Model2.xcmappingmodel", "entityMappings": [
                  { "name": "BookToBook", "source": "Book", "destination": "Book",
                    "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" } } },
                  { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
                    "unique": ["name"], "attributes": { "name": "$source.authorName" } } ] }
                """
            ),
            (
                ["\(books)/Model.xcdatamodeld"],
                """
                { "extends": "\(books)/Model2_to_Model3.xcmappingmodel", "entityMappings": [
                  { "name": "BookToBook", "source": "Book", "destination": "Book" },
                  { "name": "UserToUser", "source": "User", "destination": "User" },
                  { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
                    "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                       "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
                """
            ),
            (
                ["\(cars)/SampleModel.xcdatamodeld"],
                """
                { "extends": "\(cars)/V2toV3.xcmappingmodel", "entityMappings": [
                  \(["Car", "SportCar", "LuxuryCar"].map(car).joined(separator: ",\n")) ] }
                """
            ),
        ]
        var rendered = ""
        for (models, json) in cases {
            let folder = try MappingFolder()
            try folder.write(json, to: "Step.json")
            let model = try folder.load("Step.json")
            let catalog = try ModelCatalog(paths: models)
            let resolution = MappingResolution.resolve(
                source: try catalog.version(named: model.sourceVersion),
                destination: try catalog.version(named: model.destinationVersion), mappingModels: [model])
            #expect(resolution.problems.isEmpty, "\(resolution.problems.map(\.message))")
            rendered += text(of: resolution) + "\n"
        }
        try expectGolden(rendered, named: "stand-ins")
    }

    private func expectGolden(_ text: String, named name: String) throws {
        let path = "\(Fixtures.packageRoot)/Tests/MappingTests/Goldens/\(name).txt"
        if ProcessInfo.processInfo.environment["FERRY_RECORD_GOLDENS"] == "1" {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return
        }
        let golden = try #require(FileManager.default.contents(atPath: path), "\(path) is missing")
        let lines = zip(text.split(separator: "\n"), String(decoding: golden, as: UTF8.self).split(separator: "\n"))
        let difference = lines.first { $0 != $1 }
        #expect(text == String(decoding: golden, as: UTF8.self), "first difference: \(String(describing: difference))")
    }
}
