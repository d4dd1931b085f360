import Ferry
import FerryBase
import FerryEngine
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Mapping models of real apps with their policies rewritten in Swift, against the requirements of each app's own test
/// or text.
@Suite("Real policies", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct PolicyMigrationTests {
    static let chunkSizes: [ChunkSize] = [.rows(1), .rows(7), .rows(1000), .automatic]

    // MARK: CoreDataPlus

    @Test("CoreDataPlus: every car gets the maker with its name, and the owner becomes a previous owner")
    func cars() throws {
        var dumps: Set<String> = []
        for chunkSize in Self.chunkSizes {
            let family = try Family("coredataplus-samplemodel")
            let report = try family.migrate(
                "SampleModel_V2.sqlite", models: ["SampleModel.xcdatamodeld"], mappings: ["V2toV3.xcmappingmodel"],
                to: "SampleModel3", policies: ["V2to3MakerPolicy": { MakerPolicy() }], chunkSize: chunkSize)
            let store = try family.open("SampleModel_V2.sqlite")
            #expect(try store.integer("SELECT count(*) FROM ZCAR") == 125)
            #expect(try store.integer("SELECT count(*) FROM ZMAKER") == 10)
            #expect(try store.integer("SELECT count(*) FROM ZCAR WHERE ZCREATEDBY IS NULL") == 0)
            #expect(try store.integer("SELECT count(*) FROM ZCAR WHERE ZOWNER IS NOT NULL") == 118)
            let previous = try store.rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\_%PREVIOUS%' ESCAPE '\\'")
            let join = try #require(previous.first?[0].text)
            #expect(try store.integer("SELECT count(*) FROM \(join)") == 118)
            let columns = try store.rows("SELECT name FROM pragma_table_info('\(join)') ORDER BY cid")
                .compactMap(\.[0].text)
            let car = try #require(columns.first { $0.contains("CARS") })
            let person = try #require(columns.first { $0.contains("OWNERS") })
            #expect(
                try store.integer(
                    "SELECT count(*) FROM ZCAR c JOIN \(join) j ON j.\(car) = c.Z_PK AND j.\(person) = c.ZOWNER") == 118
            )
            #expect(report.verification.differences.isEmpty)
            #expect(report.verification.notRecomputed > 0)
            let counts = report.entityMappings.filter { $0.destination == "Maker" }
            #expect(counts.map(\.written).reduce(0, +) == 10)
            #expect(report.entityMappings.first { $0.name == "CarToCar" }?.executor == .row)
            dumps.insert(try DatabaseDump.text(family.folder.file("SampleModel_V2.sqlite")))
        }
        #expect(dumps.count == 1, "the store depends on the chunk size")
    }

    @Test("CoreDataPlus: without the policy the migration is refused by its name")
    func missingPolicy() throws {
        let family = try Family("coredataplus-samplemodel")
        let migrator = try family.migrator(
            "SampleModel_V2.sqlite", models: ["SampleModel.xcdatamodeld"], mappings: ["V2toV3.xcmappingmodel"],
            policies: ["OtherPolicy": { MakerPolicy() }])
        let error = #expect(throws: FerryError.self) {
            try migrator.migrate(.allowingLosses { $0.target = "SampleModel3" })
        }
        #expect(error?.code == .missingPolicy)
        #expect(error?.message.contains("V2to3MakerPolicy") == true)
    }

    @Test("CoreDataPlus: with the set executor, the plan refuses the policy")
    func setOnly() throws {
        let family = try Family("coredataplus-samplemodel")
        let migrator = try family.migrator(
            "SampleModel_V2.sqlite", models: ["SampleModel.xcdatamodeld"], mappings: ["V2toV3.xcmappingmodel"],
            policies: ["V2to3MakerPolicy": { MakerPolicy() }])
        let plan = try migrator.plan(
            Configuration.allowingLosses {
                $0.target = "SampleModel3"
                $0.executor = .set
            })
        #expect(plan.refusals.map(\.code) == [.unsupported])
        let free = try migrator.plan(.allowingLosses { $0.target = "SampleModel3" })
        let reasons = free.steps[0].partitions.joined().map { "\($0.name): \($0.executor), \($0.reason)" }
        #expect(reasons.contains("CarToCar: row, the migration policy V2to3MakerPolicy is code"))
        #expect(reasons.contains { $0.hasPrefix("PersonToPerson: set, ") })
    }

    /// Finds or creates the maker that a car names.
    struct MakerPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            guard let name = try source.string(forKey: "maker") else { return }
            let cars = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
            let makers = try manager.lookup("makers")
            var maker = try makers.object(forKey: .string(name))
            if maker == nil {
                let new = try manager.insert("Maker")
                try new.setValue(.string(name), forKey: "name")
                try makers.setObject(new, forKey: .string(name))
                maker = new
            }
            try cars[0].setObject(maker, forKey: "createdBy")
        }
    }

    // MARK: Practical Core Data

    @Test("Practical Core Data: four steps, of which two have policies")
    func albums() throws {
        let family = try Family("practical-core-data")
        let before = try family.open("version1.sqlite").rows("SELECT ZTITLE, ZARTIST FROM ZALBUM ORDER BY ZTITLE")
        let report = try family.migrate(
            "version1.sqlite", models: ["Chapter9.xcdatamodeld"],
            mappings: [
                "Chapter9v2Tov3.xcmappingmodel", "Chapter9v3Tov4.xcmappingmodel", "Chapter9v4Tov5.xcmappingmodel",
            ], to: "Chapter9 5",
            policies: ["V3AlbumToAlbumPolicy": { ArtistPolicy() }, "V4AlbumToAlbumPolicy": { CoverPolicy() }])
        #expect(report.chain.count == 5)
        let store = try family.open("version1.sqlite")
        let after = try store.rows(
            "SELECT b.ZTITLE, a.ZNAME FROM ZALBUM b JOIN ZARTIST a ON a.Z_PK = b.ZARTIST ORDER BY b.ZTITLE")
        #expect(after == before)
        #expect(try store.integer("SELECT count(*) FROM ZLISTENINGSESSION WHERE ZALBUM IS NOT NULL") == 2)
        #expect(try store.rows("SELECT ZALBUMCOVERPATH FROM ZALBUM") == [[.text("none")], [.text("none")]])
    }

    /// Finds or creates the artist with a name.
    struct ArtistPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            let album = try manager.insert(mapping.destinationEntityName)
            for key in ["albumCover", "genre", "releaseDate", "title"] {
                try album.setValue(source.value(forKey: key), forKey: key)
            }
            let name = try source.value(forKey: "artist")
            let artists = try manager.lookup("artists")
            let artist: DestinationObject
            if let known = try artists.object(forKey: name) {
                artist = known
            } else {
                artist = try manager.insert("Artist")
                try artist.setValue(name, forKey: "name")
                try artists.setObject(artist, forKey: name)
            }
            try artist.addObject(album, forKey: "albums")
            try manager.associate(sourceInstance: source, withDestinationInstance: album, for: mapping)
        }
    }

    /// Sets an attribute before the default implementation.
    struct CoverPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            let cover = try source.value(forKey: "albumCover").data
            mapping.attributeMapping(named: "albumCoverPath")?.substitute = .constant(cover == nil ? "none" : "kept")
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        }
    }

    // MARK: XCServerCoreData

    @Test("XCServerCoreData: texts become dates, and everything else stays")
    func integrations() throws {
        let family = try Family("xcservercoredata")
        let before = try family.open("XCServerCoreData_1.2.0.sqlite").rows(
            "SELECT Z_PK, ZQUEUEDDATE, ZBOT, ZNUMBER FROM ZINTEGRATION ORDER BY Z_PK")
        try family.migrate(
            "XCServerCoreData_1.2.0.sqlite", models: ["XCServerCoreData.xcdatamodeld"],
            mappings: ["MappingModel1.2.0to2.0.1.xcmappingmodel"], to: "XCServerCoreData2.0.1",
            policies: ["XCServerCoreData.IntegrationStringToDateMigrationPolicy": { DatePolicy() }])
        let store = try family.open("XCServerCoreData_1.2.0.sqlite")
        let after = try store.rows(
            """
            SELECT Z_PK, strftime('%Y-%m-%dT%H:%M:%fZ', ZQUEUEDDATE + 978307200, 'unixepoch'), ZBOT, ZNUMBER
            FROM ZINTEGRATION ORDER BY Z_PK
            """)
        #expect(after == before)
        #expect(after.count == 24)
        // The same migration without code: three expressions.
        let standIn = try Family("xcservercoredata")
        try standIn.migrate(
            "XCServerCoreData_1.2.0.sqlite", models: ["XCServerCoreData.xcdatamodeld"],
            mappings: ["Integrations.json"], to: "XCServerCoreData2.0.1")
        let query = "SELECT Z_PK, ZQUEUEDDATE, ZSTARTEDTIME, ZENDEDTIME, ZBOT, ZNUMBER FROM ZINTEGRATION ORDER BY Z_PK"
        #expect(try standIn.open("XCServerCoreData_1.2.0.sqlite").rows(query) == store.rows(query))
    }

    struct DatePolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let object = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            for key in ["queuedDate", "startedTime", "endedTime"] {
                guard let text = try source.string(forKey: key) else { continue }
                let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                try object.setValue(.date(try style.parse(text)), forKey: key)
            }
        }
    }

    // MARK: objc.io

    @Test("objc.io: authors are found or created by the policy, as by the JSON stand-in")
    func books() throws {
        let family = try Family("objcio-bookmigration")
        try family.migrate(
            "Model1.sqlite", models: ["Model.xcdatamodeld"], mappings: ["Model1_to_Model2.xcmappingmodel"],
            to: "Model2", policies: ["MHWBookToBookPolicy": { AuthorPolicy() }])
        let standIn = try Family("objcio-bookmigration")
        try standIn.migrate(
            "Model1.sqlite", models: ["Model.xcdatamodeld"], mappings: ["Books1to2.json"], to: "Model2")
        let query = """
            SELECT b.ZTITLE, a.ZNAME FROM ZBOOK b JOIN Z_1BOOKS j ON j.Z_2BOOKS = b.Z_PK
            JOIN ZAUTHOR a ON a.Z_PK = j.Z_1AUTHORS ORDER BY 1, 2
            """
        let found = try family.open("Model1.sqlite").rows(query)
        #expect(found.count == 4)
        #expect(try standIn.open("Model1.sqlite").rows(query) == found)
    }

    struct AuthorPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            guard let name = try source.string(forKey: "authorName") else { return }
            let book = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            let authors = try manager.lookup("authors")
            let known = try authors.object(forKey: .string(name))
            let author = try known ?? manager.insert("Author")
            if known == nil {
                try author.setValue(.string(name), forKey: "name")
                try authors.setObject(author, forKey: .string(name))
            }
            try book.addObject(author, forKey: "authors")
        }
    }
}
