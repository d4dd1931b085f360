internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relation between objects that keep their keys: its links are those in one table of the source, or those of a
/// one-to-one in the rows of both sides.
///
/// New objects in the same tables have none.
struct CarriedRelation: Sendable {
    let relation: StoredRelation
    /// The links of the source, seen from `a`.
    private let form: LinkForm
    let a: String
    let b: String

    /// Nil with policies, links of objects with new keys, rules of a mapping, or rules of only some of the mappings.
    init?(_ relation: StoredRelation, of forms: [PropertyKey: LinkForm], in context: VerificationContext) {
        let model = context.destinationModel
        guard !context.step.hasPolicies, !relation.isReflexive,
            let declared = model.relationship(relation.key.property, of: relation.key.entity),
            let form = Self.form(of: relation.rules, forms, in: context)
        else { return nil }
        (a, b) = (relation.key.entity, declared.destinationEntity)
        (self.relation, self.form) = (relation, form)
        // The other side declares a relationship without inverse.
        let isDeclaredByB = [(context.destination, relation.key), (context.source, form.key)].contains { layout, key in
            if case .inverseless? = layout.relationshipStorage[key] { true } else { false }
        }
        // Each side of a one-to-one holds keys of its own.
        let haveInverse = relation.rules.contains(where: \.isInverse)
        let areOfOneForm =
            relation.form.other == nil
            ? form.other == nil || !haveInverse
            : form.other != nil && haveInverse && relation.rules.contains { !$0.isInverse }
        // A position that the destination requires must be stored in the source too.
        guard !isDeclaredByB, areOfOneForm, !source.areInRowsOfB, source.areInRowsOfA == destination.areInRowsOfA,
            destination.aOrder == nil || source.aOrder != nil, destination.bOrder == nil || source.bOrder != nil
        else { return nil }
        let roots = [a, b].map { context.sourceRoot(into: model.root(of: $0)) }
        guard relation.rules.allSatisfy({ Self.leads($0, between: roots, in: context) }),
            isWhole(fromInverse: false, in: context) || isWhole(fromInverse: true, in: context)
        else { return nil }
    }

    /// Whether the source relationship of a rule relates objects of these root entities.
    private static func leads(
        _ rule: StoredRelation.Rule, between roots: [String?], in context: VerificationContext
    ) -> Bool {
        guard let name = rule.relationship.sourceRelationship,
            let relationship = context.sourceModel.relationship(name, of: rule.mapping.source)
        else { return false }
        let ends: [String?] = [rule.mapping.source, relationship.destinationEntity].map {
            context.sourceModel.root(of: $0)
        }
        return (rule.isInverse ? ends.reversed() : ends) == roots
    }

    /// The links of the source that all rules take unchanged, seen from `a`.
    private static func form(
        of rules: [StoredRelation.Rule], _ forms: [PropertyKey: LinkForm], in context: VerificationContext
    ) -> LinkForm? {
        let taken = rules.map { rule -> LinkForm? in
            guard rule.isCarried(in: context), let name = rule.relationship.sourceRelationship,
                let form = context.sourceModel.key(of: name, in: rule.mapping.source).flatMap({ forms[$0] })
            else { return nil }
            return rule.isInverse ? form.reversed : form
        }
        guard let first = taken.first, let first, taken.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// Whether the rules of one side alone take every link between carried objects.
    private func isWhole(fromInverse isInverse: Bool, in context: VerificationContext) -> Bool {
        func mappings(into entity: String) -> [ResolvedEntityMapping] {
            context.mappings(into: context.destinationModel.root(of: entity)).filter {
                $0.keepsPrimaryKey && context.destinationModel.isKind($0.destination, of: entity)
            }
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

    var destination: StoredLinks { relation.links }
    var source: StoredLinks { form.links }

    /// Foreign keys in the rows of one side, with the source's, and the entity of the objects to which they lead.
    struct Keys: Sendable {
        let destination: StoredLinks
        let source: StoredLinks
        let target: String
    }

    /// The keys that ``RowKeys`` compares: those of both sides of a one-to-one; none of a join table.
    var keys: [Keys] {
        guard destination.areInRowsOfA else { return [] }
        let own = Keys(destination: destination, source: source, target: b)
        guard let other = relation.form.other, let otherSource = form.other else { return [own] }
        return [own, Keys(destination: other, source: otherSource, target: a)]
    }

    var name: String { relation.key.title }

    /// Whether pages have shown all tables that hold the links.
    func areKept(in context: VerificationContext) -> Bool {
        ([destination.table] + [relation.form.other?.table].compactMap { $0 }).allSatisfy {
            KeptTables.hold($0, in: context)
        }
    }

    /// The parts that together show the whole relation, with the key range of `a` of each; none if the rows show it.
    func parts(in context: VerificationContext) throws -> [(name: String, range: KeyRange)] {
        if destination.areInRowsOfA || areKept(in: context) { return [] }
        return try KeyRange.parts(
            "links:\(name)", of: "destination." + context.destinationTable(of: a).name, on: context.connection)
    }

    /// Whether the links of a range of `a` in the join table are those of the source, positions included.
    ///
    /// The check of references completes the result: the links that are there lead to objects. A link of the source alone
    /// is right if one of its objects is missing, of which the rows' check knows.
    func areSame(in range: KeyRange, _ context: VerificationContext) throws -> Bool {
        let pairs = [(source.aOrder, destination.aOrder), (source.bOrder, destination.bOrder)].filter { $0.1 != nil }
        func sum(
            _ links: StoredLinks, _ orders: [String?], in schema: String, where conditions: [String] = []
        ) throws -> EntrySum {
            let all = ["\(links.a) IS NOT NULL", "\(links.b) IS NOT NULL", range.condition(on: links.a)] + conditions
            return try EntrySum(
                of: [links.a, links.b] + orders.compactMap { $0 },
                "FROM \(schema).\(links.table) AS l WHERE \(all.joined(separator: " AND "))",
                about: relation.key.property, in: context)
        }
        let stored = try sum(destination, pairs.map(\.1), in: "destination")
        if try sum(source, pairs.map(\.0), in: "source") == stored { return true }
        let exist = try [(a, source.a), (b, source.b)].map { try "EXISTS (\(Self.find($0, "l.\($1)", in: context)))" }
        return try sum(source, pairs.map(\.0), in: "source", where: exist) == stored
    }

    /// SQL that has a row if the destination has an object of an entity with a key.
    static func find(_ entity: String, _ key: String, in context: VerificationContext) throws -> String {
        """
        SELECT 1 FROM destination.\(try context.destinationTable(of: entity).name)
        WHERE Z_PK = \(key) AND Z_ENT IN (\(context.destinationNumbers(ofFamily: entity)))
        """
    }

    /// Whether all parts of the relation, or the rows with its foreign keys, showed no difference.
    func isShown(in context: VerificationContext) throws -> Bool {
        if areKept(in: context) { return true }
        let outcomes = context.progress.state.outcomes
        if destination.areInRowsOfA {
            return relation.haveSidesAgreed(in: context) && relation.isShownByRows(in: context)
        }
        return try parts(in: context).allSatisfy { outcomes[$0.name]?.isShown == true }
    }
}
