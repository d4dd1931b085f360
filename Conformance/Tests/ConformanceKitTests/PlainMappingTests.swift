import ConformanceKit
import Foundation
import Testing

@Suite("Mapping files that Core Data has a counterpart for")
struct PlainMappingTests {
    private static func read(_ text: String) throws -> PlainMapping { try PlainMapping(json: Data(text.utf8)) }

    @Test("Names, filters, expressions, constants and relationships are read")
    func reads() throws {
        let mapping = try Self.read(
            """
            { "source": "A 1", "destination": "A 2", "entityMappings": [
              { "source": "Book", "destination": "Book", "where": "title != nil",
                "attributes": { "title": "uppercase:($source.title)", "old": true, "off": false, "count": 3, "x": null } },
              { "name": "Own", "source": "User", "destination": "Person",
                "relationships": { "books": { "mapping": "BookToBook", "from": "$source.books" } } } ] }
            """)
        #expect(mapping.entities.map(\.name) == ["BookToBook", "Own"])
        #expect(mapping.entities[0].predicate == "title != nil")
        #expect(
            mapping.entities[0].attributes == [
                "title": .expression("uppercase:($source.title)"), "old": .expression("TRUE"),
                "off": .expression("FALSE"), "count": .expression("3"), "x": .leftOut,
            ])
        let books = mapping.entities[1].relationships["books"]
        #expect(books?.mapping == "BookToBook" && books?.from == "$source.books")
    }

    @Test(
        "A mapping that NSMappingModel cannot express is refused",
        arguments: [
            #""forEach": { "a": "$source.b" }"#, #""unique": ["name"]"#, #""policy": "P""#, #""automatic": false"#,
            #""relationships": { "a": null }"#, #""attributes": { "a": [] }"#,
        ])
    func refuses(_ member: String) {
        #expect(throws: ConformanceError.self) {
            try Self.read(#"{ "entityMappings": [ { "source": "A", "destination": "B", \#(member) } ] }"#)
        }
    }

    @Test(
        "A file that extends another one, or has no entity mappings, is refused",
        arguments: ["{}", "[]", #"{ "extends": "a", "entityMappings": [] }"#])
    func refusesFiles(_ text: String) {
        #expect(throws: ConformanceError.self) { try Self.read(text) }
    }
}
