import Foundation

/// A folder of good files, and the commands that read them.
struct ProgramCase {
    /// A command; `{}` is replaced with the path of the case's folder.
    struct Command {
        var words: [String]
        /// Whether the command may change the store on success.
        var changesStore = false
    }

    let name: String
    let folder: String
    let commands: [Command]
    /// Files that the fuzzer changes, relative to the folder.
    let targets: [String]

    /// The main file that no command may harm.
    static let store = "Store.sqlite"
}

/// Makes the cases at the start, with the program itself.
struct ProgramCases {
    let program: String
    let folder: String
    let corpus: String?

    func make() throws -> [ProgramCase] {
        var cases = [try plain(), try snapshots(), try held(inPlace: false), try held(inPlace: true)]
        if corpus != nil { cases += [try books()] }
        return cases
    }

    private func ferry(_ words: [String], expecting codes: Set<Int32> = [0]) throws {
        let output = folder + "/ferry.out"
        let end = try Child(program, words, output: output).wait(limit: 60)
        guard let code = end.exitCode, codes.contains(code) else {
            let text = FileManager.default.contents(atPath: output).map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw FuzzFailure("ferry \(words.joined(separator: " ")) ended with \(end.exitCode ?? -1):\n\(text)")
        }
    }

    private func file(_ path: String, _ text: String) throws {
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try write(Array(text.utf8), to: path)
    }

