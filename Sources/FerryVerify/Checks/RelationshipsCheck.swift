internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every stored relationship has the pairs and positions that the rules yield, and no others.
struct RelationshipsCheck: Check {
    static let name = "relationships"
    static let isQuick = false
    static let scope = CheckScope.migration

    /// Merges carried links with the source's; ``RowKeys`` compares foreign keys with their rows.
    ///
    /// If these find a difference, and for all other relations, ``finish(_:in:)`` yields every pair by the rules.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let key = context.progress.hashKey()
        let readings = try context.indexReadings.get()
        return try context.relationForms.get().carried.flatMap { links in
            let index = readings.index(of: links)
            return try links.parts(in: context).map { name, range in
                CheckPart(name: name, subject: links.relation.key.property) { context, outcome in
                    let merge = try LinkMerge(links, range, reading: index, key: key, in: context)
                    outcome.isShown = try merge.isRight()
                    guard let found = merge.entries.map(IndexReadings.Found.init) else { return }
                    (outcome.sums, outcome.misplaced, outcome.leads) = ([found.sum], found.misplaced, found.leads)
                }
            }
        }
    }

    /// Mappings whose new objects are compared in parts, which record no associations, although relations need them.
    private func notAssociated(in context: VerificationContext) throws -> [ResolvedEntityMapping] {
        let needed = try context.relationForms.get().associated
        return try context.step.entityMappings.filter { mapping in
            guard needed.contains(mapping.position) else { return false }
            let root = context.destinationModel.root(of: mapping.destination)
            return try NewRows(root, in: context)?.rows(context.progress.state.outcomes) != nil
        }
    }

    func hasWorkBeside(in context: VerificationContext) throws -> Bool { try !notAssociated(in: context).isEmpty }

    /// Merges the associations of new objects with their links, as soon as all are known.
    func runBeside(in context: VerificationContext) throws {
        for mapping in try notAssociated(in: context) { try NewRows.associate(mapping, in: context) }
        let forms = try context.relationForms.get()
        for relation in forms.relations where !relation.isMadeByPolicies(in: context) {
            guard case .other = forms.form(of: relation) else { continue }
            _ = try AssociatedRelation(relation, in: context)?.isShown()
        }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let related = RelatedObjects(context, through: SourceObjects(context))
        let forms = try context.relationForms.get()
        let relations = forms.relations
        try context.progress.once("relationships of policies", in: context) {
            for relation in relations where relation.isMadeByPolicies(in: context) {
                context.report.notRecomputed += try relation.count(in: context)
            }
        }
        let known = relations.filter { !$0.isMadeByPolicies(in: context) }
        let expected = try known.enumerated().filter { _, relation in
            switch forms.form(of: relation) {
            case .carried(let links): return try !links.isShown(in: context)
            case .other: return try AssociatedRelation(relation, in: context)?.isShown() != true
            case .paired(let links): guard try links.isShown(in: context) else { return true }
            case .ruled: break
            }
            // RowKeys compared the keys; only positions remain.
            if relation.links.aOrder != nil || relation.links.bOrder != nil {
                let keys = try DirectKeys(relation, in: context)
                try context.progress.once("positions \(relation.key.title)", in: context) {
                    try keys.checkPositions()
                }
            }
            return false
        }.map { number, relation in
            for mapping in relation.associatedMappings(in: context) { try NewRows.associate(mapping, in: context) }
            return DirectKeys.suffice(for: relation, in: context)
                ? try DirectKeys(relation, in: context) as any ExpectedRelation
                : try RelationPairs(relation, number: number, in: context)
        }
        // One walk over each mapping's objects serves all their relationships.
        for mapping in context.step.entityMappings {
            let rules = expected.flatMap { relation in
                relation.relation.rules.filter { $0.mapping.position == mapping.position }.map { (relation, $0) }
            }
            if rules.isEmpty { continue }
            try context.announce(mapping.name)
            try context.pausing("relationships of \(mapping.position)") {
                try related.eachObject(of: mapping) { key, scope in
                    for (relation, rule) in rules { try relation.add(key, by: rule, in: scope, related) }
                }
            }
        }
        for relation in expected {
            try context.announce(relation.relation.key.property)
            try context.progress.once("relationship \(relation.relation.key.title)", in: context) {
                try relation.compare()
                try relation.checkPositions()
            }
        }
    }
}

extension StoredRelation {
    /// Whether migration policies decided on the relationship, so that no rule yields its pairs.
    fileprivate func isMadeByPolicies(in context: VerificationContext) -> Bool {
        guard context.step.hasPolicies else { return false }
        let policies = context.verification.policies
        // The associations of such a mapping's objects are known only to its policy.
        func isUnknown(_ mapping: ResolvedEntityMapping) -> Bool {
            mapping.policy != nil && !policies.implied.contains(mapping.position)
        }
        return policies.isTouched(key.property, of: key.entity)
            || rules.contains { rule in
                isUnknown(rule.mapping)
                    || rule.relationship.mappings.contains { name in
                        context.mapping(named: name).map(isUnknown) ?? false
                    }
            }
    }

    fileprivate func count(in context: VerificationContext) throws -> Int64 {
        let column = links.areInRowsOfA ? links.b : links.a
        return try context.connection.integer("SELECT count(\(column)) FROM destination.\(links.table)") ?? 0
    }
}
