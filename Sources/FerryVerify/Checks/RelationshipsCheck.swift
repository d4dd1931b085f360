internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Every stored relationship has the pairs and positions that the rules yield, and no others.
struct RelationshipsCheck: Check {
    static let name = "relationships"
    static let isQuick = false
    static let scope = CheckScope.migration

    /// Compares the sums of carried join tables; ``RowKeys`` compares foreign keys with their rows.
    ///
    /// If these find a difference, and for all other relations, the rules yield every pair.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        try context.relationForms.get().carried.flatMap { links in
            try links.parts(in: context).map { name, range in
                CheckPart(name: name, subject: links.relation.key.property) { context, outcome in
                    outcome.isShown = try links.areSame(in: range, context)
                }
            }
        }
    }

    /// Relations with the numbers of their tables, but those of policies.
    private func known(in context: VerificationContext) throws -> [(number: Int, relation: StoredRelation)] {
        try context.relationForms.get().relations.enumerated().filter { _, relation in
            if relation.isMadeByPolicies(in: context) { return false }
            // Elsewhere the form of the relation says so.
            guard context.step.hasPolicies else { return true }
            return CarriedRelation(relation, in: context, besidePolicies: true)?.areKept(in: context) != true
        }.map { ($0.offset, $0.element) }
    }

    /// Relations that the walkers do not compare.
    private func others(in context: VerificationContext) throws -> [(number: Int, relation: StoredRelation)] {
        let forms = try context.relationForms.get()
        return try known(in: context).filter {
            if case .other = forms.form(of: $0.relation) { true } else { false }
        }
    }

    func hasWorkBeside(_ parts: PartsStage, in context: VerificationContext) throws -> Bool {
        try parts == .first && !context.step.hasPolicies && !others(in: context).isEmpty
    }

    /// Compares the relations that the walkers do not, unless keys overflow.
    func runBeside(_ parts: PartsStage, in context: VerificationContext) throws {
        if parts == .later || context.step.hasPolicies { return }
        let others = try others(in: context)
        let needed = Dictionary(grouping: others.flatMap { $0.relation.associatedMappings(in: context) }) {
            context.destinationModel.root(of: $0.destination)
        }
        for root in needed.keys.inOrder(by: codeUnitOrder) {
            try NewRows(root, in: context)?.associate(needed[root] ?? [])
        }
        // A walk of the rows has recorded those of other root tables.
        let comparable = others.filter { _, relation in
            relation.associatedMappings(in: context).allSatisfy { mapping in
                NewRows(context.destinationModel.root(of: mapping.destination), in: context) == nil
                    || NewRows.areAssociated(mapping, in: context)
            }
        }
        try compare(
            try comparable.map { try RelationPairs($0.relation, number: $0.number, in: context) }, "first", in: context)
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let forms = try context.relationForms.get()
        try context.progress.once("relationships of policies", in: context) {
            for relation in forms.relations where relation.isMadeByPolicies(in: context) {
                context.report.notRecomputed += try relation.links.count(in: "destination", context.connection)
            }
        }
        var rest: [RelationPairs] = []
        for (number, relation) in try known(in: context)
        where !context.progress.state.done.contains(Self.unit(relation)) {
            let isShown =
                switch forms.form(of: relation) {
                case .carried(let links): try links.isShown(in: context)
                case .ruled: true
                case .other: false
                }
            if isShown {
                // Positions of carried links were compared with them.
                if case .carried = forms.form(of: relation) { continue }
                let pairs = try RelationPairs(relation, number: number, inKeyOrder: true, in: context)
                try context.progress.once("positions \(relation.key.title)", in: context) {
                    try pairs.checkPositions()
                }
            } else {
                rest.append(try RelationPairs(relation, number: number, in: context))
            }
        }
        try compare(rest, "last", in: context)
    }

    private static func unit(_ relation: StoredRelation) -> String { "relationship \(relation.key.title)" }

    /// Compares the sums of the pairs that the rules yield; where these differ, searches for the places.
    private func compare(_ relations: [RelationPairs], _ name: String, in context: VerificationContext) throws {
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
        let related = RelatedObjects(context, through: SourceObjects(context))
        for mapping in context.step.entityMappings {
            let rules = try relations.flatMap { relation in
                let own = relation.relation.rules.filter { $0.mapping.position == mapping.position }
                if try own.isEmpty || relation.addAll(of: mapping) { return [(RelationPairs, RelationRule)]() }
                return own.map { (relation, RelationRule($0, finding: related.rule($0.relationship))) }
            }
            if rules.isEmpty { continue }
            try context.announce(mapping.name)
            try context.pausing("\(name) relationships of \(mapping.position)") {
                try related.eachObject(of: mapping) { key, scope in
                    for (relation, rule) in rules { try relation.add(key, by: rule, in: scope, related) }
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
                        context.mapping(named: name).map(isUnknown) ?? false
                    }
            }
    }
}
