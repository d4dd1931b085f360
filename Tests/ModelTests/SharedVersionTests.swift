import FerryModel
import Testing

@Suite("Memory of a bundle's versions")
struct SharedVersionTests {
    private func entity(_ name: String, attributes: [String]) -> Entity {
        Entity(
            name: name, attributes: attributes.map { Attribute(name: $0, type: .string, isOptional: true) })
    }

    private func place(of name: String, in model: ManagedObjectModel) -> UnsafeRawPointer? {
        model.entities[name]?.attributes.withUnsafeBytes(\.baseAddress)
    }

    @Test("Equal entities of two versions share memory, and the model stays the same")
    func sharesEqualEntities() {
        let first = ManagedObjectModel(
            versionIdentifiers: ["1"], entities: [entity("A", attributes: ["a"]), entity("B", attributes: ["b"])])
        let second = ManagedObjectModel(
            versionIdentifiers: ["2"],
            entities: [
                entity("A", attributes: ["a"]), entity("B", attributes: ["b", "c"]), entity("C", attributes: ["a"]),
            ])
        #expect(place(of: "A", in: second) != place(of: "A", in: first))
        let shared = second.sharing(with: first)
        #expect(shared == second)
        #expect(shared.root(of: "C") == "C")
        #expect(place(of: "A", in: shared) == place(of: "A", in: first))
        #expect(place(of: "B", in: shared) == place(of: "B", in: second))
    }
}
