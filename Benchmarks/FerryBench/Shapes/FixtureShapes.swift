internal import FerryBase
internal import FerryCommand
internal import FerryGenerate
internal import Foundation

/// Stores of the models of real apps, with their mapping models.
enum FixtureShapes {
    static let all: [Shape] = [
        Shape(
            name: "posts", summary: "three steps: Xcode's mapping, one new object for each, inferred",
            needsFixtures: true, small: 0.25, make: posts),
        wire("wire-in-place", "90 entities, 68 versions composed", to: "zmessaging2.101.0", rows: 40_000),
        wire(
            "wire-copied", "90 entities, all copied", to: "zmessaging2.31.0", rows: 30_000, isCopied: true, small: 0.05),
        xcode(
            "openemu", "models-only/openemu", "OEDatabase", "OEDatabase 0.2", "OEDatabase 0.3", "0.2 to 0.3",
            rows: 60_000, small: 0.1),
        xcode(
            "xcserver", "xcservercoredata", "XCServerCoreData", "XCServerCoreData2.0.1", "XCServerCoreData2.0.2",
            "MappingModel2.0.1to2.0.2", rows: 15_000),
        xcode(
            "moody", "objcio-moody", "Moody", "Moody 2", "Moody 3", "Moody 2-Moody 3", rows: 200_000,
            rowsOfEntity: ["Country": 2_000, "Continent": 100]),
        xcode(
            "albums", "practical-core-data", "Chapter9", "Chapter9 2", "Chapter9 3", "Chapter9v2Tov3", rows: 100_000),
        Shape(
            name: "files", summary: "two steps: Xcode's mappings, with authors found or created, and with forEach",
            needsFixtures: true, make: files),
        inferred("scout", "scout", "Scout", "Scout", "Scout 13", "13 versions composed", rows: 15_000),
        inferred(
            "inaturalist", "models-only/inaturalist", "INaturalist", "INaturalist", "INaturalist2.17",
            "18 versions composed", rows: 30_000),
        inferred(
            "brave", "models-only/brave-browser", "Model", "Model", "Model27", "27 versions composed", rows: 40_000),
        inferred(
            "nova", "models-only/nova-wallet", "SubstrateDataModel", "SubstrateDataModel", nil, "39 versions composed",
            rows: 30_000),
    ]

    @Sendable private static func posts(_ folder: ShapeFolder) throws -> Shape.Input {
        let root = ShapeFolder.fixture("wibosco-posts")
        let bundle = "\(root)/CoreDataMigration_Example.xcdatamodeld"
        let colors = try folder.mapping(
            "Colors",
            """
            { "source": "CoreDataMigration_Example 2", "destination": "CoreDataMigration_Example 3",
              "entityMappings": [
                { "name": "PostColor", "source": "Post", "destination": "Color",
                  "attributes": { "colorID": "uuidFromName:($source.postID)", "hex": "$source.hexColor" } },
                { "name": "PostToPost", "source": "Post", "destination": "Post",
                  "relationships": { "color": { "mapping": "PostColor", "from": "$source" } } } ] }
            """)
        return try folder.generate(
            [bundle], version: "CoreDataMigration_Example",
            GenerationOptions(rowsOfEntity: ["Post": folder.rows(200_000)]),
            words: [
                "--models", bundle, "--mappings", "\(root)/Migration1to2.xcmappingmodel", "--mappings", colors,
                "--no-mappings", "--to", "CoreDataMigration_Example 4",
            ])
    }

    @Sendable private static func files(_ folder: ShapeFolder) throws -> Shape.Input {
        let root = ShapeFolder.fixture("objcio-bookmigration")
        let bundle = "\(root)/Model.xcdatamodeld"
        // `extends` is relative to the file.
        func extended(_ name: String) throws -> String { "\(try FileLayer().realPath(root))/\(name).xcmappingmodel" }
        let authors = try folder.mapping(
            "Authors",
            """
            { "extends": "\(try extended("Model1_to_Model2"))", "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book",
                  "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" },
                                     "users": { "mapping": "UserToUser", "from": "$source.user" } } },
                { "name": "BookAuthor", "source": "Book", "destination": "Author", "where": "authorName != nil",
                  "unique": ["name"], "attributes": { "name": "$source.authorName" } } ] }
            """)
        let files = try folder.mapping(
            "Files",
            """
            { "extends": "\(try extended("Model2_to_Model3"))", "entityMappings": [
                { "name": "UserToUser", "source": "User", "destination": "User" },
                { "name": "BookToBook", "source": "Book", "destination": "Book" },
                { "name": "BookFile", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
                  "attributes": { "fileURL": "$source.fileURL" },
                  "relationships": { "book": { "mapping": "BookToBook", "from": "$source" },
                                     "user": { "mapping": "UserToUser", "from": "$user" } } } ] }
            """)
        return try folder.generate(
            [bundle], version: "Model1",
            GenerationOptions(rowsOfEntity: ["Book": folder.rows(200_000), "User": folder.rows(40_000)]),
            words: [
                "--models", bundle, "--mappings", authors, "--mappings", files, "--no-mappings", "--to", "Model3",
            ])
    }

