internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The keys of new objects in the table of an entity, above every key that is kept there.
struct NewKeys {
    private let context: StepContext
    private let entity: String
    private let table: String
    /// Above which they begin.
    private let first: Int64

    init(of entity: String, in context: StepContext) throws {
        (self.context, self.entity) = (context, entity)
        table = try context.destination.knownTable(of: entity, in: "new")
        first = try Self.lastKeptKey(inTableOf: entity, context)
    }

    /// The key after which a chunk's new objects count on.
    func last() throws -> Int64 {
        let highest = try context.connection.integer("SELECT max(Z_PK) FROM main.\(table)")
        return try Self.checked(max(first, highest ?? 0), of: entity)
    }

    /// The highest key that any mapping keeps in the destination table of an entity, or that is in use or was ever
    /// handed out in the sources of those mappings; 0 when no mapping keeps keys there.
    static func lastKeptKey(inTableOf entity: String, _ context: StepContext) throws -> Int64 {
        var last: Int64 = 0
        for keeper in context.program.keepers(inTableOf: context.destination.model.root(of: entity)) {
            let mapping = context.step.resolved.entityMappings[keeper]
            let handedOut = try context.source.number(of: context.source.model.root(of: mapping.source)).flatMap {
                try context.connection.integer(
                    "SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer($0)])
            }
            let table = try context.sourceTable(of: mapping)
            let inUse = try context.connection.integer("SELECT max(Z_PK) FROM source.\(table)")
            last = max(last, handedOut ?? 0, inUse ?? 0)
        }
        return last
    }

    /// Half of all keys: below it no number of new objects reaches the end of the keys.
    private static let highestBase = Int64.max / 2

    /// The key after which new objects of an entity count on.
    ///
    /// - Throws: ``FerryError`` `.noKeysLeft` where keys in use are so high that new ones could overflow.
    static func checked(_ base: Int64, of entity: String) throws(FerryError) -> Int64 {
        guard base <= highestBase else {
            throw FerryError(
                .noKeysLeft,
                "New objects of entity \(entity) get no keys: Z_MAX or the highest Z_PK of those that keep theirs is at "
                    + "the end of all keys.",
                remedy: "Correct Z_PRIMARYKEY.Z_MAX, or the rows with such keys, in a copy of the store.",
                place: .init(entity: entity))
        }
        return base
    }
}

/// Gives new keys one after another to the source objects that a statement meets in the order of their keys.
///
/// A function of SQL, which a statement calls with the key of a source object. It takes a fraction of what a window
/// function takes, which keeps each row in a table of its own before it gives it back. Unchecked, as one thread calls
/// it and no access lasts while other code runs: Swift would ask that for each row, which takes longer than counting.
final class KeyCounter {
    /// The key that was given out last.
    @exclusivity(unchecked) private(set) var last: Int64 = 0
    @exclusivity(unchecked) private var lastSource = ChunkRanges.beginning

    /// SQL of the next key for an object that a mapping makes, asked for only where that carries the object.
    ///
    /// The reader is the mapping whose rows have the key: the same one, or one that relates its objects to it.
    static func call(
        _ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping, at object: SourceScope.Object
    ) -> String { "\(name(made, by: reader))(\(object.alias).Z_PK)" }

    private static func name(_ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping) -> String {
        "ferry_key_\(made.position)_\(reader.position)"
    }

    init(
        _ made: ResolvedEntityMapping, by reader: ResolvedEntityMapping, on connection: Connection
    ) throws(DatabaseError) {
        try connection.register(Self.name(made, by: reader), arguments: 1, deterministic: false) {
            [self] arguments, result in
            let source = arguments.integer(0)
            // Asked twice for an object, it says the same.
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

    /// Begins a statement with the key before the next one.
    func begin(after key: Int64) { (last, lastSource) = (key, ChunkRanges.beginning) }
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

    /// Makes the functions known that statements of the mapping call.
    init(of mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.context = context
        for name in context.program.keys[mapping.position].counted {
            let made = try context.mapping(named: name)
            targets.append(
                Target(
                    unit: Self.unit(made, by: mapping), base: try Self.base(of: made, in: context),
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
            let last = target.counter.last
            // What is recorded up to here is done.
            let entry = ProgressTable.Entry(mark: last, isDone: true, written: last - target.base)
            try context.progress.save(entry, for: target.unit)
        }
        return result
    }

    /// The key before that of the first object that a mapping makes, known before any of them is there.
    ///
    /// All mappings that come before in the same table and make new keys are ``ResolvedEntityMapping/isOneToOne``: what
    /// they make is counted in the source. It is what ``NewKeys/last()`` says when the first chunk begins.
    private static func base(of mapping: ResolvedEntityMapping, in context: StepContext) throws -> Int64 {
        var base = try NewKeys.lastKeptKey(inTableOf: mapping.destination, context)
        for maker in context.program.keys[mapping.position].earlierMakers {
            let earlier = context.step.resolved.entityMappings[maker]
            let count = try MappingSQL(earlier, in: context).count(filtered: true)
                .prepare(on: context.connection)
            try count.bind(KeyRange.all)
            if try count.step() { base = try NewKeys.checked(base, of: mapping.destination) + count.integer(0) }
            count.reset()
        }
        return try NewKeys.checked(base, of: mapping.destination)
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
                var base = try NewKeys.lastKeptKey(inTableOf: made.destination, context)
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
