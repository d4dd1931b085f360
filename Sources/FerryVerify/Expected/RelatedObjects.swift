internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The related objects that the rules of relationships yield for each object of an entity mapping.
final class RelatedObjects {
    private let context: VerificationContext
    private let objects: SourceObjects
    private let evaluator: PlainEvaluator
    private var finders: [Int: Statement] = [:]

    /// A rule, with its entity mappings looked up once instead of object by object.
    final class Rule {
        let from: Expression
        let isToMany: Bool
        let isInverse: Bool
        let side: Int
        let targets: [ResolvedEntityMapping]
        /// The only target, if it carries every object over.
        fileprivate let whole: ResolvedEntityMapping?
        /// The variable, if the rule is nothing but a variable.
        fileprivate let variable: String?
        /// The relationship of `$source`, if the rule is nothing else: it needs no evaluator.
        fileprivate let relationship: String?

        init(_ stored: StoredRelation.Rule, in context: VerificationContext) {
            let rule = stored.relationship
            (isToMany, isInverse, side) = (stored.isToMany, stored.isInverse, stored.side)
            from = rule.from
            let targets = rule.mappings.compactMap { context.step.entityMapping(named: $0) }
            self.targets = targets
            whole = targets.first.flatMap { targets.count == 1 && $0.keepsPrimaryKey && $0.isWhole ? $0 : nil }
            variable = if case .variable(let name) = rule.from { name } else { nil }
            relationship = rule.from.fromSource.sourceKey.flatMap { name in
                context.sourceModel.relationship(name, of: stored.mapping.source) == nil ? nil : name
            }
        }

        /// Whether each object of a source entity is related to what became of itself, under its own key.
        func yieldsItself(of source: String) -> Bool { variable == "source" && whole?.source == source }
    }

    /// Reads the source by the objects of another walk, which may have a row open.
    init(_ context: VerificationContext, through objects: SourceObjects) {
        self.context = context
        self.objects = objects
        evaluator = PlainEvaluator(objects: objects, now: context.verification.now ?? 0)
    }

    /// Calls the body with each object of a mapping from a range of source objects, in order; a merged object recurs for
    /// each source object.
    func eachObject(
        of mapping: ResolvedEntityMapping, in range: KeyRange, _ body: (_ key: Int64, PlainScope) throws -> Void
    ) throws {
        try Instances.eachPassing(mapping, in: range, through: objects, by: evaluator, context) { scope, element in
            let source = scope.source.key
            if mapping.keepsPrimaryKey {
                if mapping.policy != nil, try !isMade(source, by: mapping) { return }
                try body(source, scope)
            } else if let key = try context.associations(of: mapping.position).key(of: source, element: element) {
                try body(key, scope)
            }
        }
    }

    /// Calls the body with each related object, and with its rank among several: mapping, source object, element.
    func eachCandidate(
        _ rule: Rule, in scope: PlainScope, _ body: (_ key: Int64, _ rank: (Int, Int64, Int)) throws -> Void
    ) throws {
        func take(_ related: PlainObject) throws {
            for target in rule.targets where target.source == related.entity {
                if target.keepsPrimaryKey {
                    guard try target.isWhole || isCarried(related, by: target) else { continue }
                    try body(related.key, (target.position, related.key, 0))
                } else {
                    var element = 0
                    try context.associations(of: target.position).eachKey(of: related.key) { key in
                        try body(key, (target.position, related.key, element))
                        element += 1
                    }
                }
            }
        }
        if let relationship = rule.relationship {
            try objects.eachRelated(relationship, of: scope.source, take)
        } else {
            try evaluator.eachObject(of: rule.from, in: scope, take)
        }
    }

    func firstCandidate(_ rule: Rule, in scope: PlainScope) throws -> Int64? {
        // Usually the rule is a variable, whose object has its key in both stores.
        if let target = rule.whole, let variable = rule.variable {
            if variable == scope.variable {
                if case .object(let object) = scope.element { return object.entity == target.source ? object.key : nil }
            } else if variable == "source" {
                return scope.source.entity == target.source ? scope.source.key : nil
            }
        }
        var first: (key: Int64, rank: (Int, Int64, Int))?
        try eachCandidate(rule, in: scope) { key, rank in
            if let known = first?.rank, rank >= known { return }
            first = (key, rank)
        }
        return first?.key
    }

    private func isCarried(_ object: PlainObject, by mapping: ResolvedEntityMapping) throws -> Bool {
        if mapping.policy != nil, try !isMade(object.key, by: mapping) { return false }
        guard let filter = mapping.filter else { return true }
        return try evaluator.holds(filter, in: PlainScope(source: object))
    }

    /// Whether a policy made an object of the key, which only the destination shows.
    private func isMade(_ key: Int64, by mapping: ResolvedEntityMapping) throws -> Bool {
        let table = try context.destinationTable(of: mapping.destination).name
        let number = try context.destinationNumber(of: mapping.destination)
        let find =
            try finders[mapping.position]
            ?? context.connection.prepare("SELECT 1 FROM destination.\(table) WHERE Z_PK = ? AND Z_ENT = \(number)")
        finders[mapping.position] = find
        return try find.finds(key)
    }
}

extension ResolvedEntityMapping {
    /// Whether it carries every object of its source entity over.
    fileprivate var isWhole: Bool { policy == nil && filter == nil }
}

/// The related objects of one entity's objects, in key order: one walk through all links, without lookups.
final class RelatedWalk {
    /// Owner, related key, its `Z_ENT`.
    private let links: Statement
    /// The owner of the current link; nil at the end, and before the beginning.
    private var owner: Int64?
    private var last: Int64?
    private var isReading = false

    init(_ links: Statement) { self.links = links }

    /// Whether the walk has not passed an object yet, and is not being read.
    func canRead(_ key: Int64) -> Bool { !isReading && last.map { key > $0 } ?? true }

    func each(of key: Int64, _ body: (_ key: Int64, _ entity: Int64) throws -> Void) throws {
        isReading = true
        defer { isReading = false }
        if last == nil {
            try links.bind(key, at: 1)
            try step()
        }
        last = key
        while let owner, owner < key { try step() }
        while owner == key {
            try body(links.integer(1), links.integer(2))
            try step()
        }
    }

    private func step() throws { owner = try links.step() ? links.integer(0) : nil }
}
