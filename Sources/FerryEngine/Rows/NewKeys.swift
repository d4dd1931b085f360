internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Keys of new objects in an entity's table, above every kept key.
struct NewKeys {
    private let context: StepContext
    private let entity: String
    private let lastKey: String
    /// The new keys are higher than this key.
    private let first: Int64

    init(of entity: String, in context: StepContext) throws {
        (self.context, self.entity) = (context, entity)
        lastKey = try "SELECT \(context.sql.lastKey(inTableOf: entity))"
        first = try Self.lastKeptKey(inTableOf: entity, context)
    }

    /// The highest key in use; a chunk's new objects get the keys above it.
    func last() throws -> Int64 {
        try Self.checked(max(first, context.connection.integer(lastKey) ?? 0), of: entity)
    }

    /// The highest `Z_PK` or `Z_MAX` in the sources of mappings that keep keys in an entity's table; 0 without such.
    static func lastKeptKey(inTableOf entity: String, _ context: StepContext) throws -> Int64 {
        try context.connection.integer("SELECT \(context.sql.lastKeptKey(inTableOf: entity))") ?? 0
    }

    /// Half of all keys: above a lower base, no number of new objects reaches the last key.
    private static let highestBase = Int64.max / 2

    /// Returns a base of new keys; throws ``FerryError`` `.noKeysLeft` if keys above the base could overflow.
    static func checked(_ base: Int64, of entity: String) throws(FerryError) -> Int64 {
        guard base <= highestBase else {
            throw FerryError(
                .noKeysLeft,
                "New objects of entity \(entity) cannot get keys: Z_MAX or the highest Z_PK of the kept objects is "
                    + "the highest possible key.",
                remedy: "Correct Z_PRIMARYKEY.Z_MAX, or the rows with such keys, in a copy of the store.",
                place: .init(entity: entity))
        }
        return base
    }
}

/// Numbers the source objects of a statement that reads them in the order of their keys.
///
/// The statement calls an SQL function with a source key; a window function, which stores each row, takes much longer.
/// Exclusivity checks, which take longer than the counting, are off: one thread calls the function.
final class KeyCounter {
    @exclusivity(unchecked) private(set) var last: Int64 = 0
    @exclusivity(unchecked) private var lastSource = ChunkRanges.beginning

    /// Counts the objects that a mapping makes, in a statement of the reader.
    init(_ made: ResolvedEntityMapping, by reader: MappingSQL, on connection: Connection) throws(DatabaseError) {
        try connection.register(reader.keyFunction(of: made), arguments: 1, deterministic: false) {
            [self] arguments, result in
            let source = arguments.integer(0)
            // A second call for an object returns the same key.
            if source != lastSource {
                guard source > lastSource else {
                    throw FerryError(.internalError, "The rows of a mapping do not come in the order of their keys.")
                }
                lastSource = source
                last += 1
            }
            result.set(last)
        }
    }

    /// Begins a statement; the next key is `key + 1`.
    func begin(after key: Int64) { (last, lastSource) = (key, ChunkRanges.beginning) }
}

/// Counts the keys of related objects of another mapping, chunk by chunk, before or while that writes them.
///
/// Each chunk records its last key, from which a repeated chunk, or a resumed run, counts on.
struct CountedTargets {
    private struct Target {
        var unit: String
        var base: Int64
        var counter: KeyCounter
    }

    private let context: StepContext
    private var targets: [Target] = []

    init(of mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        for name in context.program.fills.keys[mapping.position].counted {
            let made = try context.sql.mapping(named: name)
            targets.append(
                Target(
                    unit: Self.unit(made, by: mapping), base: try Self.base(of: made, in: context),
                    counter: try KeyCounter(
                        made, by: MappingSQL(mapping, in: context.sql), on: context.connection)))
        }
    }

    func counting<Result>(_ body: () throws -> Result) throws -> Result {
        guard !targets.isEmpty else { return try body() }
        for target in targets {
            let counted = try context.progress.entry(target.unit)
            target.counter.begin(after: counted.isDone ? counted.mark : target.base)
        }
        let result = try body()
        for target in targets {
            let last = target.counter.last
            // `isDone` says that the entry has a mark.
            let entry = ProgressTable.Entry(mark: last, isDone: true, written: last - target.base)
            try context.progress.save(entry, for: target.unit)
        }
        return result
    }

    /// The base of a mapping's new keys, known before any of its objects exists.
    ///
    /// All mappings that create objects in the table before it are ``ResolvedEntityMapping/isOneToOne``, so their
    /// objects can be counted in the source. The result equals ``NewKeys/last()`` at the mapping's first chunk.
    private static func base(of mapping: ResolvedEntityMapping, in context: StepContext) throws -> Int64 {
        var base = try NewKeys.lastKeptKey(inTableOf: mapping.destination, context)
        for maker in context.program.fills.keys[mapping.position].earlierMakers {
            let earlier = context.step.resolved.entityMappings[maker]
            let count = try MappingSQL(earlier, in: context.sql).count().prepare(
                on: context.connection, now: context.options.now)
            try count.bind(KeyRange.all)
            if try count.step() {
                base = try NewKeys.checked(base, of: mapping.destination) + count.integer(0)
            }
            count.reset()
        }
        return try NewKeys.checked(base, of: mapping.destination)
    }

    /// The name of the progress entry with the number of counted keys and the last one.
    private static func unit(_ made: ResolvedEntityMapping, by mapping: ResolvedEntityMapping) -> String {
        "keys:\(made.position):\(mapping.position)"
    }

    /// Checks, after the rows phase, that all objects have their counted keys.
    static func check(_ context: StepContext) throws {
        let written = { (mapping: ResolvedEntityMapping) throws in
            try context.progress.entry(StepOperation.unit(ofRowsOf: mapping.position)).written
        }
        for mapping in context.step.resolved.entityMappings {
            for name in context.program.fills.keys[mapping.position].counted {
                let made = try context.sql.mapping(named: name)
                let counted = try context.progress.entry(unit(made, by: mapping))
                let rows = try written(made)
                var base = try NewKeys.lastKeptKey(inTableOf: made.destination, context)
                for other in context.program.fills.keys[made.position].earlierMakers {
                    base += try written(context.step.resolved.entityMappings[other])
                }
                guard counted.written == rows, rows == 0 || counted.mark == base + rows else {
                    throw FerryError(
                        .internalError,
                        "Entity mapping \(name) created \(rows.counting("object")) with keys after \(base), but keys of "
                            + "\(counted.written.counting("object")) up to \(counted.mark) were expected.")
                }
            }
        }
    }
}
