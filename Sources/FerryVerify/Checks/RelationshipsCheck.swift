internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
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

/// The positions in one ordered relationship: strictly increasing in the expected order; 2048, then 1024 more for each,
/// where a mapping relates objects by a rule of its own or the source lacked some; else the source's own.
struct OrderKeys {
    enum Side { case a, b }

    private let expected: any ExpectedRelation
    private let context: VerificationContext

    init(_ expected: any ExpectedRelation, in context: VerificationContext) {
        self.expected = expected
        self.context = context
    }

    private var relation: StoredRelation { expected.relation }

    func check() throws {
        switch relation.storage {
        case .foreignKey(let table, let column, let orderColumn?):
            try check(
                of: .b, table: table, owner: column, member: "Z_PK", order: orderColumn,
                condition: " AND j.\(column) IS NOT NULL")
        case .join(let table, let a, let b, let aOrder, let bOrder, false):
            if let bOrder { try check(of: .a, table: table, owner: a, member: b, order: bOrder, condition: "") }
            if let aOrder { try check(of: .b, table: table, owner: b, member: a, order: aOrder, condition: "") }
        case .foreignKey, .oneToOne, .join: break
        }
    }

    private func check(
        of side: Side, table: String, owner: String, member: String, order: String, condition: String
    ) throws {
        let place = try expectedPlace(of: side)
        let statement = try context.connection.prepare(
            """
            SELECT p.owner, p.member, p.place, j.\(order) FROM (\(place)) AS p
            JOIN destination.\(table) AS j ON j.\(member) = p.member AND j.\(owner) = p.owner\(condition)
            ORDER BY p.owner, p.place, p.member
            """)
        let isCarried = carriedOrder(of: side) != nil
        let isCarriedInPlace = context.verification.isInPlace && isCarried
        // Beside policies all that is related counts, not only what was.
        let isCopied = isCarried && !context.step.hasPolicies
        let isExact = relation.rules.allSatisfy { !$0.relationship.isAutomatic }
        var previous: (owner: Int64, place: Int64, order: Int64, index: Int64)?
        while try statement.step() {
            let (key, place) = (statement.integer(0), statement.integer(2))
            let actual = statement.integer(3)
            var index: Int64 = 0
            var isRight = !statement.isNull(3)
            if let before = previous, before.owner == key {
                index = before.index + 1
                // Objects that the source puts in one place may stand in any order.
                isRight = isRight && (before.place == place || before.order < actual)
            }
            let isNew = actual == 2048 + 1024 * index
            if isExact { isRight = isRight && isNew }
            if isCopied { isRight = isRight && (isNew || !statement.isNull(2) && place == actual) }
            // In place a position stays what it was, were it none.
            if isCarriedInPlace, statement.isNull(2) == statement.isNull(3), place == actual { isRight = true }
            if !isRight {
                context.report(
                    RelationshipsCheck.self, entity: relation.key.entity,
                    example: "\(table) \(member) \(statement.integer(1)) \(order)")
            }
            previous = (key, place, actual, index)
            try context.advance(table, done: 0, total: nil)
        }
    }

    /// SQL of `owner`, `member` and a number by which the members of an owner are in their expected order.
    private func expectedPlace(of side: Side) throws -> String {
        if let source = carriedOrder(of: side) { return source }
        // Known from the side's own rules, else in the order in which the objects were made.
        return expected.inOrder(of: side)
    }

    /// The source's own positions, where the relationship is carried over with the keys of both sides.
    private func carriedOrder(of side: Side) -> String? {
        guard let rule = relation.rules.first, relation.rules.allSatisfy({ isCarried($0) }),
            let storage = context.source.storage(
                of: rule.relationship.sourceRelationship ?? rule.relationship.name, in: rule.mapping.source)
        else { return nil }
        // Seen from the objects whose members are ordered, that is from `side`.
        let isOwnSide = rule.isInverse == (side == .b)
        switch storage {
        case .foreignKey(let table, let column, _, let order?) where !isOwnSide:
            return "SELECT \(column) AS owner, Z_PK AS member, \(order) AS place FROM source.\(table)"
        case .inverseForeignKey(let table, let column, _, let order?) where isOwnSide:
            return "SELECT \(column) AS owner, Z_PK AS member, \(order) AS place FROM source.\(table)"
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            let (owner, member, order) = isOwnSide ? (own, other, otherOrder) : (other, own, ownOrder)
            guard let order else { return nil }
            return "SELECT \(owner) AS owner, \(member) AS member, \(order) AS place FROM source.\(table)"
        default: return nil
        }
    }

    private func isCarried(_ rule: StoredRelation.Rule) -> Bool {
        rule.relationship.isAutomatic && rule.mapping.keepsPrimaryKey
            && rule.relationship.mappings.allSatisfy { context.step.entityMapping(named: $0)?.keepsPrimaryKey ?? false }
    }
}

/// Which stored relations migration policies decided over, so that no rule tells what should be there.
struct PolicyRelations {
    private let context: VerificationContext

    init(_ context: VerificationContext) { self.context = context }

    /// The relations that policies made, and those that follow from the rules.
    func split(_ relations: [StoredRelation]) -> (made: [StoredRelation], known: [StoredRelation]) {
        (relations.filter(isMade), relations.filter { !isMade($0) })
    }

    private func isMade(_ relation: StoredRelation) -> Bool {
        guard context.step.hasPolicies else { return false }
        if context.verification.policies.isTouched(relation.key.property, of: relation.key.entity) { return true }
        return relation.rules.contains { rule in
            isUnknown(rule.mapping)
                || rule.relationship.mappings.contains { name in
                    context.step.entityMapping(named: name).map(isUnknown) ?? false
                }
        }
    }

    /// Whether a policy alone decided which objects the mapping made of which.
    private func isUnknown(_ mapping: ResolvedEntityMapping) -> Bool {
        mapping.policy != nil && !context.verification.policies.implied.contains(mapping.position)
    }

    /// How many links a relation has.
    static func count(of relation: StoredRelation, in context: VerificationContext) throws -> Int64 {
        let (table, column): (String, String) =
            switch relation.storage {
            case .foreignKey(let table, let column, _), .oneToOne(let table, let column, _, _): (table, column)
            case .join(let table, let a, _, _, _, _): (table, a)
            }
        return try context.connection.integer("SELECT count(\(column)) FROM destination.\(table)") ?? 0
    }
}
