internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relation whose links are the source's own, between objects that all keep their keys: what must be there stands in
/// one table of the source, key by key.
struct CarriedRelation {
    enum Links: Equatable {
        case keys(table: String, column: String, order: String?)
        /// As in ``StoredRelation/Storage``.
        case join(table: String, a: String, b: String, aOrder: String?, bOrder: String?)
    }

    let relation: StoredRelation
    let source: Links
    let destination: Links
    /// The entities of the two sides.
    let a: String
    let b: String

    /// Nil where objects with new keys, policies, rules of a mapping's own or only some of the mappings have a part in it.
    init?(_ relation: StoredRelation, in context: VerificationContext) {
        let model = context.destinationModel
        guard !context.step.hasPolicies,
            let declared = model.relationship(relation.key.property, of: relation.key.entity)
        else { return nil }
        (a, b) = (relation.key.entity, declared.destinationEntity)
        switch relation.storage {
        case .foreignKey(let table, let column, let order):
            // One without inverse is declared by the other side.
            guard case .foreignKey? = context.destination.relationshipStorage[relation.key] else { return nil }
            destination = .keys(table: table, column: column, order: order)
        case .join(let table, let a, let b, let aOrder, let bOrder, isReflexive: false):
            destination = .join(table: table, a: a, b: b, aOrder: aOrder, bOrder: bOrder)
        case .oneToOne, .join: return nil
        }
        let links = relation.rules.map { Self.links(of: $0, in: context) }
        guard let first = links.first, let source = first, links.allSatisfy({ $0 == source }) else { return nil }
        self.source = source
        self.relation = relation
        guard Self.hasOrders(of: destination, source) else { return nil }
        guard let roots = Self.sourceRoots(of: [a, b], in: context),
            relation.rules.allSatisfy({ Self.leads($0, between: roots, in: context) }),
            isWhole(fromInverse: false, in: context) || isWhole(fromInverse: true, in: context)
        else { return nil }
    }

    /// For each entity of the destination the source's root entity whose objects alone are in its table, under their own
    /// keys; nil where there are others.
    private static func sourceRoots(of entities: [String], in context: VerificationContext) -> [String]? {
        var roots: [String] = []
        for root in entities.map({ context.destinationModel.root(of: $0) }) {
            let sources = Set(context.keepers(into: root).map { context.sourceModel.root(of: $0.source) })
            guard context.makers(into: root).isEmpty, sources.count == 1, let source = sources.first else { return nil }
            roots.append(source)
        }
        return roots
    }

    /// Whether the source's relationship that a rule takes is between the objects of these root entities.
    private static func leads(
        _ rule: StoredRelation.Rule, between roots: [String], in context: VerificationContext
    ) -> Bool {
        guard let name = rule.relationship.sourceRelationship,
            let relationship = context.sourceModel.relationship(name, of: rule.mapping.source)
        else { return false }
        let ends = [rule.mapping.source, relationship.destinationEntity].map { context.sourceModel.root(of: $0) }
        return (rule.isInverse ? ends.reversed() : ends) == roots
    }

    /// Where the source has the links that a rule takes as they are, seen from `a`; nil for any other rule.
    private static func links(of rule: StoredRelation.Rule, in context: VerificationContext) -> Links? {
        guard rule.relationship.isAutomatic, rule.mapping.keepsPrimaryKey, rule.mapping.policy == nil,
            let name = rule.relationship.sourceRelationship
        else { return nil }
        switch (context.source.storage(of: name, in: rule.mapping.source), rule.isInverse) {
        case (.foreignKey(let table, let column, _, let order)?, false),
            (.inverseForeignKey(let table, let column, _, let order)?, true):
            return .keys(table: table, column: column, order: order)
        case (.join(let table, let own, let other, let otherOrder, let ownOrder)?, false):
            return .join(table: table, a: own, b: other, aOrder: ownOrder, bOrder: otherOrder)
        case (.join(let table, let own, let other, let otherOrder, let ownOrder)?, true):
            return .join(table: table, a: other, b: own, aOrder: otherOrder, bOrder: ownOrder)
        default: return nil
        }
    }

    /// Whether the positions that the destination asks for are the source's too.
    private static func hasOrders(of destination: Links, _ source: Links) -> Bool {
        switch (destination, source) {
        case (.keys(_, _, let new), .keys(_, _, let old)): return new == nil || old != nil
        case (.join(_, _, _, let newA, let newB), .join(_, _, _, let oldA, let oldB)):
            return (newA == nil || oldA != nil) && (newB == nil || oldB != nil)
        default: return false
        }
    }

    /// Whether the rules of one side alone take every link between objects that are carried over.
    private func isWhole(fromInverse isInverse: Bool, in context: VerificationContext) -> Bool {
        func mappings(into entity: String) -> [ResolvedEntityMapping] {
            context.step.entityMappings.filter { context.destinationModel.isKind($0.destination, of: entity) }
        }
        let (own, others) = isInverse ? (b, a) : (a, b)
        let targets = Set(mappings(into: others).map(\.name))
        let holders = mappings(into: own)
        return !holders.isEmpty
            && holders.allSatisfy { mapping in
                let rules = relation.rules.filter {
                    $0.isInverse == isInverse && $0.mapping.position == mapping.position
                }
                return !rules.isEmpty && targets.isSubset(of: rules.flatMap(\.relationship.mappings))
            }
    }

    // MARK: Parts

    /// The index that holds the links alone, in the order in which they are merged; nil where there is none.
    func index(in tables: [String: TableIndexes]) -> StoredIndex? {
        guard case .join(let table, let a, let b, nil, nil) = destination, let indexes = tables[table],
            let row = indexes.rowID
        else { return nil }
        let columns = [Connection.quoted(a), Connection.quoted(b), row]
        return indexes.compared.first {
            $0.columns.map(\.sql) == columns && $0.isOrdered(by: a) && !$0.columns[1].isDescending
        }
    }

    var name: String { "\(relation.key.entity).\(relation.key.property)" }

    /// Names of the parts that together show the whole relation, with the keys of `a` that each looks at; none where the
    /// rows show it.
    func parts(in context: VerificationContext) throws -> [(name: String, range: KeyRange)] {
        if case .keys = destination { return [] }
        let keys = try KeyRange.keys(of: "destination." + context.destinationTable(of: a).name, on: context.connection)
        let ranges = KeyRange.parts(from: keys.lowest, through: keys.highest, last: .max)
        return ranges.enumerated().map { ("links:\(name):\($0)", $1) }
    }

    /// Whether all of its parts were shown, or the rows that hold its keys.
    func isShown(in context: VerificationContext) throws -> Bool {
        let outcomes = context.progress.state.outcomes
        if case .keys = destination { return !outcomes.values.contains { $0.unshown?.contains(name) == true } }
        return try parts(in: context).allSatisfy { outcomes[$0.name]?.isShown == true }
    }
}
