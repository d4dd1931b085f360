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
        return try context.relations.get().compactMap { CarriedRelation($0, in: context) }.flatMap { links in
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

    /// Merges the associations of new objects with their links, as soon as all are known.
    func runBeside(in context: VerificationContext) throws {
        for relation in try context.relations.get()
        where !relation.isMadeByPolicies(in: context) && CarriedRelation(relation, in: context) == nil {
            _ = try AssociatedRelation(relation, in: context)?.isShown()
        }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let related = RelatedObjects(context, through: SourceObjects(context))
        let relations = try context.relations.get()
        try context.progress.once("relationships of policies", in: context) {
            for relation in relations where relation.isMadeByPolicies(in: context) {
                context.report.notRecomputed += try relation.count(in: context)
            }
        }
        let known = relations.filter { !$0.isMadeByPolicies(in: context) }
        let expected = try known.enumerated().filter {
            try CarriedRelation($0.element, in: context)?.isShown(in: context) != true
                && AssociatedRelation($0.element, in: context)?.isShown() != true
        }.filter {
            guard case .ruled? = KeysOfRows($0.element, in: context) else { return true }
            // RowKeys compared the keys; only positions remain.
            let keys = try DirectKeys($0.element, in: context)
            try context.progress.once("positions \($0.element.key.title)", in: context) {
                try keys.checkPositions()
            }
            return false
        }.map { number, relation in
            DirectKeys.suffice(for: relation, in: context)
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
                        context.step.entityMapping(named: name).map(isUnknown) ?? false
                    }
            }
    }

    fileprivate func count(in context: VerificationContext) throws -> Int64 {
        let column = links.areInRowsOfA ? links.b : links.a
        return try context.connection.integer("SELECT count(\(column)) FROM destination.\(links.table)") ?? 0
    }
}
