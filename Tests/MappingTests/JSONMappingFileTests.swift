import FerryBase
import FerryExpression
import FerryMapping
import Testing

@Suite("Ferry's mapping file")
struct JSONMappingFileTests {
    @Test(
        "A table's name can replace its content in any expression, and an unknown table is refused")
    func tables() throws {
        let folder = try MappingFolder()
        func text(_ table: String) -> String {
            """
            { "source": "Model1", "destination": "Model2", "tables": { "state": { "0": "open" } }, "entityMappings": [
                { "source": "Shop", "destination": "Shop", "relationships": { "open": { "mapping": null,
                    "from": "SUBQUERY($source.books, $b, table:key:('\(table)', $b.state) == 'open')" } } },
                { "source": "Shop", "destination": "Sale", "forEach": {
                    "book": "SUBQUERY($source.books, $b, table:key:('state', $b.state) == 'open')" } } ] }
            """
        }
        try folder.write(text("state"), to: "Step.json")
        let mappings = try folder.load("Step.json").entityMappings
        let content = #"{"0":"open"}"#
        let filled = Expression.predefined(
            Expression.tableSelector, [.constant(.string(content)), try Expression.parse("$b.state")])
        let books = Expression.subquery(
            try Expression.parse("$source.books"), variable: "b",
            .comparison(.init(left: filled, comparator: .equal, right: .constant(.string("open")))))
        #expect(mappings[0].relationships["open"] == .destinationsOfAnyMapping(from: books))
        #expect(mappings[1].iteration?.elements == books)
        try folder.write(text("stat"), to: "Step.json")
        let message = folder.error(of: "Step.json")?.message ?? ""
        #expect(message.hasPrefix("Step.json:3: ") && message.contains("names the table \"stat\""), "\(message)")
    }

