internal import FerryBase
package import FerryMapping
internal import FerryModel
internal import FerryStore

/// The part of a copy step that needs no copying: the tables whose objects all keep their rows.
///
/// The destination begins as a copy of the source's pages. ``step`` brings these tables to the new version in place,
/// and empties or creates the others, which the engine then fills.
package struct KeptPart: Sendable {
    /// The entity mappings of these tables alone, without the relationships that the engine links.
    package let step: ResolvedStep
    /// The step that this is a part of.
    package let whole: ResolvedStep
    /// The positions of its entity mappings in the whole step.
    package let positions: Set<Int>
    /// The root entities of its tables in the new version.
    package let roots: Set<String>
    /// Relationships of the new version that the engine links, under the names of both sides.
    let linked: Set<PropertyKey>
    /// The tables of the new version that the engine fills.
    let filledTables: Set<String>
    /// The columns of the new version that the engine fills in tables that stay, by table.
    package let linkedColumns: [String: Set<String>]
    /// The reasons why tables are filled that could stay by their objects, by their names.
    private(set) var reasons: [String: String] = [:]

    /// The reason why a step fills all tables, whichever they are; nil if there is none.
    static func obstacle(source: StoreLayout, destination: StoreLayout) -> String? {
        let derives = [source, destination].contains { !$0.derivedValues.isEmpty || !$0.rTrees.isEmpty }
        return derives ? "derived attributes and R-Trees are computed from all rows" : nil
    }

    /// A part without a table of the model: only what no model explains stays, history and the app's own tables.
    package init(ofNoTableOf whole: ResolvedStep) {
        let model = whole.destination.model
        self.whole = whole
        step = whole.with([])
        (positions, roots, filledTables, linkedColumns) = ([], [], [], [:])
        let keys = whole.entityMappings.flatMap { mapping in
            mapping.relationships.compactMap { model.key(of: $0.name, in: mapping.destination) }
        }
        linked = Set(keys)
    }

    /// Whether no table of the model stays.
    package var isEmpty: Bool { positions.isEmpty }

    /// Nil if no table can stay.
    init?(_ whole: ResolvedStep, source: StoreLayout, destination: StoreLayout) {
        let rules = RelationshipRules(whole, source: source, destination: destination)
        var (filled, linked) = (Self.filled(whole, source, destination), Set<PropertyKey>())
        var reasons: [String: String] = [:]
        while true {
            var part = Self(whole, rules, filled: filled, linked: linked)
            part.reasons = reasons
            guard !part.positions.isEmpty else { return nil }
            let obstacles = InPlaceBuilder(
                part.step, source: source, schema: InPlaceSchema(of: source), destination: destination,
                keptPart: part, rebuilds: false
            ).obstacles
            guard !obstacles.isEmpty else {
                self = part
                return
            }
            let count = filled.count + linked.count
            for obstacle in obstacles {
                switch obstacle.place {
                case .rows(let root): filled.insert(root)
                case .links(let relationship): linked.insert(relationship)
                }
                if let table = obstacle.table { reasons[table] = reasons[table] ?? obstacle.reason }
            }
            // Each turn fills or links more; without that, it would be the last one's again.
            guard filled.count + linked.count > count else { return nil }
        }
    }

    private init(
        _ whole: ResolvedStep, _ rules: RelationshipRules, filled: Set<String>, linked more: Set<PropertyKey>
    ) {
        let model = rules.destination.model
        self.whole = whole
        let kept = whole.entityMappings.filter { !filled.contains(model.root(of: $0.destination)) }
        positions = Set(kept.map(\.position))
        let keptRoots = Set(kept.map { model.root(of: $0.destination) })
        roots = keptRoots
        let names = Set(kept.map(\.name))
        var linked: Set<PropertyKey> = []
        for (key, contributions) in rules.byRelationship {
            let staysInRows = contributions.allSatisfy {
                names.contains($0.mapping.name) && $0.origin != nil && names.isSuperset(of: $0.rule.mappings)
            }
            guard let relationship = model.relationship(key.property, of: key.entity) else { continue }
            let needsNoPhase =
                !whole.hasPolicies || Self.isWrittenWithRows(relationship, key, contributions, rules)
            // A join table has the name of one side; the rules may be those of the other.
            let keys = [key] + [model.inverseKey(of: relationship)].compactMap { $0 }
            if !staysInRows || !needsNoPhase || keys.contains(where: more.contains) { linked.formUnion(keys) }
        }
        // A policy may relate any objects: the engine gathers the links of each many-to-many before it writes them.
        for table in whole.hasPolicies ? rules.destination.joinTables : [] {
            linked.insert(table.relationship)
            let relationship = model.relationship(table.relationship.property, of: table.relationship.entity)
            relationship.flatMap(model.inverseKey).map { _ = linked.insert($0) }
        }
        self.linked = linked
        let filledTables = Set(
            rules.destination.tablesInOrder.filter { !keptRoots.contains($0.root) }.map(\.name)
                + rules.destination.joinTables.filter { linked.contains($0.relationship) }.map(\.name))
        var linkedColumns: [String: Set<String>] = [:]
        for key in linked {
            guard let storage = rules.destination.relationshipStorage[key], !filledTables.contains(storage.table) else {
                continue
            }
            linkedColumns[storage.table, default: []].formUnion(storage.columnNames)
        }
        (self.filledTables, self.linkedColumns) = (filledTables, linkedColumns)
        step = whole.with(
            kept.enumerated().map { place, mapping in
                let staying = mapping.relationships.filter { rule in
                    model.key(of: rule.name, in: mapping.destination).map(linked.contains) != true
                }
                return mapping.with(position: place, relationships: staying)
            })
    }

    /// The root entities of tables that need filling because of what makes their objects.
    private static func filled(
        _ step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> Set<String> {
        let byRoot = Dictionary(grouping: step.entityMappings) { destination.model.root(of: $0.destination) }
        var filled: Set<String> = []
        var taken: Set<String> = []
        // Of several tables that take over the same objects, the one of the same name continues the old one.
        let roots = byRoot.keys.inOrder { left, right in
            let (isLeft, isRight) = (source.tables[left] != nil, source.tables[right] != nil)
            return isLeft == isRight ? left < right : isLeft
        }
        for root in roots {
            let mappings = byRoot[root] ?? []
            let sources = Set(mappings.map(\.source))
            let isWhole = mappings.allSatisfy { $0.keepsEveryObject && $0.isOneToOne }
            // By its entity a row tells the mapping that has carried it: with policies, none is seen before its turn.
            let isTold = !step.hasPolicies || Set(mappings.map(\.destination)).count == mappings.count
            if isWhole, isTold, sources.count == mappings.count, sources.isDisjoint(with: taken),
                Set(sources.map { source.model.root(of: $0) }).count == 1
            {
                taken.formUnion(sources)
            } else {
                filled.insert(root)
            }
        }
        return filled
    }

    /// Whether a copy with policies writes a relationship's keys with the rows, and no statement after the policies
    /// sets the other side, or what rules of both sides leave.
    private static func isWrittenWithRows(
        _ relationship: Relationship, _ key: PropertyKey, _ contributions: [RelationshipContribution],
        _ rules: RelationshipRules
    ) -> Bool {
        let layout = rules.destination
        guard case .foreignKey? = layout.relationshipStorage[key],
            contributions.allSatisfy({ $0.origin?.relationship.isToMany == false })
        else { return false }
        guard let inverse = layout.model.inverseKey(of: relationship) else { return true }
        guard case .inverseForeignKey? = layout.relationshipStorage[inverse] else { return false }
        return rules.byKey[inverse] == nil
    }

    /// The source's columns of a key that the engine links anew, which stay in the table, empty; nil for a new key, or for
    /// one that the engine does not link.
    func emptiedKey(
        _ key: PropertyKey, _ column: String, of mapping: ResolvedEntityMapping, in source: StoreLayout
    ) -> (column: String, entityColumn: String?, orderColumn: String?)? {
        guard let table = source.table(of: mapping.source)?.name else { return nil }
        let named = source.relationshipStorage(of: mapping.source).first { _, storage in
            if case .foreignKey(table, column, _, _) = storage { true } else { false }
        }
        let rule = whole.entityMapping(named: mapping.name)?.relationships.first { $0.name == key.property }
        let origin = rule?.sourceRelationship.flatMap { source.storage(of: $0, in: mapping.source) }
        guard case .foreignKey(table, let old, let entityColumn, let orderColumn)? = origin ?? named?.1 else {
            return nil
        }
        return (old, entityColumn, orderColumn)
    }

    /// Whether an index is made after the engine has filled its table, or a column of it.
    ///
    /// With policies also each unique index: a policy may give two objects one value for a while.
    func fills(_ index: IndexDefinition) -> Bool {
        isEmpty || filledTables.contains(index.table) || (whole.hasPolicies && index.isUnique)
            || linkedColumns[index.table].map { IndexMoves.names($0, in: index) } ?? false
    }
}

extension StepPlan {
    /// Whether the destination begins as the source, so that tables stay or are altered.
    package var keepsTables: Bool { mode == .inPlace || keptPart != nil }
}
