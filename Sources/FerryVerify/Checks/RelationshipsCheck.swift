internal import FerryBase
internal import FerryMapping
internal import FerryModel
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
            return try NewRows(root, in: context)?.rows() != nil
        }
    }

    /// Relations that the walkers do not compare, with the mappings of whose new objects they need the associations.
    private func others(
        in context: VerificationContext
    ) throws -> [(number: Int, relation: StoredRelation, needed: [ResolvedEntityMapping])] {
        let forms = try context.relationForms.get()
        return known(in: forms, context).enumerated().compactMap { number, relation in
            guard case .other = forms.form(of: relation) else { return nil }
            return (number, relation, relation.associatedMappings(in: context))
        }
    }

    private func known(in forms: RelationForms, _ context: VerificationContext) -> [StoredRelation] {
        forms.relations.filter { relation in
            if relation.isMadeByPolicies(in: context) { return false }
            // Elsewhere the form of the relation says so.
            guard context.step.hasPolicies else { return true }
            return CarriedRelation(relation, in: context, besidePolicies: true)?.areKept(in: context) != true
        }
    }

    func hasWorkBeside(_ parts: PartsStage, in context: VerificationContext) throws -> Bool {
        switch parts {
        case .first: try !context.step.hasPolicies && !others(in: context).isEmpty
        case .later: try !notAssociated(in: context).isEmpty
        }
    }

    func runBeside(_ parts: PartsStage, in context: VerificationContext) throws {
        switch parts {
        case .first: try compareOthers(in: context)
        case .later:
            // Merges the associations of new objects with their links, as soon as all are known.
            for mapping in try notAssociated(in: context) { try NewRows.associate(mapping, in: context) }
            for (_, relation, _) in try others(in: context) {
                _ = try AssociatedRelation(relation, in: context)?.isShown()
            }
        }
    }

    /// Compares all relations that the walkers do not, unless keys overflow.
    private func compareOthers(in context: VerificationContext) throws {
        if context.step.hasPolicies { return }
        let others = try others(in: context)
        let needed = Dictionary(grouping: others.flatMap(\.needed)) {
            context.destinationModel.root(of: $0.destination)
        }
        for root in needed.keys.inOrder(by: codeUnitOrder) {
            try NewRows(root, in: context)?.associate(needed[root] ?? [])
        }
        // A walk of the rows has recorded those of other root tables.
        let comparable = try others.filter { _, relation, mappings in
            let areKnown = mappings.allSatisfy { mapping in
                NewRows(context.destinationModel.root(of: mapping.destination), in: context) == nil
                    || NewRows.areAssociated(mapping, in: context)
            }
            return try areKnown && AssociatedRelation(relation, in: context)?.isShown() != true
        }
        try compare(
            try comparable.map { number, relation, _ in try expected(relation, number: number, in: context) },
            "first", in: context)
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let forms = try context.relationForms.get()
        try context.progress.once("relationships of policies", in: context) {
            for relation in forms.relations where relation.isMadeByPolicies(in: context) {
                context.report.notRecomputed += try relation.links.count(in: "destination", context.connection)
            }
        }
        let expected = try known(in: forms, context).enumerated().filter { _, relation in
            if context.progress.state.done.contains(Self.unit(relation)) { return false }
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
            return try self.expected(relation, number: number, in: context)
        }
        try compare(expected, "last", in: context)
    }

    private static func unit(_ relation: StoredRelation) -> String { "relationship \(relation.key.title)" }

    private func expected(
        _ relation: StoredRelation, number: Int, in context: VerificationContext
    ) throws -> any ExpectedRelation {
        DirectKeys.suffice(for: relation, in: context)
            ? try DirectKeys(relation, in: context) : try RelationPairs(relation, number: number, in: context)
    }

    /// Gathers the pairs of relations by their rules, and compares them.
    private func compare(
        _ expected: [any ExpectedRelation], _ name: String, in context: VerificationContext
    ) throws {
        let related = RelatedObjects(context, through: SourceObjects(context))
        // One walk over each mapping's objects serves all their relationships.
        for mapping in context.step.entityMappings {
            let gathered = try expected.filter { relation in
                let hasRules = relation.relation.rules.contains { $0.mapping.position == mapping.position }
                return try hasRules && !relation.addAll(of: mapping)
            }
            let rules = gathered.flatMap { relation in
                relation.relation.rules.filter { $0.mapping.position == mapping.position }.map {
                    (relation, RelationRule($0, finding: related.rule($0.relationship)))
                }
            }
            if rules.isEmpty { continue }
            try context.announce(mapping.name)
            try context.pausing("\(name) relationships of \(mapping.position)") {
                try related.eachObject(of: mapping) { key, scope in
                    for (relation, rule) in rules { try relation.add(key, by: rule, in: scope, related) }
                }
            }
        }
        for relation in expected {
            try context.announce(relation.relation.key.property)
            try context.progress.once(Self.unit(relation.relation), in: context) {
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
}
