internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Where the keys of new objects begin: above every key that is kept in the same table.
enum KeyBase {
    /// The highest key that any mapping keeps in the destination table of `mapping`, or that the sources of those
    /// mappings have ever handed out; 0 when no mapping keeps keys there.
    static func lastKeptKey(below mapping: ResolvedEntityMapping, in context: StepContext) throws -> Int64 {
        try lastKeptKey(inTableOf: context.destination.model.root(of: mapping.destination), context)
    }

    /// The same for the table of a root entity of the destination.
    static func lastKeptKey(inTableOf root: String, _ context: StepContext) throws -> Int64 {
        var last: Int64 = 0
        for other in context.step.resolved.entityMappings
        where other.mayKeepPrimaryKeys && context.destination.model.root(of: other.destination) == root {
            last = max(last, try highestKey(ofSourceOf: other, in: context))
        }
        return last
    }

    /// The key before that of the first object that a mapping makes, known before any of them is there.
    ///
    /// - Parameters:
    ///   - mapping: A mapping that makes new keys, where all that come before in the same table are
    ///     ``ResolvedEntityMapping/isOneToOne``: what they make is counted in the source.
    ///   - context: The step.
    /// - Returns: What ``lastKey(of:in:above:_:)`` says when its first chunk begins.
    /// - Throws: ``FerryError``, ``DatabaseError``.
    static func base(of mapping: ResolvedEntityMapping, in context: StepContext) throws -> Int64 {
        var base = try lastKeptKey(below: mapping, in: context)
        for other in CountedKeys(context.step).earlierMakers(than: mapping) {
            let count = try RowStatements(context: context, mapping: other).count(filtered: true)
                .prepare(on: context.connection)
            try count.bind(KeyRange.all)
            if try count.step() { base = try checked(base, of: mapping.destination) + count.integer(0) }
            count.reset()
        }
        return try checked(base, of: mapping.destination)
    }

    /// The key after which a chunk's new objects count on; 0 where the mapping makes none.
    ///
    /// - Parameters:
    ///   - mapping: The entity mapping.
    ///   - table: Its destination table.
    ///   - firstKey: What ``lastKeptKey(below:in:)`` said.
    ///   - context: The step.
    /// - Returns: 0 where objects keep their keys.
    /// - Throws: ``DatabaseError``.
    static func lastKey(
        of mapping: ResolvedEntityMapping, in table: String, above firstKey: Int64, _ context: StepContext
    ) throws -> Int64 {
        guard !mapping.keepsPrimaryKey else { return 0 }
        let highest = try context.connection.integer("SELECT max(Z_PK) FROM main.\(table)")
        return try checked(max(firstKey, highest ?? 0), of: mapping.destination)
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

    /// The highest key in use or ever handed out in the source table of a mapping.
    static func highestKey(ofSourceOf mapping: ResolvedEntityMapping, in context: StepContext) throws -> Int64 {
        let sourceRoot = context.source.model.root(of: mapping.source)
        let handedOut = try context.source.number(of: sourceRoot).flatMap { number in
            try context.connection.integer(
                "SELECT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_ENT = ?", [.integer(number)])
        }
        let inUse = try context.connection.integer("SELECT max(Z_PK) FROM source.\(context.sourceTable(of: mapping))")
        return max(handedOut ?? 0, inUse ?? 0)
    }
}
