import FerryModel
import Testing

@Suite("Differences between models")
struct ModelDifferenceTests {
    private func changes(_ old: [Entity], _ new: [Entity]) -> [String] {
        ModelDifference(
            from: ManagedObjectModel(versionIdentifiers: [], entities: old),
            to: ManagedObjectModel(versionIdentifiers: [], entities: new)
        ).changes.map { "\($0.entity)\($0.property.map { ".\($0)" } ?? "") \($0.kind.rawValue)" }
    }

    @Test("A change of an inherited property is reported once, for the declaring entity")
    func inherited() {
        let old = [
            Entity(name: "Thing", attributes: [Attribute(name: "a", type: .string)]),
            Entity(name: "Book", superentity: "Thing"), Entity(name: "Novel", superentity: "Book"),
        ]
        var new = old
        new[0].attributes = [
            Attribute(name: "b", type: .string, renamingIdentifier: "a"), Attribute(name: "c", type: .date),
        ]
        #expect(changes(old, new) == ["Thing.b attributeRenamed", "Thing.c attributeAdded"])
        #expect(changes(new, []) == ["Book entityRemoved", "Novel entityRemoved", "Thing entityRemoved"])
    }

    @Test("The same indexes in another form are no change")
    func indexes() {
        let attribute = Attribute(name: "a", type: .string)
        var indexed = attribute
        indexed.isIndexed = true
        let elements = [FetchIndex.Element(property: "a")]
        let modern = Entity(
            name: "Book", attributes: [attribute], fetchIndexes: [FetchIndex(name: "byA", elements: elements)])
        var compiled = modern
        compiled.attributes = [indexed]
        compiled.compoundIndexes = [["a"]]
        let old = Entity(name: "Book", attributes: [indexed])
        #expect(changes([modern], [compiled]).isEmpty)
        #expect(changes([old], [modern]).isEmpty)
        var descending = modern
        descending.fetchIndexes[0].elements[0].isAscending = false
        #expect(changes([modern], [descending]) == ["Book indexesChanged"])
        var partial = modern
        partial.fetchIndexes[0].partialIndexPredicate = "a != nil"
        #expect(changes([modern], [partial]) == ["Book indexesChanged"])
        let renamed = Entity(
            name: "Book", attributes: [Attribute(name: "b", type: .string, renamingIdentifier: "a")],
            fetchIndexes: [FetchIndex(name: "byB", elements: [.init(property: "b")])])
        #expect(changes([modern], [renamed]) == ["Book.b attributeRenamed"])
    }

    @Test("Every setting of a property that affects stores is compared")
    func settings() {
        let old = Attribute(name: "a", type: .binary)
        var new = Attribute(name: "a", type: .binary, isOptional: true, allowsExternalStorage: true)
        new.preservesValueAfterDeletion = true
        new.versionHashModifier = "2"
        #expect(
            changes([Entity(name: "E", attributes: [old])], [Entity(name: "E", attributes: [new])]) == [
                "E.a attributeMadeOptional", "E.a externalStorageAllowed", "E.a preservationChanged",
                "E.a hashModifierChanged",
            ])
        let before = Relationship(name: "r", destinationEntity: "E", isOptional: true, maxCount: 0)
        let after = Relationship(
            name: "r", destinationEntity: "E", inverseName: "r", isOrdered: true, minCount: 1, maxCount: 5,
            deleteRule: .cascade)
        #expect(
            changes([Entity(name: "E", relationships: [before])], [Entity(name: "E", relationships: [after])]) == [
                "E.r relationshipMadeOrdered", "E.r inverseChanged", "E.r relationshipMadeMandatory",
                "E.r countsChanged", "E.r deleteRuleChanged",
            ])
    }

    @Test("0, -1 and the highest number all mean no limit")
    func counts() {
        let unlimited = [0, -1, Int.max].map { count in
            [
                Entity(
                    name: "E",
                    relationships: [Relationship(name: "r", destinationEntity: "E", isOptional: true, maxCount: count)])
            ]
        }
        for (old, new) in zip(unlimited, unlimited.dropFirst()) { #expect(changes(old, new).isEmpty) }
    }
}
