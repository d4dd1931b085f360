internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Every stored relationship has the pairs and positions that the rules yield, and no others.
struct RelationshipsCheck: Check {
    static let name = "relationships"
    static let isQuick = false
    static let scope = CheckScope.migration

    /// Compares the sums of carried join tables, and sums up the stored links of new objects; ``RowKeys`` compares foreign
    /// keys with their rows.
    ///
    /// If these find a difference, and for all other relations, the rules yield every pair.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let forms = try context.relationForms.get()
        return try forms.relations.flatMap { known -> [CheckPart] in
            let subject = known.relation.key.property
            switch known.form {
            case .carried(let links):
                return try links.parts(in: context).map { name, range in
                    CheckPart(name: name, subject: subject) { context, outcome in
                        outcome.isShown = try links.areSame(in: range, context)
                    }
                }
            case .made(let links):
                return [
                    CheckPart(name: Self.partName(links), subject: subject) { context, outcome in
                        outcome.sums = try known.relation.storedSum(in: context).map { [$0] }
                    }
                ]
            case .ruled, .other: return []
            }
        }
    }

    private static func partName(_ links: MadeLinks) -> String { "links:\(links.name)" }

    /// Relations that the walkers do not compare, by the stage from which on the associations that they need can be
    /// recorded.
    private func others(_ stage: PartsStage, in context: VerificationContext) throws -> [RelationForms.Known] {
        if context.step.hasPolicies { return [] }
        return try context.relationForms.get().relations.filter { known in
            guard case .other = known.form else { return false }
            let isLater = known.relation.associatedMappings(in: context).contains { mapping in
                NewRows(context.destinationModel.root(of: mapping.destination), in: context) != nil
            }
            return isLater == (stage == .later)
        }
    }

    /// Compares the relations that the walkers do not.
    func workBeside(_ parts: PartsStage, in context: VerificationContext) throws -> (() throws -> Void)? {
        let others = try others(parts, in: context)
        if others.isEmpty { return nil }
        return { try compare(try others.map { try RelationPairs($0, in: context) }, "\(parts)", in: context) }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let forms = try context.relationForms.get()
        try context.progress.once("relationships of policies", in: context) {
            for known in forms.relations where known.relation.isMadeByPolicies(in: context) {
                context.report.notRecomputed += try known.relation.links.count(in: "destination", context.connection)
            }
        }
        var rest: [RelationPairs] = []
        for known in forms.relations
        where !known.relation.isMadeByPolicies(in: context)
            && !context.progress.state.done.contains(Self.unit(known.relation))
        {
            switch known.form {
            case .carried(let links) where try links.isShown(in: context): break
            case .made(let links) where Self.isShown(links, in: context): break
            case .ruled where known.relation.isShownByRows(in: context):
                let pairs = try RelationPairs(known, in: context)
                try context.progress.once("positions \(known.relation.key.title)", in: context) {
                    try pairs.checkPositions()
                }
            case .carried, .ruled, .made, .other: rest.append(try RelationPairs(known, in: context))
            }
        }
        try compare(rest, "last", in: context)
    }

    /// Whether the links that the walks over new objects have summed up are those that are stored.
    private static func isShown(_ links: MadeLinks, in context: VerificationContext) -> Bool {
        let state = context.progress.state
        var sum = EntrySum()
        for outcome in state.outcomes.values { sum.add(outcome.links?[links.name] ?? EntrySum()) }
        return state.outcomes[partName(links)]?.sums == [sum]
    }

    private static func unit(_ relation: StoredRelation) -> String { "relationship \(relation.key.title)" }

    /// Compares the sums of the pairs that the rules yield; where these differ, searches for the places.
    private func compare(_ relations: [RelationPairs], _ name: String, in context: VerificationContext) throws {
        let mappings = relations.flatMap { $0.relation.associatedMappings(in: context) }
        for mapping in Dictionary(first: mappings.map { ($0.position, $0) }).sorted(by: { $0.key < $1.key }) {
            try NewRows.associate(mapping.value, in: context)
        }
        context.pairs = relations
        defer { context.pairs = [] }
        try gather(relations, name, in: context)
        let differing = try relations.filter { relation in
            try context.announce(relation.relation.key.property)
            return try !relation.areStored()
        }
        let unwritten = differing.filter { !$0.isWritten }
        for relation in unwritten { try relation.write() }
        try gather(unwritten, "\(name) written", in: context)
        for relation in relations {
            try context.announce(relation.relation.key.property)
            try context.progress.once(Self.unit(relation.relation), in: context) {
                if differing.contains(where: { $0 === relation }) { try relation.compare() }
                try relation.checkPositions()
            }
        }
    }

    /// Adds the pairs of relations: one walk over each mapping's objects serves all their relationships.
    private func gather(_ relations: [RelationPairs], _ name: String, in context: VerificationContext) throws {
        for mapping in context.step.entityMappings {
            // Of its own, so that it reads all links in the order of the mapping's objects.
            let related = RelatedObjects(context, through: SourceObjects(context))
            let rules = relations.flatMap { relation in
                relation.relation.rules.filter { $0.mapping.position == mapping.position }.map {
                    (relation, RelatedObjects.Rule($0, in: context))
                }
            }
            if rules.isEmpty { continue }
            try context.announce(mapping.name)
            for (part, range) in try NewRows.ranges(of: mapping, in: context) {
                try context.progress.once("\(name) relationships of \(part)", in: context) {
                    try related.eachObject(of: mapping, in: range) { key, scope in
                        for (relation, rule) in rules { try relation.add(key, by: rule, in: scope, related) }
                    }
                }
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
}