    /// Leaves out what `mapping init` leaves open, as for entities and properties that are new or gone.
    private static func closePlaces(of mapping: String) throws {
        let url = URL(fileURLWithPath: mapping)
        func isOpen(_ value: Any?) -> Bool { (value as? String)?.hasPrefix("?") == true }
        guard var root = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any],
            let all = root["entityMappings"] as? [[String: Any]]
        else { throw FerryError(.internalError, "`ferry mapping init` wrote no entity mappings.") }
        root["entityMappings"] = all.filter { !isOpen($0["source"]) }.map { entityMapping in
            var closed = entityMapping
            if isOpen(closed["destination"]) { closed["destination"] = NSNull() }
            for part in ["attributes", "relationships"] {
                closed[part] = (closed[part] as? [String: Any])?.filter { !isOpen($0.value) }
            }
            return closed
        }
        try JSONSerialization.data(withJSONObject: root, options: [.sortedKeys]).write(to: url)
    }

    private static func wire(
        _ name: String, _ summary: String, to version: String, rows: Int, isCopied: Bool = false, small: Double? = nil
    ) -> Shape {
        Shape(name: name, summary: summary, needsFixtures: true, small: small) { folder in
            let bundle = ShapeFolder.fixture("wire-zmessaging/zmessaging.xcdatamodeld")
            var words = ["--models", bundle, "--to", version]
            // Core Data's choice between the two names of a join table is not in the models.
            for relationship in ["ignoredClients", "trustedClients"] {
                words += ["--join-table", "UserClient.\(relationship)"]
            }
            if isCopied {
                let mapping = "\(folder.path)/Inferred.json"
                let models = ["zmessaging2.8", version].map { "\(bundle):\($0)" }
                let code = FerryCommand.run(arguments: ["mapping", "init"] + models + ["-o", mapping, "--quiet"])
                guard code == 0 else {
                    throw FerryError(.internalError, "`ferry mapping init` ended with \(code).")
                }
                try closePlaces(of: mapping)
                words += ["--mappings", mapping, "FERRY_EXECUTOR=set"]
            }
            return try folder.generate(
                [bundle], version: "zmessaging2.8", GenerationOptions(rows: folder.rows(rows)), words: words)
        }
    }

    private static func xcode(
        _ name: String, _ place: String, _ bundle: String, _ source: String, _ destination: String, _ mapping: String,
        rows: Int, rowsOfEntity: [String: Int] = [:], small: Double? = nil
    ) -> Shape {
        Shape(name: name, summary: "Xcode's mapping model \(mapping)", needsFixtures: true, small: small) { folder in
            let bundle = ShapeFolder.fixture("\(place)/\(bundle).xcdatamodeld")
            let mapping = ShapeFolder.fixture("\(place)/\(mapping).xcmappingmodel")
            return try folder.generate(
                [bundle], version: source,
                GenerationOptions(rows: folder.rows(rows), rowsOfEntity: rowsOfEntity.mapValues { folder.rows($0) }),
                words: ["--models", bundle, "--mappings", mapping, "--no-mappings", "--to", destination])
        }
    }

    /// Returns a shape without a mapping model; without a destination, it leads to the bundle's current version.
    private static func inferred(
        _ name: String, _ place: String, _ bundle: String, _ source: String, _ destination: String?,
        _ summary: String, rows: Int
    ) -> Shape {
        Shape(name: name, summary: summary, needsFixtures: true) { folder in
            let bundle = ShapeFolder.fixture("\(place)/\(bundle).xcdatamodeld")
            return try folder.generate(
                [bundle], version: source, GenerationOptions(rows: folder.rows(rows)),
                words: ["--models", bundle] + (destination.map { ["--to", $0] } ?? []))
        }
    }
}