    private static func model(_ body: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(body)</model>
        """
    }

    /// Writes three model versions; a mapping file leads from the first to the second, an inferred mapping to the
    /// third.
    private func models(_ place: String) throws {
        let author = """
            <entity name="Author"><attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="authors" \
            inverseEntity="Book"/></entity>
            """
        func book(_ attributes: String) -> String {
            """
            <entity name="Book">\(attributes)<relationship name="authors" optional="YES" toMany="YES" ordered="YES" \
            destinationEntity="Author" inverseName="books" inverseEntity="Author"/></entity>
            """
        }
        let title = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
        let pages = "<attribute name=\"pages\" optional=\"YES\" attributeType=\"Integer 64\" defaultValueString=\"1\"/>"
        let cover = """
            <attribute name="cover" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            """
        try file(place + "/M.xcdatamodeld/V1.xcdatamodel/contents", Self.model(book(title + pages + cover) + author))
        try file(
            place + "/M.xcdatamodeld/V2.xcdatamodel/contents",
            Self.model(
                book(title + cover + "<attribute name=\"length\" optional=\"YES\" attributeType=\"Double\"/>") + author)
        )
        try file(
            place + "/I.xcdatamodeld/V1.xcdatamodel/contents", Self.model(book(title + pages + cover) + author))
        try file(
            place + "/I.xcdatamodeld/V3.xcdatamodel/contents",
            Self.model(
                book(title + pages + cover + "<attribute name=\"new\" optional=\"YES\" attributeType=\"Date\"/>")
                    + author))
        for (bundle, version) in [("M", "V2"), ("I", "V3")] {
            try file(
                place + "/\(bundle).xcdatamodeld/.xccurrentversion",
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\(version).xcdatamodel</string></dict></plist>
                """)
        }
        try file(
            place + "/mapping.json",
            """
            { "ferry": 1, "source": "V1", "destination": "V2", "entityMappings": [
              { "name": "Books", "source": "Book", "destination": "Book", "where": "title != nil OR pages > 3",
                "attributes": { "length": "$source.pages * 1.5", "title": "uppercase:($source.title)" } },
              { "name": "Authors", "source": "Author", "destination": "Author" },
              { "name": "Titles", "source": "Book", "destination": "Author", "where": "title LIKE '*a?b*'",
                "unique": ["name"], "attributes": { "name": "$source.title" }, "automatic": false } ] }
            """)
    }

    private func base(_ name: String) throws -> String {
        let place = "\(folder)/\(name)"
        try models(place)
        try ferry([
            "generate", place + "/M.xcdatamodeld/V1.xcdatamodel", "--rows", "60", "--seed", "1", "--output",
            place + "/Store.sqlite",
        ])
        return place
    }

    private static let modelFiles = [
        "M.xcdatamodeld/V1.xcdatamodel/contents", "M.xcdatamodeld/V2.xcdatamodel/contents",
        "M.xcdatamodeld/.xccurrentversion", "I.xcdatamodeld/V3.xcdatamodel/contents",
    ]

    private func plain() throws -> ProgramCase {
        let place = try base("plain")
        return ProgramCase(
            name: "plain", folder: place,
            commands: [
                .init(words: ["inspect", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld"]),
                .init(words: ["inspect", "{}/Store.sqlite"]),
                .init(words: ["inspect", "{}/M.xcdatamodeld"]),
                .init(words: ["diff", "{}/M.xcdatamodeld/V1.xcdatamodel", "{}/M.xcdatamodeld/V2.xcdatamodel"]),
                .init(words: [
                    "plan", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld", "--mappings", "{}/mapping.json",
                ]),
                .init(words: ["plan", "{}/Store.sqlite", "--models", "{}/I.xcdatamodeld"]),
                .init(words: ["mapping", "check", "{}/mapping.json", "--models", "{}/M.xcdatamodeld"]),
                .init(words: ["mapping", "show", "{}/mapping.json"]),
                .init(words: [
                    "migrate", "--accept-loss", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld", "--mappings",
                    "{}/mapping.json",
                    "--output", "{}/New.sqlite",
                ]),
                .init(words: [
                    "migrate", "--accept-loss", "{}/Store.sqlite", "--models", "{}/I.xcdatamodeld", "--output",
                    "{}/New.sqlite",
                ]),
                .init(
                    words: [
                        "migrate", "--accept-loss", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld", "--mappings",
                        "{}/mapping.json",
                    ], changesStore: true),
                .init(
                    words: ["migrate", "--accept-loss", "{}/Store.sqlite", "--models", "{}/I.xcdatamodeld"],
                    changesStore: true),
                .init(words: ["verify", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld"]),
                .init(words: ["verify", "{}/Store.sqlite", "--models", "{}/M.xcdatamodeld", "--integrity"]),
                .init(words: ["snapshot", "create", "{}/Store.sqlite"]),
            ], targets: Self.modelFiles + ["mapping.json"] + [String](repeating: "Store.sqlite", count: 8))
    }

    private func snapshots() throws -> ProgramCase {
        let place = try base("snapshots")
        try ferry(["migrate", "--accept-loss", place + "/Store.sqlite", "--models", place + "/I.xcdatamodeld"])
        try ferry(["snapshot", "create", place + "/Store.sqlite"])
        let names = try FileManager.default.contentsOfDirectory(atPath: place + "/Store.sqlite.snapshots").filter {
            $0.hasSuffix(".json") || $0.hasSuffix(".zst")
        }
        return ProgramCase(
            name: "snapshots", folder: place,
            commands: [
                .init(words: ["snapshot", "list", "{}/Store.sqlite"]),
                .init(words: ["rollback", "--check", "{}/Store.sqlite"]),
                .init(words: ["rollback", "{}/Store.sqlite", "--output", "{}/Restored.sqlite"]),
                .init(words: ["rollback", "{}/Store.sqlite"], changesStore: true),
                .init(words: ["status", "{}/Store.sqlite"]),
            ],
            targets: names.sorted().map { "Store.sqlite.snapshots/" + $0 } + [
                "Store.sqlite", "Store.sqlite.ferry-log.json",
            ])
    }

    /// Makes a case with an unfinished run: one that holds its swap, or one that ended within a step.
    private func held(inPlace: Bool) throws -> ProgramCase {
        let place = try base(inPlace ? "output" : "held")
        let models = ["--models", "{}/M.xcdatamodeld", "--mappings", "{}/mapping.json"]
        let words =
            ["migrate", "--accept-loss", "{}/Store.sqlite"] + models + (inPlace ? ["--output", "{}/New.sqlite"] : [])
        let stop = inPlace ? ["--budget", "1ms", "--chunk-size", "5"] : ["--hold-swap"]
        let filled = (words + stop).map { $0.replacingOccurrences(of: "{}", with: place) }
        try ferry(filled, expecting: [0, 75])
        let run = inPlace ? "New.sqlite.ferry" : "Store.sqlite.ferry"
        guard let found = FileManager.default.enumerator(atPath: place + "/" + run) else {
            throw FuzzFailure("There is no run folder at \(place).")
        }
        var targets: [String] = []
        while let file = found.nextObject() as? String {
            var isFolder: ObjCBool = false
            let path = "\(place)/\(run)/\(file)"
            if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue {
                targets += [run + "/" + file]
            }
        }
        targets.sort()
        // The run's record decides most of the commands' behavior: half of the changes affect it.
        targets += [String](repeating: run + "/run.json", count: targets.count)
        let chunks = inPlace ? ["--chunk-size", "5"] : []
        return ProgramCase(
            name: inPlace ? "output" : "held", folder: place,
            commands: [
                .init(words: ["status", inPlace ? "{}/New.sqlite" : "{}/Store.sqlite"]),
                .init(words: words + chunks, changesStore: !inPlace),
                .init(words: words + chunks, changesStore: !inPlace),
                .init(words: words + chunks + ["--restart"], changesStore: !inPlace),
            ], targets: targets)
    }

    /// Makes a case with a store of the fixtures and Xcode's own mapping models.
    private func books() throws -> ProgramCase {
        let place = folder + "/books"
        let source = (corpus ?? "") + "/objcio-bookmigration"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        for name in ["Model.xcdatamodeld", "Model1_to_Model2.xcmappingmodel"] {
            try FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: "\(place)/\(name)")
        }
        try FileManager.default.copyItem(atPath: source + "/Model1.sqlite", toPath: place + "/Store.sqlite")
        let models = [
            "--models", "{}/Model.xcdatamodeld", "--mappings", "{}/Model1_to_Model2.xcmappingmodel", "--to", "Model2",
        ]
        return ProgramCase(
            name: "books", folder: place,
            commands: [
                .init(words: ["plan", "{}/Store.sqlite"] + models),
                .init(words: ["inspect", "{}/Store.sqlite", "--models", "{}/Model.xcdatamodeld"]),
                .init(words: ["mapping", "show", "{}/Model1_to_Model2.xcmappingmodel"]),
                .init(
                    words: ["migrate", "--accept-loss", "{}/Store.sqlite"] + models + ["--output", "{}/New.sqlite"]),
                .init(words: ["migrate", "--accept-loss", "{}/Store.sqlite"] + models, changesStore: true),
            ],
            targets: [
                "Store.sqlite", "Store.sqlite", "Model1_to_Model2.xcmappingmodel/xcmapping.xml",
                "Model1_to_Model2.xcmappingmodel/xcmapping.xml", "Model.xcdatamodeld/Model1.xcdatamodel/contents",
                "Model.xcdatamodeld/Model2.xcdatamodel/contents",
            ])
    }
}
