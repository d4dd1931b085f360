import FerryBase
import FerryExpression
import FerryModel
import Testing

private typealias Tree = FerryExpression.Expression

/// The equalities by which an index finds the members of a collection.
@Suite("Equalities of members")
struct MemberEqualityTests {
    static let model = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Group", attributes: [Attribute(name: "name", type: .string)],
                relationships: [
                    Relationship(
                        name: "kinds", destinationEntity: "Kind", inverseName: "group", inverseEntity: "Kind",
                        maxCount: 0)
                ]),
            Entity(
                name: "Kind",
                attributes: [
                    Attribute(name: "id", type: .integer64), Attribute(name: "name", type: .string),
                    Attribute(name: "weight", type: .double),
                ],
                relationships: [
                    Relationship(
                        name: "group", destinationEntity: "Group", inverseName: "kinds", inverseEntity: "Group")
                ]),
            Entity(
                name: "Post",
                attributes: [
                    Attribute(name: "typeid", type: .integer64), Attribute(name: "name", type: .string),
                ]),
        ])
    static let scope = ExpressionScope(model: model, entity: "Post")

    static let fetch =
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Kind', 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)"

    /// A condition on `$t`, and the paths of `$t` that are found.
    static let conditions: [(String, [String])] = [
        ("$t.id == $source.typeid", ["$t.id"]),
        ("$source.typeid == $t.id", ["$t.id"]),
        ("$t.id == $source.typeid AND $t.weight > 1", ["$t.id"]),
        ("$t.weight > 1 AND ($t.id == $source.typeid AND $t.name == $source.name)", ["$t.id", "$t.name"]),
        ("NOT (NOT ($t.id == $source.typeid))", ["$t.id"]),
        ("$t.id == 3 AND $t.name == $source.name", ["$t.id", "$t.name"]),
        ("$t.group.name == $source.name", ["$t.group.name"]),
        ("$t.name ==[n] $source.name", ["$t.name"]),
        ("$t.name == uppercase($source.name)", ["$t.name"]),
        // A computation may fail: behind another part it would not run for each source object.
        ("$t.weight > 1 AND $t.name == uppercase($source.name)", []),
        ("$t.id == $source.typeid OR $t.weight > 1", []),
        ("$t.id != $source.typeid", []),
        ("NOT ($t.id == $source.typeid)", []),
        ("$t.id > $source.typeid", []),
        ("$t.name ==[c] $source.name", []),
        ("$t.name == $t.group.name", []),
        ("lowercase($t.name) == $source.name", []),
        ("$t.name == nil", []),
    ]

    @Test("A condition names the paths that an index can hold", arguments: conditions)
    func translated(of condition: String, _ paths: [String]) throws {
        let value = try ExpressionTranslation(scope: Self.scope).value(
            Tree.parse("SUBQUERY(\(Self.fetch), $t, \(condition)).@count"))
        guard case .collection(let collection) = value.computation else {
            Issue.record("\(value.computation)")
            return
        }
        let names = collection.equalities.map { equality in
            var names = equality.member.hops.map(\.relationship.name)
            if case .attribute(_, let path) = equality.member.end { names += path }
            return (["$t"] + names).joined(separator: ".")
        }
        #expect(names == paths)
    }

    @Test("A constant alone needs no index: the same members are found once")
    func constants() throws {
        let value = try ExpressionTranslation(scope: Self.scope).value(
            Tree.parse("SUBQUERY(\(Self.fetch), $t, $t.id == 3).@count"))
        guard case .collection(let collection) = value.computation else {
            Issue.record("\(value.computation)")
            return
        }
        #expect(collection.equalities.isEmpty && !collection.isCorrelated)
    }
}
