internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite

/// Decides where a row that is being written can have the new key of an object that is made elsewhere: by counting.
///
/// The objects that an entity mapping makes get keys one after another, in the order of their source objects, after a
/// number that is known before the first of them is written (``KeyBase/base(of:in:)``). So what goes over the very
/// same source objects, each of them once and in that order, knows the key of each by counting, whether its row is there
/// yet or not. Neither an association nor a later update is needed.
struct CountedKeys {
    private let step: ResolvedStep
    /// The entity mappings in the order of the run.
    private let run: [ResolvedEntityMapping]

    init(_ step: StepPlan) {
        self.step = step.resolved
        run = step.partitions.flatMap { $0.entityMappings.map(\.mapping) }
    }

    /// Whether the rows of a mapping can count the keys of what its rule takes.
    ///
    /// - Parameters:
    ///   - rule: The rule; with several mappings only the first one that has an object would be counted.
    ///   - mapping: The mapping that the rule is one of.
    /// - Returns: True when the keys need nothing but the source object at hand.
    func suffice(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) -> Bool {
        guard !step.hasPolicies, rule.isOfSameObject, rule.mappings.count == 1,
            let other = step.entityMapping(named: rule.mappings[0]), !other.keepsPrimaryKey, other.isOneToOne,
            other.source == mapping.source, mapping.isOneToOne, mapping.filter == nil
        else { return false }
        return earlierMakers(than: other).allSatisfy(\.isOneToOne)
    }

    /// The mappings whose new objects come before those of a mapping in the same table.
    func earlierMakers(than mapping: ResolvedEntityMapping) -> [ResolvedEntityMapping] {
        let model = step.destination.model
        let root = model.root(of: mapping.destination)
        return run.prefix { $0.position != mapping.position }
            .filter { !$0.keepsPrimaryKey && model.root(of: $0.destination) == root }
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one object, or none where the filter leaves it out.
    var isOneToOne: Bool { iteration == nil && unique.isEmpty && policy == nil }
}

extension ResolvedRelationship {
    /// Whether the related objects are what is made of the very same source object.
    var isOfSameObject: Bool { from == .variable("source") || from == .evaluatedObject }
}

/// Counts the keys of objects that the rows of a mapping are related to, chunk after chunk.
///
/// How far it has counted is recorded with each chunk, so that a chunk that is given up, or a run that goes on, counts
/// from where the last one ended.
struct CountedTargets {
    private struct Target {
        var unit: String
        var base: Int64
        var counter: KeyCounter
    }

    private let context: StepContext
    private var targets: [Target] = []

    /// - Parameters:
    ///   - mapping: The mapping whose rows are written.
    ///   - context: The step; the functions that statements of the mapping call are made known to its connection.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    init(of mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        for name in context.assignments.counted(by: mapping) {
            let made = try context.mapping(named: name)
            targets.append(
                Target(
                    unit: Self.unit(made, by: mapping), base: try KeyBase.base(of: made, in: context),
                    counter: try KeyCounter(made, by: mapping, on: context.connection)))
        }
    }

    /// Runs what writes the rows of one range.
    func counting<Result>(_ body: () throws -> Result) throws -> Result {
        guard !targets.isEmpty else { return try body() }
        for target in targets {
            let counted = try context.progress.entry(target.unit)
            target.counter.begin(after: counted.isDone ? counted.mark : target.base)
        }
        let result = try body()
        for target in targets {
            var entry = ProgressTable.Entry()
            (entry.mark, entry.written) = (target.counter.last, target.counter.last - target.base)
            // What is recorded up to here.
            entry.isDone = true
            try context.progress.save(entry, for: target.unit)
        }
        return result
    }

    /// How many were counted, and after which key.
    private static func unit(_ made: ResolvedEntityMapping, by mapping: ResolvedEntityMapping) -> String {
        "keys:\(made.position):\(mapping.position)"
    }

    /// Makes sure that all objects of a step have the keys that were counted for them; to be called when they are there.
    static func check(_ context: StepContext) throws {
        let written = { (mapping: ResolvedEntityMapping) throws in
            try context.progress.entry(RowsPhase.unit(of: mapping)).written
        }
        for mapping in context.step.resolved.entityMappings {
            for name in context.assignments.counted(by: mapping) {
                let made = try context.mapping(named: name)
                let counted = try context.progress.entry(unit(made, by: mapping))
                let rows = try written(made)
                var base = try KeyBase.lastKeptKey(below: made, in: context)
                for other in CountedKeys(context.step).earlierMakers(than: made) { base += try written(other) }
                guard counted.written == rows, rows == 0 || counted.mark == base + rows else {
                    throw FerryError(
                        .internalError,
                        "Entity mapping \(name) made \(rows.counting("object")) with keys after \(base), where those of "
                            + "\(counted.written.counting("object")) up to \(counted.mark) were counted.")
                }
            }
        }
    }
}
