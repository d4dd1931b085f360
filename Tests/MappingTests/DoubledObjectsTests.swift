import FerryBase
import FerryExpression
import FerryMapping
import Testing

@Suite("Objects that one mapping model carries twice")
struct DoubledObjectsTests {
    private let others = ["User", "Shelf"]

    private func resolution(_ mappings: [EntityMapping]) throws -> MappingResolution {
        resolve(try mappings + others.map { try mapping($0, $0) }, to: library)
    }

    @Test("The same entity mapping under another name is refused")
    func refusesTheSame() throws {
        let problems = try resolution([try mapping("Book", "Book"), try mapping("Book", "Book", name: "Copy")]).problems
        #expect(problems.count == 1)
        let problem = try #require(problems.first)
        #expect(problem.code == .badMapping && problem.place.entityMapping == "Copy")
        #expect(problem.message.contains("\"BookToBook\": every object of Book would be duplicated"))
    }

    @Test("Two different mappings of one entity are a warning")
    func warns() throws {
        let copy = try mapping("Book", "Book", name: "Copy", attributes: ["title": .value(.constant(.null))])
        let found = try resolution([try mapping("Book", "Book"), copy])
        #expect(found.problems.isEmpty)
        #expect(found.step.warnings.filter { $0.code == .doubledObjects }.map(\.subject.entityMapping) == ["Copy"])
    }

    @Test(
        "Deliberate repetition is no duplicate",
        arguments: [
            [("Book", "Book", "title = 'a'"), ("Book", "Book", "title != 'a'")],
            [("Book", "Book", ""), ("Book", "Shelf", ""), ("Book", "Shelf", "")],
        ])
    func passesOthers(_ wanted: [(source: String, destination: String, filter: String)]) throws {
        let mappings = try wanted.enumerated().map { index, wanted in
            try mapping(
                wanted.source, wanted.destination, name: "Made \(index)",
                filter: wanted.filter.isEmpty ? nil : wanted.filter)
        }
        let found = try resolution(mappings)
        #expect(found.problems.isEmpty, "\(found.problems)")
        #expect(!found.step.warnings.contains { $0.code == .doubledObjects })
    }
}
