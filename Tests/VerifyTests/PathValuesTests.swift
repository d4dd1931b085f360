import FerryBase
import FerryExpression
import FerryMapping
import FerryVerify
import TestSupport
import Testing

/// Books whose pages are their user's name: a value at the end of a path, which SQLite reads together with the book.
@Suite("Values at the end of paths")
struct PathValuesTests {
    private let library: Library

    init() throws {
        var library = try Library()
        let values = [
            "pages": "TERNARY($source.user.name == nil, 'none', $source.user.name)", "heading": "$source.user.name",
        ]
        library.step = library.step.with(
            try library.step.entityMappings.map { mapping in
                guard mapping.name == "BookToBook" else { return mapping }
                return mapping.with(
                    attributes: try mapping.attributes.map { attribute in
                        guard let value = values[attribute.name] else { return attribute }
                        return ResolvedAttribute(name: attribute.name, expression: try Expression.parse(value))
                    })
            })
        try library.change(
            library.destination,
            """
            UPDATE ZBOOK SET ZPAGES = 'Ada', ZHEADING = 'Ada' WHERE Z_PK IN (1, 2);
            UPDATE ZBOOK SET ZPAGES = 'Ben', ZHEADING = 'Ben' WHERE Z_PK = 5;
            UPDATE ZBOOK SET ZPAGES = 'none', ZHEADING = NULL WHERE Z_PK = 7
            """)
        self.library = library
    }

    private func differences() throws -> [VerificationSummary.Difference] {
        let found = try library.verify(jobs: 1).differences
        #expect(try library.verify(jobs: 3).differences == found)
        return found.filter { $0.check == .rows && $0.entity == "Book" }
    }

    @Test("Values are those of the objects at the end, or none without an object")
    func valuesAreRight() throws {
        #expect(try differences() == [])
        // A key that leads nowhere has no object.
        try library.change(library.source, "UPDATE ZBOOK SET ZUSER = 99 WHERE Z_PK = 7")
        #expect(try differences() == [])
    }

    @Test("A value of another object is found, carried or computed", arguments: ["ZHEADING", "ZPAGES"])
    func otherValueIsFound(column: String) throws {
        try library.change(library.destination, "UPDATE ZBOOK SET \(column) = 'Ada' WHERE Z_PK = 5")
        let expected = VerificationSummary.Difference(
            check: .rows, entity: "Book", count: 1, example: "ZBOOK Z_PK 5 \(column)")
        #expect(try differences() == [expected])
    }

    @Test("A row of no known entity is no object on a path")
    func unknownEntityHasNoObject() throws {
        try library.change(library.source, "UPDATE ZUSER SET Z_ENT = 77 WHERE Z_PK = 2")
        #expect(try differences().map(\.count) == [1])
        try library.change(library.destination, "UPDATE ZBOOK SET ZPAGES = 'none', ZHEADING = NULL WHERE Z_PK = 5")
        #expect(try differences() == [])
    }
}
