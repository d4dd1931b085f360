internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// How many objects, or elements of objects, an entity mapping meets.
struct InstanceCount {
    private let mapping: ResolvedEntityMapping
    private let sound: Set<SoundLinks>
    private let context: VerificationContext

    /// - Parameters:
    ///   - mapping: The entity mapping.
    ///   - sound: Links that are taken to be sound, so that what they lead to is not looked at.
    ///   - context: The stores.
    init(of mapping: ResolvedEntityMapping, assuming sound: Set<SoundLinks> = [], in context: VerificationContext) {
        (self.mapping, self.sound, self.context) = (mapping, sound, context)
    }

    /// The links along which a mapping iterates, where it can be shown that they are sound; nil where there are none.
    static func links(of mapping: ResolvedEntityMapping, in context: VerificationContext) -> SoundLinks? {
        step(of: mapping).flatMap { SoundLinks($0, of: mapping.source, in: context) }
    }

    /// The relationship of the source object along which a mapping iterates, where it is nothing but that.
    private static func step(of mapping: ResolvedEntityMapping) -> String? {
        guard case .keyPath(let base, let steps)? = mapping.iteration?.elements,
            base == .variable("source") || base == .evaluatedObject, steps.count == 1,
            case .key(let name)? = steps.first
        else { return nil }
        return name
    }

    /// Those that it reads of source objects in a range; nil where only reading them all tells.
    func read(in range: KeyRange = .all) throws -> Int64? {
        let table = try context.sourceTable(of: mapping.source).name
        var condition = "o.Z_ENT = \(try context.sourceNumber(of: mapping.source))"
        if range != .all { condition += " AND \(range.condition(on: "o.Z_PK"))" }
        if mapping.iteration == nil {
            return try context.connection.integer("SELECT count(*) FROM source.\(table) o WHERE \(condition)")
        }
        guard let name = Self.step(of: mapping),
            let relationship = context.sourceModel.relationship(name, of: mapping.source),
            let storage = context.source.storage(of: name, in: mapping.source)
        else { return nil }
        if let known = Self.links(of: mapping, in: context), sound.contains(known) {
            return try soundLinks(of: storage, from: table, where: condition)
        }
        let other = try context.sourceTable(of: relationship.destinationEntity).name
        let known = context.source.entityNumbers.values.sorted().sqlList
        let links: String
        switch storage {
        case .foreignKey(_, let column, _, _): links = "JOIN source.\(other) t ON t.Z_PK = o.\(column)"
        case .inverseForeignKey(_, let column, _, _), .inverseless(_, let column):
            links = "JOIN source.\(other) t ON t.\(column) = o.Z_PK"
        case .join(let join, let first, let second, _, _):
            links = "JOIN source.\(join) j ON j.\(first) = o.Z_PK JOIN source.\(other) t ON t.Z_PK = j.\(second)"
        }
        return try context.connection.integer(
            "SELECT count(*) FROM source.\(table) o \(links) WHERE \(condition) AND t.Z_ENT IN (\(known))")
    }

    private func soundLinks(
        of storage: RelationshipStorage, from table: String, where condition: String
    ) throws -> Int64? {
        let links: String
        switch storage {
        case .foreignKey(_, let column, _, _): links = "WHERE o.\(column) IS NOT NULL"
        case .join(let join, let first, let second, _, _):
            links = "JOIN source.\(join) j ON j.\(first) = o.Z_PK WHERE j.\(second) IS NOT NULL"
        case .inverseForeignKey, .inverseless: return nil
        }
        return try context.connection.integer("SELECT count(*) FROM source.\(table) o \(links) AND \(condition)")
    }

    /// Those that it makes an object of, of source objects in a range.
    func made(in range: KeyRange) throws -> Int64 {
        if mapping.filter == nil, let known = try read(in: range) { return known }
        let objects = SourceObjects(context)
        let rows = try SourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: false, range: range, objects: objects, in: context)
        let instances = Instances(
            mapping: mapping, evaluator: PlainEvaluator(objects: objects, now: context.verification.now ?? 0))
        var count: Int64 = 0
        while let object = try rows.next() {
            rows.open(object)
            do {
                try instances.each(of: object) { _, _, passes in count += passes ? 1 : 0 }
            } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
                // Reported when the object's rows are compared, which come to the same number.
            }
            objects.closeRow()
            try context.advance(mapping.name, done: 0, total: nil)
        }
        return count
    }
}

/// What an entity mapping makes of one source object: one instance, or one for each element of its iteration.
struct Instances {
    let mapping: ResolvedEntityMapping
    let evaluator: PlainEvaluator

    /// Calls the body with each instance, in order.
    ///
    /// The body gets the scope of its expressions, the index of the element (0 without iteration), and whether the
    /// mapping's filter lets it through.
    func each(of object: PlainObject, _ body: (PlainScope, Int64, Bool) throws -> Void) throws {
        let scope = PlainScope(source: object)
        guard let iteration = mapping.iteration else { return try body(scope, 0, try passes(scope)) }
        do {
            try evaluator.eachElement(of: iteration.elements, in: scope) { element, index in
                let scope = PlainScope(source: object, variable: iteration.variable, element: element)
                try body(scope, index, try passes(scope))
            }
        } catch is PlainJSON.Invalid where iteration.skipsInvalid {
            try body(scope, 0, false)
        }
    }

    private func passes(_ scope: PlainScope) throws -> Bool {
        guard let filter = mapping.filter else { return true }
        return try evaluator.holds(filter, in: scope)
    }
}
