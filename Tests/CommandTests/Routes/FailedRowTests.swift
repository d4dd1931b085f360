internal import TestSupport
internal import Testing

/// A value that cannot be converted is refused before a run, or fails it: the message names its object.
@Suite("Failed rows")
struct FailedRowTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App 1", RouteFolder.entity("Book", "pages:Integer 64", "copies:Integer 64", "tags"))
        try app.model("App", "App 2", RouteFolder.entity("Book", "pages:Integer 16", "copies:Integer 16", "tags"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1", rows: 30)
        try app.execute(
            """
            UPDATE ZBOOK SET ZPAGES = 1, ZCOPIES = 2, ZTAGS = '[]';
            UPDATE ZBOOK SET ZPAGES = 123456 WHERE Z_PK IN (23, 27);
            UPDATE ZBOOK SET ZCOPIES = 123456 WHERE Z_PK IN (25, 30)
            """)
    }

    private func mapping(_ members: String) throws {
        try app.write(
            """
            { "source": "App 1", "destination": "App 2", "entityMappings": [
                { "source": "Book", "destination": "Book"\(members) }] }
            """, to: "map.json")
    }

    private func failure(_ more: String..., exitCode: Int32 = 2) throws -> String {
        let outcome = try app.run(["migrate", "App.sqlite", "--models", "App.xcdatamodeld"] + more)
        #expect(outcome.exitCode == exitCode, "\(outcome)")
        #expect(!outcome.diagnostics.contains("123456") && !outcome.diagnostics.contains("no JSON 7"))
        return outcome.diagnostics
    }

    @Test("In place", arguments: [[], ["--output", "New.sqlite"]])
    func inPlace(more: [String]) throws {
        let outcome = try app.run(["migrate", "App.sqlite", "--models", "App.xcdatamodeld"] + more)
        #expect(
            outcome.exitCode == 2 && outcome.diagnostics.contains("2 objects of Book (keys 23, 27): "), "\(outcome)")
        #expect(!outcome.diagnostics.contains("123456"))
    }

    @Test(
        "What is not checked beforehand fails in a copy, with any chunk size", arguments: ["5", "50"])
    func copied(rows: String) throws {
        // Only the first of several equal objects must have values that fit.
        try app.execute("UPDATE ZBOOK SET ZTAGS = Z_PK")
        try mapping(#", "unique": ["tags"]"#)
        let text = try failure(
            "--mappings", "map.json", "FERRY_EXECUTOR=set", "--chunk-size", rows, exitCode: 1)
        #expect(text.contains("Book with key 23, value of pages: "), "\(text)")
    }

    @Test("With a filter, objects that it excludes do not fail")
    func filtered() throws {
        try mapping(#", "where": "pages < 10""#)
        let text = try failure("--mappings", "map.json", "FERRY_EXECUTOR=set")
        #expect(
            text.contains("Book.copies of version App 2 cannot take the values of 2 objects of Book (keys 25, 30)"),
            "\(text)")
        #expect(!text.contains("Book.pages"))
    }

    @Test("If the elements of an object cannot be read, no attribute is named")
    func elements() throws {
        try app.execute(
            """
            UPDATE ZBOOK SET ZPAGES = 1, ZCOPIES = 1, ZTAGS = '{ "a": [ { "name": "one" } ] }';
            UPDATE ZBOOK SET ZTAGS = 'no JSON 7' WHERE Z_PK = 7
            """)
        try mapping(
            #", "forEach": { "tag": "JSON($source.tags, 'a')" }, "attributes": { "tags": "$tag.name" }"#)
        let text = try failure("--mappings", "map.json", "FERRY_EXECUTOR=set")
        #expect(text.contains("Book with key 7: "), "\(text)")
    }
}