    @Test("Every key of the format is read")
    func everyKey() throws {
        let folder = try MappingFolder()
        try folder.write(
            """
            {
              "ferry": 1, "source": "Model1", "destination": "Model2",
              "entityMappings": [
                { "name": "BookToBook", "source": "Book", "destination": "Book", "where": "title != nil",
                  "attributes": { "heading": "$source.title", "notes": null, "copies": 3, "ratio": -0.5, "isNew": true },
                  "relationships": { "authors": { "mapping": "BookAuthor", "from": "$source" }, "readers": null } },
                { "name": "BookAuthor", "source": "Book", "destination": "Author", "unique": ["name"],
                  "automatic": false, "attributes": { "name": "$source.authorName" } },
                { "source": "Track", "forEach": { "artist": "JSON($source.json, 'artists')" }, "onInvalid": "skip",
                  "destination": "Artist" },
                { "name": "Old", "source": "Old", "destination": null },
                { "name": "Made", "destination": "Made", "policy": "MadePolicy" }
              ],
              "partitions": [["BookAuthor"], ["BookToBook", "TrackToArtist"]]
            }
            """, to: "Step.json")
        let model = try folder.load("Step.json")
        #expect(model.name == "Step")
        #expect(model.sourceVersion == "Model1")
        #expect(model.destinationVersion == "Model2")
        #expect(model.partitions == [["BookAuthor"], ["BookToBook", "TrackToArtist"]])
        #expect(model.entityMappings.map(\.name) == ["BookToBook", "BookAuthor", "TrackToArtist", "Old", "Made"])

        let book = model.entityMappings[0]
        #expect(book.filter == (try Predicate.parse("title != nil")))
        #expect(book.isAutomatic)
        #expect(
            book.attributes == [
                "heading": .value(.keyPath(.variable("source"), [.key("title")])), "notes": .empty,
                "copies": .value(.constant(.integer(3))), "ratio": .value(.constant(.double(-0.5))),
                "isNew": .value(.constant(.boolean(true))),
            ])
        #expect(
            book.relationships == [
                "authors": .destinations(ofMapping: "BookAuthor", from: .variable("source")), "readers": .empty,
            ])

        #expect(model.entityMappings[1].unique == ["name"])
        #expect(!model.entityMappings[1].isAutomatic)

        let iteration = try #require(model.entityMappings[2].iteration)
        #expect(iteration.variable == "artist")
        #expect(iteration.elements == .json(.keyPath(.variable("source"), [.key("json")]), key: "artists"))
        #expect(iteration.skipsInvalid)

        #expect(model.entityMappings[3].destination == nil)
        #expect(model.entityMappings[4].source == nil)
        #expect(model.entityMappings[4].policyClassName == "MadePolicy")
    }

    @Test(
        "An iteration can name the position of its elements, and an attribute what happens to a value that it cannot take"
    )
    func positionsAndInvalidValues() throws {
        let folder = try MappingFolder()
        try folder.write(
            """
            { "source": "A", "destination": "B", "entityMappings": [
              { "source": "E", "destination": "F", "forEach": { "item": "$source.items", "position": "index" },
                "attributes": { "a": { "value": "$index", "onInvalid": "null" }, "b": { "onInvalid": "skip" },
                  "c": { "value": null, "onInvalid": "fail" }, "d": { "value": 3 } } },
              { "name": "G", "source": "E", "destination": "F", "forEach": { "position": "$source.positions" } } ] }
            """, to: "Step.json")
        let model = try folder.load("Step.json")
        let mapping = model.entityMappings[0]
        #expect(mapping.iteration?.variable == "item" && mapping.iteration?.position == "index")
        #expect(mapping.onInvalid == ["a": .null, "b": .skip, "c": .fail])
        #expect(
            mapping.attributes == [
                "a": .value(.variable("index")), "b": .automatic, "c": .empty, "d": .value(.constant(.integer(3))),
            ])
        let other = model.entityMappings[1].iteration
        #expect(other?.variable == "position" && other?.position == nil)
    }

    @Test(
        "A mistake is named with line and path",
        arguments: [
            (
                #""destination": "E", "source": "E", "atributes": {}"#,
                #"Step.json:3: entityMappings[0].atributes: unknown key; did you mean "attributes"?"#
            ),
            (
                "\"destination\": \"E\",\n\"source\": \"E\",\n\n\"zzz\": 1",
                "Step.json:6: entityMappings[0].zzz: unknown key; known keys: name, source"
            ),
            (
                "\"source\": \"E\", \"destination\": \"E\",\n\"source\": \"F\"",
                "Step.json:4: entityMappings[0].source: duplicate key (first on line 3)."
            ),
            (
                "\"source\": \"E\", \"destination\":\n 7",
                "Step.json:4: entityMappings[0].destination: expected a string, found a number."
            ),
            (#""source": "", "destination": "E""#, "Step.json:3: entityMappings[0].source: a name cannot be empty."),
            (#""source": "E""#, #"Step.json:2: entityMappings[0]: the key "destination" is missing."#),
            (#""destination": "E""#, #"Step.json:2: entityMappings[0]: an entity mapping without "source" creates no"#),
            (#""source": null, "destination": "E""#, "Step.json:2: entityMappings[0]: an entity mapping without"),
            (
                #""source": "E", "destination": "E", "where": true"#,
                "Step.json:3: entityMappings[0].where: expected a string, found true or false."
            ),
            (#""source": "E", "destination": "E", "where": "title == ==""#, "Step.json:3: entityMappings[0].where: "),
            (
                "\"source\": \"E\", \"destination\": \"E\", \"attributes\": {\n\"a\": \"1\",\n\"b\": \"$source.price *\" }",
                "Step.json:5: entityMappings[0].attributes.b: "
            ),
            (
                #""source": "E", "destination": "E", "attributes": { "a": ["x"] }"#,
                "Step.json:3: entityMappings[0].attributes.a: expected an expression in a string, a number, true, false"
            ),
            (
                #""source": "E", "destination": "E", "attributes": { "a": 1e999 }"#,
                "Step.json:3: this is not JSON: expected a digit, or a smaller number here."
            ),
            (
                #""source": "E", "destination": "E", "attributes": [] "#,
                "Step.json:3: entityMappings[0].attributes: expected an object, found an array."
            ),
            (
                #""source": "E", "destination": "E", "attributes": { "a": null, "a": null }"#,
                "Step.json:3: entityMappings[0].attributes.a: duplicate key"
            ),
            (
                #""source": "E", "destination": "E", "automatic": "no""#,
                "Step.json:3: entityMappings[0].automatic: expected true or false, found a string."
            ),
            (
                #""source": "E", "destination": "E", "unique": []"#,
                "Step.json:3: entityMappings[0].unique: name at least one attribute."
            ),
            (
                #""source": "E", "destination": "E", "unique": ["a", "a"]"#,
                #"Step.json:3: entityMappings[0].unique[1]: "a" is named twice."#
            ),
            (
                #""source": "E", "destination": "E", "nilIsEqual": false"#,
                "Step.json:3: entityMappings[0].nilIsEqual: it applies to the attributes of \"unique\", which is missing"
            ),
            (
                #""source": "E", "destination": "E", "unique": ["a"], "nilIsEqual": "no""#,
                "Step.json:3: entityMappings[0].nilIsEqual: expected true or false, found a string."
            ),
            (
                #""source": "E", "destination": "E", "forEach": {}"#,
                "Step.json:3: entityMappings[0].forEach: expected exactly one name"
            ),
            (
                #""source": "E", "destination": "E", "forEach": { "a": "$source.a", "b": "$source.b" }"#,
                "Step.json:3: entityMappings[0].forEach: expected exactly one name"
            ),
            (
                #""source": "E", "destination": "E", "forEach": { "source": "$source.a" }"#,
                #"Step.json:3: entityMappings[0].forEach.source: the name "source" is taken"#
            ),
            (
                #""source": "E", "destination": "E", "forEach": { "a b": "$source.a" }"#,
                #"Step.json:3: entityMappings[0].forEach.a b: "a b" cannot be the name of a variable."#
            ),
            (
                #""source": "E", "destination": "E", "forEach": { "a": "$source.a", "position": "a" }"#,
                #"Step.json:3: entityMappings[0].forEach.position: the name "a" is taken; choose another."#
            ),
            (
                #""source": "E", "destination": "E", "forEach": { "a": "$source.a", "position": "$i" }"#,
                #"Step.json:3: entityMappings[0].forEach.position: "$i" cannot be the name of a variable."#
            ),
            (
                #""source": "E", "destination": "E", "attributes": { "a": { "value": "1", "onInvalid": "drop" } }"#,
                "Step.json:3: entityMappings[0].attributes.a.onInvalid: expected \"null\", \"skip\" or \"fail\"."
            ),
            (
                #""source": "E", "destination": "E", "attributes": { "a": {} }"#,
                "Step.json:3: entityMappings[0].attributes.a: expected an expression in a string"
            ),
            (#""source": "E", "destination": "E", "onInvalid": "skip""#, "Step.json:3: entityMappings[0].onInvalid: "),
            (
                #""source": "E", "destination": "E", "forEach": { "a": "$source.a" }, "onInvalid": "drop""#,
                #"Step.json:3: entityMappings[0].onInvalid: expected "skip" or "fail"."#
            ),
            (
                #""source": "E", "destination": "E", "relationships": { "r": { "mapping": "M" } }"#,
                #"Step.json:3: entityMappings[0].relationships.r: the key "from" is missing."#
            ),
            (
                #""source": "E", "destination": "E", "relationships": { "r": { "maping": "M", "from": "$source" } }"#,
                #"relationships.r.maping: unknown key; did you mean "mapping"?"#
            ),
            (
                #""source": "E", "destination": "E", "relationships": { "r": "M" }"#,
                "Step.json:3: entityMappings[0].relationships.r: expected an object, found a string."
            ),
        ])
    func mistake(_ members: String, _ message: String) throws {
        let error = try #require(try errorOfJSON(stepJSON(members)))
        #expect(error.message.contains(message), "\(error.message)")
        #expect([.badMapping, .badExpression].contains(error.code))
    }

    @Test(
        "A mistake at the top is named with its line",
        arguments: [
            ("", "is not a mapping model"),
            ("[]", "is not a mapping model"),
            ("{\n\"source\": \"A\",\n}", "Step.json:3: this is not JSON: expected a key in double quotes here."),
            ("{ \"source\": \"A\"", "Step.json:1: this is not JSON: expected a comma or }, found the end of the file."),
            ("{ \"source\": \"A }", "Step.json:1: this is not JSON: a string is not closed."),
            ("{ \"a\": 01 }", "Step.json:1: this is not JSON: expected a comma or } here."),
            ("{ \"a\": \"\\x\" }", "Step.json:1: this is not JSON: invalid escape after a backslash."),
            ("{ \"a\": tru }", "Step.json:1: this is not JSON: expected a value here."),
            ("{} {}", "Step.json:1: this is not JSON: expected the end of the file here."),
            ("{ \"a\": \(String(repeating: "[", count: 5000)) }", "nested more than 64 deep"),
            (#"{ "destination": "B", "entityMappings": [] }"#, #"Step.json:1: the key "source" is missing."#),
            (#"{ "source": "A", "entityMappings": [] }"#, #"Step.json:1: the key "destination" is missing."#),
            (#"{ "source": "A", "destination": "B" }"#, #"Step.json:1: the key "entityMappings" is missing."#),
            (
                #"{ "ferry": 2, "source": "A", "destination": "B", "entityMappings": [] }"#,
                "Step.json:1: ferry: this version of Ferry does not support the file's format version"
            ),
            (
                #"{ "source": "A", "destination": "B", "entityMappings": {} }"#,
                "Step.json:1: entityMappings: expected an array, found an object."
            ),
            (
                #"{ "source": "A", "destination": "B", "entityMappings": [], "partitions": [[]] }"#,
                "Step.json:1: partitions[0]: a partition needs at least one entity mapping."
            ),
            (
                #"{ "source": "A", "destination": "B", "entityMappings": [{ "source": "M", "destination": null }], "partitions": [["M"], ["M"]] }"#,
                #"Step.json:1: partitions[1]: "M" is already in an earlier partition."#
            ),
            (
                #"{ "source": "A", "destination": "B", "entityMappings": [{ "source": "Maker", "destination": null }], "partitions": [["Makr"]] }"#,
                #"Step.json:1: partitions[0]: there is no entity mapping "Makr"; did you mean "Maker"?"#
            ),
            (
                """
                { "source": "A", "destination": "B", "entityMappings": [
                  { "name": "M", "source": "E", "destination": "E" },
                  { "name": "M", "source": "F", "destination": "F" } ] }
                """, #"Step.json:3: entityMappings[1]: a second entity mapping is named "M"."#
            ),
            (
                #"{ "extends": "Gone.json", "entityMappings": [] }"#,
                "Step.json:1: extends: There is no mapping model at"
            ),
        ])
    func mistakeAtTheTop(_ text: String, _ message: String) throws {
        let error = try #require(try errorOfJSON(text))
        #expect(error.message.contains(message), "\(error.message)")
    }

    @Test("An unwritten value of any form is read, and refused by the resolution with its type; notes are ignored")
    func openPlaces() throws {
        let folder = try MappingFolder()
        try folder.write(
            """
            {
              "source": "Model1", "destination": "Model1", "note": "Begun.",
              "entityMappings": [
                { "source": "Book", "destination": "Book", "note": ["title: String", "shelf: to one Shelf"],
                  "where": "? which",
                  "attributes": { "pages": "?" },
                  "relationships": { "shelf": { "mapping": null, "from": "? an object of Shelf" } },
                  "policy": "? BookPolicy: what it did" },
                { "name": "Made", "source": "? of what", "destination": "Shelf" }
              ]
            }
            """, to: "Step.json")
        let model = try folder.load("Step.json")
        #expect(model.entityMappings[0].policyClassName == nil && model.entityMappings[1].source == nil)
        let resolution = MappingResolution.resolve(source: library, destination: library, mappingModels: [model])
        let open = resolution.problems.filter { $0.message.contains("is not filled in") }
        #expect(
            open.map(\.message)
                == [
                    "the filter predicate is not filled in: ? which (line 5).",
                    "attribute \"pages\", Integer 64, is not filled in: ? (line 6).",
                    "relationship \"shelf\", to one Shelf, is not filled in: ? an object of Shelf (line 7).",
                    "what the policy did is not filled in: ? BookPolicy: what it did (line 8).",
                    "the source entity is not filled in: ? of what (line 9).",
                ].enumerated().map { "Step.json: entity mapping \"\($0 < 4 ? "BookToBook" : "Made")\": \($1)" })
        #expect(open.map(\.place.property) == [nil, "pages", "shelf", nil, nil])
        #expect(open.allSatisfy { $0.code == .badMapping && !$0.remedy.isEmpty })

        try folder.write(
            """
            { "source": "Model1", "destination": "Model1",
              "entityMappings": [{ "source": "Book", "destination": "Book", "note": [1] }] }
            """, to: "Wrong.json")
        #expect(throws: FerryError.self) { try folder.load("Wrong.json") }
    }

    @Test("Bytes that are not UTF-8 are refused")
    func notUTF8() throws {
        let folder = try MappingFolder()
        let path = folder.path("Step.json")
        try FileLayer().replace(path, with: Array("{ \"source\": \"".utf8) + [0xC3, 0x28] + Array("\" }".utf8))
        #expect(folder.error(of: "Step.json")?.message.contains("not UTF-8") == true)
    }

    @Test("Strings may contain escapes, also of characters outside the BMP")
    func escapes() throws {
        let folder = try MappingFolder()
        try folder.write(
            #"{ "source": "A\u00e9\ud83d\ude00\n\"\\\/", "destination": "B", "entityMappings": [] }"#, to: "Step.json")
        #expect(try folder.load("Step.json").sourceVersion == "Aé😀\n\"\\/")
    }

    // MARK: extends

    private let base = """
        { "source": "A", "destination": "B", "partitions": [["First"]], "entityMappings": [
          { "name": "First", "source": "E", "destination": "E" },
          { "name": "Second", "source": "F", "destination": "F" },
          { "name": "Third", "source": "G", "destination": "G" } ] }
        """

    @Test("A file that extends another replaces entity mappings in place and adds others at the end")
    func extends() throws {
        let folder = try MappingFolder()
        try folder.write(base, to: "maps/Base.json")
        try folder.write(
            """
            { "extends": "maps/Base.json", "entityMappings": [
              { "name": "Fourth", "source": "H", "destination": "H" },
              { "name": "Second", "source": "F", "destination": "F", "automatic": false } ] }
            """, to: "Step.json")
        let model = try folder.load("Step.json")
        #expect(model.name == "Step")
        #expect(model.sourceVersion == "A")
        #expect(model.destinationVersion == "B")
        #expect(model.entityMappings.map(\.name) == ["First", "Second", "Third", "Fourth"])
        #expect(model.entityMappings.map(\.isAutomatic) == [true, false, true, true])
        #expect(model.partitions == [["First"]])
    }

    @Test("Own keys take precedence over those of the extended file")
    func ownKeysWin() throws {
        let folder = try MappingFolder()
        try folder.write(base, to: "Base.json")
        try folder.write(
            #"{ "extends": "Base.json", "source": "X", "partitions": [["Third"]] }"#, to: "Step.json")
        let model = try folder.load("Step.json")
        #expect(model.sourceVersion == "X")
        #expect(model.destinationVersion == "B")
        #expect(model.partitions == [["Third"]])
    }

    @Test("Files that extend each other in a cycle are refused")
    func circle() throws {
        let folder = try MappingFolder()
        try folder.write(#"{ "extends": "Two.json" }"#, to: "One.json")
        try folder.write(#"{ "extends": "./One.json" }"#, to: "Two.json")
        let error = try #require(folder.error(of: "One.json"))
        #expect(error.code == .badMapping)
        #expect(error.message.contains("One.json extends itself"))
    }

    @Test("A mistake in the extended file names that file")
    func mistakeInExtended() throws {
        let folder = try MappingFolder()
        try folder.write("{\n\"surce\": \"A\" }", to: "Base.json")
        try folder.write("{\n\n\"extends\": \"Base.json\" }", to: "Step.json")
        let error = try #require(folder.error(of: "Step.json"))
        #expect(error.message == #"Step.json:3: extends: Base.json:2: surce: unknown key; did you mean "source"?"#)
    }
}
