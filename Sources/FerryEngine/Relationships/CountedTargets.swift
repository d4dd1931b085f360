internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

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
        for name in context.program.keys[mapping.position].counted {
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
            try context.progress.entry(StepOperation.unit(ofRowsOf: mapping.position)).written
        }
        for mapping in context.step.resolved.entityMappings {
            for name in context.program.keys[mapping.position].counted {
                let made = try context.mapping(named: name)
                let counted = try context.progress.entry(unit(made, by: mapping))
                let rows = try written(made)
                var base = try KeyBase.lastKeptKey(below: made, in: context)
                for other in context.program.keys[made.position].earlierMakers {
                    base += try written(context.step.resolved.entityMappings[other])
                }
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
