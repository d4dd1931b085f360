internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The number of source objects, or of elements of objects, that an entity mapping reads.
enum InstanceCount {
    /// The number read from source objects in a range; nil if only reading them all can tell.
    static func read(
        by mapping: ResolvedEntityMapping, in range: KeyRange = .all, _ context: VerificationContext
    ) throws -> Int64? {
        let table = try context.sourceTable(of: mapping.source).name
        var condition = "o.Z_ENT = \(try context.sourceNumber(of: mapping.source))"
        if range != .all { condition += " AND \(range.condition(on: "o.Z_PK"))" }
        if mapping.iteration == nil {
            return try context.connection.integer("SELECT count(*) FROM source.\(table) o WHERE \(condition)")
        }
        // The iteration is nothing but a relationship of the source object.
        guard let name = mapping.iteration?.elements.fromSource.sourceKey,
            let relationship = context.sourceModel.relationship(name, of: mapping.source),
            let links = context.source.storage(of: name, in: mapping.source).map(StoredLinks.init)
        else { return nil }
        let related: String
        if try context.soundLinks.number(ofRelated: name, of: mapping.source, in: context) != nil {
            related =
                links.areInRowsOfA
                ? "WHERE o.\(links.b) IS NOT NULL"
                : "JOIN source.\(links.table) j ON j.\(links.a) = o.Z_PK WHERE j.\(links.b) IS NOT NULL"
        } else {
            let other = try context.sourceTable(of: relationship.destinationEntity).name
            let numbers = context.source.numbers(ofFamily: relationship.destinationEntity)
            related = "\(links.joined("JOIN", with: other, in: "source")) WHERE \(numbers.rowCondition("t."))"
        }
        return try context.connection.integer("SELECT count(*) FROM source.\(table) o \(related) AND \(condition)")
    }

    /// The number of objects made from source objects in a range.
    static func made(
        by mapping: ResolvedEntityMapping, in range: KeyRange, _ context: VerificationContext
    ) throws -> Int64 {
        if mapping.filter == nil, let known = try read(by: mapping, in: range, context) { return known }
        var count: Int64 = 0
        try Instances.eachPassing(mapping, in: range, through: SourceObjects(context), context) { _, _ in count += 1 }
        return count
    }
}

/// The instances that an entity mapping makes of a source object: one, or one for each element of its iteration.
final class Instances {
    private let iteration: EntityMapping.Iteration?
    private let filter: RowFilter?
    private let evaluator: PlainEvaluator

    init(
        _ mapping: ResolvedEntityMapping, of rows: MappedSourceRows, by evaluator: PlainEvaluator,
        in context: VerificationContext
    ) {
        (iteration, self.evaluator) = (mapping.iteration, evaluator)
        filter = RowFilter(mapping, of: rows, by: evaluator, in: context)
    }

    /// Calls the body with each instance in order: scope, index of the element (or 0), whether the filter passes it.
    ///
    /// Inlined: the call of the body for each object took a tenth of a walk over found objects.
    @inline(__always) func each(of object: PlainObject, _ body: (PlainScope, Int64, Bool) throws -> Void) throws {
        let scope = PlainScope(source: object)
        guard let iteration else { return try body(scope, 0, try passes(scope)) }
        do {
            try evaluator.eachElement(of: iteration.elements, in: scope) { element, index in
                var scope = PlainScope(source: object, variable: iteration.variable, element: element)
                scope.position = iteration.position.map { ($0, index) }
                try body(scope, index, try passes(scope))
            }
        } catch is PlainJSON.Invalid where iteration.skipsInvalid {
            try body(scope, 0, false)
        }
    }

    /// Calls the body with the scope and the index of the element of each instance that the filter passes.
    static func eachPassing(
        _ mapping: ResolvedEntityMapping, in range: KeyRange, through objects: SourceObjects,
        by evaluator: PlainEvaluator? = nil, _ context: VerificationContext,
        _ body: (_ scope: PlainScope, _ element: Int64) throws -> Void
    ) throws {
        let rows = try MappedSourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: false, range: range, objects: objects, in: context)
        let evaluator = evaluator ?? PlainEvaluator(objects: objects, now: context.verification.now ?? 0)
        let instances = Instances(mapping, of: rows, by: evaluator, in: context)
        while let object = try rows.next() {
            rows.open(object)
            do {
                try instances.each(of: object) { scope, element, passes in
                    if passes { try body(scope, element) }
                }
            } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
                // The row comparison reports the failure and counts in the same way.
            }
            objects.closeRow()
            try context.advance(mapping.name, done: 0, total: nil)
        }
    }

    private func passes(_ scope: PlainScope) throws -> Bool { try filter?.passes(scope) ?? true }
}
