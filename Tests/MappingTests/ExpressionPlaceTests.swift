import FerryBase
import FerryMapping
import FerryModel
import Testing

/// An error in an expression has file, line and place in the text.
@Suite struct ExpressionPlaceTests {
    @Test(
        "An error in an expression has file, line, column and a suggestion",
        arguments: [
            ("\"attributes\": { \"title\": \"uppercase($source.titel)\" }", "line 1, column 19", "title"),
            ("\"attributes\": { \"title\": \"$source.title.lenght\" }", "line 1, column 1", "length"),
            ("\"attributes\": { \"pages\": \"1 + $source.title\" }", "line 1, column 5", "type"),
            ("\"attributes\": { \"pages\": \"$source.pages + $sourc.pages\" }", "line 1, column 17", "$source"),
            ("\"attributes\": { \"title\": \"$source.users.name\" }", "line 1, column 1", "to-one"),
            ("\"attributes\": { \"pages\": \"1 +\\n  sum:($source.pages)\" }", "line 2, column 3", "to-many"),
            ("\"where\": \"pages > 1 AND (titl == 'x' OR pages < 2)\"", "line 1, column 16", "title"),
            ("\"where\": \"pages IN {1, 2, 'x'}\"", "line 1, column 1", "type"),
            ("\"where\": \"ANY users.nam == 'x'\"", "line 1, column 11", "name"),
            (
                "\"attributes\": { \"pages\": \"SUBQUERY(users, $u, $u.nam == 'x').@count\" }", "line 1, column 24",
                "name"
            ),
            ("\"forEach\": { \"u\": \"$source.user\" }", "line 1, column 9", "users"),
            (
                "\"relationships\": { \"shelf\": { \"mapping\": null, \"from\": \"$source.shel\" } }",
                "line 1, column 9", "shelf"
            ),
        ])
    func places(_ members: String, _ place: String, _ mention: String) throws {
        let folder = try MappingFolder()
        try folder.write(
            """
            { "source": "Model1", "destination": "Model1",
              "entityMappings": [ { "name": "M", "source": "Book", "destination": "Book",
            \(members)
              } ] }
            """, to: "Step.json")
        let model = try folder.load("Step.json")
        let problems = MappingResolution.resolve(
            source: library, destination: library, mappingModels: [model]
        ).problems
        let error = try #require(problems.first)
        #expect(error.message.hasPrefix("Step.json:3: entity mapping \"M\": "), "\(error)")
        #expect(error.message.contains("(\(place) of `"), "\(error)")
        #expect(error.description.contains(mention), "\(error)")
        #expect(error.place.mappingModel == model.path)
    }

    @Test("An archived expression is shown as text, with the place in it")
    func archived() throws {
        let given = try mapping("Book", "Book", attributes: ["title": try value("uppercase($source.titel)")])
        let error = try #require(resolve([given], to: library).problems.first)
        #expect(error.message.contains("line 1, column 19 of `uppercase($source.titel)`"), "\(error)")
    }
}
