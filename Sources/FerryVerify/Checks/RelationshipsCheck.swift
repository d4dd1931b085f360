internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Every stored relationship against what the rules yield: pairs that are missing, wrong or too many, and positions.
struct RelationshipsCheck: Check {
    static let name = "relationships"
    static let isQuick = false
    static let scope = CheckScope.migration

    /// Links that are carried over are merged with the source's, foreign keys with the rows that hold them (``RowKeys``);
    /// only where that does not come out even, and for all other relations, ``finish(_:in:)`` yields every pair by the
    /// rules.
    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let key = context.progress.hashKey()
        let readings = try context.indexReadings()
        return try context.relations().compactMap { CarriedRelation($0, in: context) }.flatMap { links in
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

    /// What was found of new objects is merged with their links as soon as it is known.
    func runBeside(in context: VerificationContext) throws {
        for relation in PolicyRelations(context).split(try context.relations()).known
        where CarriedRelation(relation, in: context) == nil {
            _ = try AssociatedRelation(relation, in: context)?.isShown()
        }
    }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let related = RelatedObjects(context)
        let (made, known) = PolicyRelations(context).split(try context.relations())
        try context.progress.once("relationships of policies", in: context) {
            for relation in made {
                context.report.notRecomputed += try PolicyRelations.count(of: relation, in: context)
            }
        }
        let relations = try known.enumerated().filter {
            try CarriedRelation($0.element, in: context)?.isShown(in: context) != true
                && AssociatedRelation($0.element, in: context)?.isShown() != true
        }.filter {
            guard case .ruled? = KeysOfRows($0.element, in: context) else { return true }
            // Compared with the rows; only positions are left.
            let positions = try OrderKeys(DirectKeys($0.element, in: context), in: context)
            try context.progress.once("positions \($0.element.key.entity).\($0.element.key.property)", in: context) {
                try positions.check()
            }
            return false
        }.map { number, relation in
            DirectKeys.suffice(for: relation, in: context)
                ? try DirectKeys(relation, in: context) as any ExpectedRelation
                : try RelationPairs(relation, number: number, in: context)
        }
        // Each mapping's objects are walked once, for all its relationships together.
        for mapping in context.step.entityMappings {
            let rules = relations.flatMap { relation in
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
        for relation in relations {
            try context.announce(relation.relation.key.property)
            let name = "\(relation.relation.key.entity).\(relation.relation.key.property)"
            try context.progress.once("relationship \(name)", in: context) {
                try relation.compare()
                try OrderKeys(relation, in: context).check()
            }
        }
    }
}

/// What the rules of one stored relation yield, gathered object by object.
protocol ExpectedRelation {
    var relation: StoredRelation { get }
    /// Takes what a rule yields for one object; an object that was merged comes once for each source object.
    func add(_ key: Int64, by rule: StoredRelation.Rule, in scope: PlainScope, _ related: RelatedObjects) throws
    /// Reports where the destination differs from what was gathered.
    func compare() throws
    /// SQL of `owner`, `member` and `place`: the pairs seen from one side, and a number by which its members are in
    /// their order.
    func inOrder(of side: OrderKeys.Side) -> String
}
