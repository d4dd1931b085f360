import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import Testing

/// Whether nil equals nil in `unique` where a mapping file does not say so.
@Suite("Nil in unique")
struct NilInUniqueTests {
    private func resolved(
        _ mappings: [EntityMapping], constraint: [String] = ["name", "title"], isInherited: Bool = false
    ) -> [Bool] {
        let attributes: [Attribute] = [.string("name"), .string("title")]
        let old = version(
            "Model1",
            [
                Entity(name: "Book", attributes: attributes), Entity(name: "Person", attributes: attributes),
                Entity(name: "Place", attributes: attributes),
            ])
        let own = isInherited ? [] : [constraint]
        let base = Entity(
            name: "Base", attributes: isInherited ? attributes : [],
            uniquenessConstraints: isInherited ? [constraint] : [])
        let user = Entity(
            name: "User", superentity: "Base", attributes: isInherited ? [] : attributes, uniquenessConstraints: own,
            renamingIdentifier: "Person")
        let new = version("Model2", [base, Entity(name: "Book", attributes: attributes), user])
        let resolution = MappingResolution.resolve(
            source: old, destination: new, mappingModels: [mappingModel(mappings)])
        #expect(resolution.problems.isEmpty, "\(resolution.problems)")
        return resolution.step.entityMappings.map(\.nilIsEqual)
    }

    private func user(_ source: String, _ unique: [String] = ["title", "name"]) throws -> EntityMapping {
        try mapping(source, "User", unique: unique)
    }

    @Test("equals nothing where a constraint of the entity, or of one above it, names the same attributes")
    func constraints() throws {
        for isInherited in [false, true] {
            #expect(resolved([try user("Person")], isInherited: isInherited) == [false])
            #expect(resolved([try user("Person", ["name"])], isInherited: isInherited) == [true])
            #expect(resolved([try user("Person")], constraint: ["name"], isInherited: isInherited) == [true])
        }
    }

    @Test("equals nil where the mapping makes objects beside those that carry its source on")
    func foundByName() throws {
        let book = try mapping("Book", "Book")
        #expect(resolved([try user("Book"), book]) == [true, true])
        // The destination continues the source entity, or nothing else does.
        #expect(resolved([try user("Person"), try mapping("Person", "Book")]) == [false, true])
        #expect(resolved([try user("Place"), book]) == [false, true])
        let iteration = EntityMapping.Iteration(
            variable: "e", elements: try Expression.parse("JSON($source.name, 'e')"))
        var each = try mapping(
            "Person", "User", iteration: iteration, unique: ["title", "name"], isAutomatic: false)
        #expect(resolved([each]) == [true])
        each.nilIsEqual = false
        #expect(resolved([each]) == [false])
    }

    @Test("is what the mapping file says")
    func given() throws {
        for given in [true, false] {
            var mapping = try user("Person")
            mapping.nilIsEqual = given
            #expect(resolved([mapping]) == [given])
        }
    }
}
