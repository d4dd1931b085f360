import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Requirements of a later step: checked before the run where the store's rows suffice, else when the step begins.
@Suite("Later steps")
struct LaterStepsTests {
    private static let title = #"<attribute name="title" optional="YES" attributeType="String"/>"#
    private static let heading = #"<attribute name="heading" optional="YES" attributeType="String"/>"#
    private static let writer = #"<attribute name="writer" optional="YES" attributeType="String"/>"#
    private static let author =
        #"<entity name="Author"><attribute name="name" optional="YES" attributeType="String"/></entity>"#

    private static let mandatory = #"<attribute name="heading" attributeType="String"/>"#
    private static let unique =
        heading
        + "<uniquenessConstraints><uniquenessConstraint><constraint value=\"heading\"/></uniquenessConstraint></uniquenessConstraints>"

    /// Makes three books, two with one title, one without: authors are found or created, titles become headings.
    private func migrator(
        last: String, filter: String?, lastFilter: String? = nil, heading: String = "$source.title"
    ) throws -> (
        migrator: Migrator, store: String, folder: TemporaryFolder
    ) {
        let folder = try TemporaryFolder()
        let bundle = folder.file("Model.xcdatamodeld")
        let versions = [
            "<entity name=\"Book\">\(Self.title)\(Self.writer)</entity>",
            "\(Self.author)<entity name=\"Book\">\(Self.heading)</entity>",
            "\(Self.author)<entity name=\"Book\">\(last)</entity>",
        ]
        try makeModels(versions, in: bundle)
        let condition = filter.map { ", \"where\": \"\($0)\"" } ?? ""
        let first = """
            { "source": "V1", "destination": "V2", "entityMappings": [
              { "name": "Books", "source": "Book", "destination": "Book"\(condition),
                "attributes": { "heading": "\(heading)" } },
              { "name": "Authors", "source": "Book", "destination": "Author", "unique": ["name"],
                "attributes": { "name": "$source.writer" } } ] }
            """
        // Find-or-create keeps the steps from being composed.
        let second = """
            { "source": "V2", "destination": "V3", "entityMappings": [
              { "name": "Books", "source": "Book", "destination": "Book"\(lastFilter.map { ", \"where\": \"\($0)\"" } ?? "") },
              { "name": "Authors", "source": "Author", "destination": "Author", "unique": ["name"] } ] }
            """
        try first.write(toFile: folder.file("One.json"), atomically: true, encoding: .utf8)
        try second.write(toFile: folder.file("Two.json"), atomically: true, encoding: .utf8)
        let store = folder.file("Store.sqlite")
        try makeStore(store, of: ModelCatalog(paths: [bundle]).version(named: "V1"))
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))],
            mappings: ["One.json", "Two.json"].map { URL(fileURLWithPath: folder.file($0)) })
        return (migrator, store, folder)
    }

    private func makeModels(_ versions: [String], in bundle: String) throws {
        for (index, entities) in versions.enumerated() {
            let version = "\(bundle)/V\(index + 1).xcdatamodel"
            try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
            let text =
                "<?xml version=\"1.0\"?><model type=\"com.apple.IDECoreDataModeler.DataModel\">\(entities)</model>"
            try text.write(toFile: "\(version)/contents", atomically: true, encoding: .utf8)
        }
    }

    private func makeStore(_ path: String, of version: ModelVersion) throws {
        let connection = try Connection(path: path, mode: .create)
        let layout = try StoreLayout.canonical(for: version.model)
        try StoreCreation.prepare(connection)
        try StoreCreation.createTables(of: layout, on: connection, hasModelCache: false)
        try StoreCreation.writeEntityNumbers(of: layout, maximumKeys: ["Book": 3], on: connection)
        try StoreMetadata.new(for: version, uuid: "6C1D3E0A-0000-4000-8000-000000000006").write(to: connection)
        try connection.execute(
            """
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZWRITER) VALUES (1, 1, 1, 'A', 'x'), (2, 1, 1, 'A', 'y'),
                (3, 1, 1, NULL, 'x')
            """)
    }

    private static let asked = [
        (mandatory, FerryError.Code.mandatoryValue, "has no value in 1 row"),
        (unique, .notUnique, "2 rows share 1 value"),
    ]

    @Test("Attributes that every step copies are counted in the store before the run", arguments: asked)
    func before(last: String, code: FerryError.Code, words: String) throws {
        let (migrator, store, folder) = try migrator(last: last, filter: nil)
        let bytes = try StoreBytes(store)
        let plan = try migrator.plan(.allowingLosses { $0.target = "V3" }, checksRows: true)
        #expect(plan.steps.count == 2)
        #expect(plan.refusals.map(\.code) == [code] && plan.refusals.first?.message.contains(words) == true)
        let error = #expect(throws: FerryError.self) { try migrator.migrate(.allowingLosses { $0.target = "V3" }) }
        #expect(error?.code == code && error?.remedy.isEmpty == false)
        #expect(try StoreBytes(store) == bytes)
        // The run has not begun.
        #expect(
            try FileLayer().list(folder.path).map(\.name).filter { $0.hasPrefix("Store.sqlite") } == ["Store.sqlite"])
    }

    @Test(
        "A requirement that only the run can check stops the step at its start, and the store stays unchanged",
        arguments: asked)
    func during(last: String, code: FerryError.Code, words: String) throws {
        // Preflight follows attributes, not calls.
        let call = "FUNCTION($source, 'valueForKey:', 'heading') != 'B'"
        let (migrator, store, folder) = try migrator(last: last, filter: nil, lastFilter: call)
        let before = try DatabaseDump.text(store)
        let plan = try migrator.plan(.allowingLosses { $0.target = "V3" }, checksRows: true)
        #expect(plan.refusals.isEmpty)
        #expect(plan.notChecked?.contains { $0.contains("Book.heading") } == true)
        let error = #expect(throws: FerryError.self) {
            try migrator.migrate(
                Configuration.allowingLosses {
                    $0.target = "V3"
                    $0.snapshots.form = .none
                })
        }
        #expect(error?.code == code && error?.message.contains(words) == true)
        #expect(error?.message.hasPrefix("In the step to version V3") == true && error?.remedy.isEmpty == false)
        #expect(try DatabaseDump.text(store) == before)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "A new constraint is counted by what entity mappings read, compute and merge",
        arguments: [
            (["where": "title != nil"], true), (["where": "writer != 'x'"], false),
            (["title": "lowercase:($source.title)"], true), (["title": "$source.writer"], true),
            (["unique": "title"], false), (["unique": "title", "second": "writer = 'y'"], false),
            (["where": "writer = 'x'", "second": "writer = 'y'"], true),
        ] as [([String: String], Bool)])
    func constraint(mapping: [String: String], isRefused: Bool) throws {
        let folder = try TemporaryFolder()
        let bundle = folder.file("Model.xcdatamodeld")
        let unique =
            "<uniquenessConstraints><uniquenessConstraint><constraint value=\"title\"/></uniquenessConstraint></uniquenessConstraints>"
        try makeModels(
            [unique, ""].reversed().map { "<entity name=\"Book\">\(Self.title)\(Self.writer)\($0)</entity>" },
            in: bundle)
        func books(_ name: String, where filter: String?) -> String {
            """
            { "name": "\(name)", "source": "Book", "destination": "Book"\(filter.map { ", \"where\": \"\($0)\"" } ?? ""),
              \(mapping["unique"].map { "\"unique\": [\"\($0)\"]," } ?? "")
              "attributes": { "title": "\(mapping["title"] ?? "$source.title")" } }
            """
        }
        let all =
            [books("Books", where: mapping["where"])] + (mapping["second"].map { [books("More", where: $0)] } ?? [])
        try """
        { "source": "V1", "destination": "V2", "entityMappings": [\(all.joined(separator: ", "))] }
        """.write(toFile: folder.file("One.json"), atomically: true, encoding: .utf8)
        let store = folder.file("Store.sqlite")
        try makeStore(store, of: ModelCatalog(paths: [bundle]).version(named: "V1"))
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))],
            mappings: [URL(fileURLWithPath: folder.file("One.json"))])
        let plan = try migrator.plan(.allowingLosses { $0.snapshots.form = .none }, checksRows: true)
        #expect(plan.refusals.map(\.code) == (isRefused ? [.notUnique] : []), "\(mapping)")
        var refusal: FerryError?
        do {
            _ = try migrator.migrate(.allowingLosses { $0.snapshots.form = .none })
        } catch let error as FerryError {
            refusal = error
        }
        #expect(refusal?.code == (isRefused ? .notUnique : nil), "\(mapping) \(refusal?.message ?? "")")
    }

    @Test("A filter of an earlier step, or of the step, hides no empty value of a later step")
    func filtered() throws {
        for (filter, lastFilter) in [("writer != 'nobody'", nil), (nil, "heading != 'A'")] as [(String?, String?)] {
            let (migrator, _, folder) = try migrator(last: Self.mandatory, filter: filter, lastFilter: lastFilter)
            let refusal = try migrator.plan(Configuration { $0.target = "V3" }, checksRows: true).refusals.first
            #expect(refusal?.code == .mandatoryValue && refusal?.place.primaryKey == 3)
            #expect(refusal?.message.contains("mandatory in version V3 (step 2 of 2)") == true)
            withExtendedLifetime(folder) {}
        }
    }

    @Test("A value that one step puts in place of nil is counted in the store before the run", arguments: ["A", "C"])
    func substitute(value: String) throws {
        let (migrator, store, folder) = try migrator(
            last: Self.unique, filter: nil, heading: "ifnil:then:($source.title, '\(value)')")
        try Connection(path: store, mode: .readWrite).execute("UPDATE ZBOOK SET ZTITLE = 'B' WHERE Z_PK = 1")
        let configuration = Configuration.allowingLosses {
            $0.target = "V3"
            $0.snapshots.form = .none
        }
        let plan = try migrator.plan(configuration, checksRows: true)
        #expect(plan.steps.count == 2)
        guard value != "A" else {
            #expect(plan.refusals.map(\.code) == [.notUnique])
            #expect(plan.refusals.first?.message.contains("2 rows share 1 value") == true)
            return
        }
        #expect(plan.refusals.isEmpty)
        _ = try migrator.migrate(configuration)
        let headings = try Connection(path: store, mode: .readOnly).rows("SELECT ZHEADING FROM ZBOOK ORDER BY Z_PK")
        #expect(headings.map { $0[0].text } == ["B", "A", "C"])
        withExtendedLifetime(folder) {}
    }

    @Test("A row that one step fills with a default value keeps it in a later step with another default value")
    func firstDefaultValue() throws {
        let folder = try TemporaryFolder()
        let (bundle, store) = (folder.file("Model.xcdatamodeld"), folder.file("Store.sqlite"))
        func mandatory(_ value: String) -> String {
            "<attribute name=\"title\" attributeType=\"String\" defaultValueString=\"\(value)\"/>\(Self.writer)"
        }
        let constraint =
            "<uniquenessConstraints><uniquenessConstraint><constraint value=\"title\"/></uniquenessConstraint></uniquenessConstraints>"
        let optional = Self.title + Self.writer
        try makeModels(
            [optional, mandatory("x"), optional, mandatory("y"), mandatory("y") + constraint].enumerated().map {
                // Default values are not in a version hash, so the modifier tells the versions apart.
                "<entity name=\"Book\" versionHashModifier=\"\($0)\">\($1)</entity>"
            }, in: bundle)
        try makeStore(store, of: ModelCatalog(paths: [bundle]).version(named: "V1"))
        try Connection(path: store, mode: .readWrite).execute("UPDATE ZBOOK SET ZTITLE = 'y' WHERE Z_PK = 1")
        let migrator = try Migrator(
            store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))])
        let configuration = Configuration.allowingLosses {
            $0.target = "V5"
            $0.chain = .versions(["V1", "V2", "V3", "V4", "V5"])
            $0.snapshots.form = .none
            $0.composition = false
        }
        let plan = try migrator.plan(configuration, checksRows: true)
        #expect(plan.steps.count == 4 && plan.refusals.isEmpty)
        _ = try migrator.migrate(configuration)
        let titles = try Connection(path: store, mode: .readOnly).rows("SELECT ZTITLE FROM ZBOOK ORDER BY Z_PK")
        #expect(titles.map { $0[0].text } == ["y", "A", "x"])
    }
}
