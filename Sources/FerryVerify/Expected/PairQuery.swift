internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The pairs of a rule as one query of the source: for the links of objects that keep their keys on both sides.
///
/// Object by object, each pair takes three times as long. The order is that in which the objects yield them.
struct PairQuery {
    /// The source's table whose objects have the rule, and which is divided into ranges of keys.
    let table: String
    /// SQL of all pairs, each with the side of the rule: `a`, `b` and `side`.
    let pairs: String
    let side: Int
    private let order: String
    private let target: String

    /// Nil with a filter, a policy, new keys that can come first, or other related objects than those of one
    /// relationship of `$source`.
    init?(_ rule: StoredRelation.Rule, into pairs: String, in context: VerificationContext) throws {
        let mapping = rule.mapping
        guard Self.isWhole(mapping), mapping.iteration == nil,
            let numbers = try Self.targets(of: rule, in: context)
        else { return nil }
        table = "source.\(try context.sourceTable(of: mapping.source).name)"
        let related: (key: String, join: String, condition: String, order: String)
        if rule.relationship.from == .variable("source") || rule.relationship.from == .evaluatedObject {
            related = ("o.Z_PK", "\(table) o", "o.Z_ENT IN (\(numbers))", "o.Z_PK")
        } else {
            guard let name = rule.relationship.from.fromSource.sourceKey,
                let declared = context.sourceModel.relationship(name, of: mapping.source),
                let storage = context.source.storage(of: name, in: mapping.source)
            else { return nil }
            let links = StoredLinks(storage)
            // Of several related objects only the first would count.
            guard rule.isToMany || links.areInRowsOfA else { return nil }
            let other = try context.sourceTable(of: declared.destinationEntity).name
            let sound = SoundLinks(name, of: mapping.source, in: context)
            let isSound = try sound.map { try context.areSound($0) } ?? false
            let holder = links.areInRowsOfA ? "o" : links.areInRowsOfB ? "t" : "j"
            let order = [links.bOrder, links.b].compactMap { $0 }.map { "\(holder).\($0)" }
            let orders = (["o.Z_PK"] + (links.areInRowsOfA ? [] : order)).joined(separator: ", ")
            if let sound, isSound {
                // The related objects need not be read.
                let key = "\(holder).\(links.b)"
                let join = links.areInRowsOfA ? "" : "CROSS JOIN source.\(links.table) j ON j.\(links.a) = o.Z_PK"
                related = (
                    key, "\(table) o \(join)", "\(key) IS NOT NULL AND \(sound.number) IN (\(numbers))", orders
                )
            } else {
                let join = links.joined("CROSS JOIN", with: other, in: "source")
                // Of rows that are all of one entity, the index of their keys tells enough.
                let isOther = try
                    !(links.areInRowsOfB && Self.isAlone(declared.destinationEntity, numbers, in: context))
                related = ("t.Z_PK", "\(table) o \(join)", isOther ? "t.Z_ENT IN (\(numbers))" : "TRUE", orders)
            }
        }
        let (a, b) = rule.isInverse ? (related.key, "o.Z_PK") : ("o.Z_PK", related.key)
        side = rule.side
        self.pairs = """
            SELECT \(a) AS a, \(b) AS b, \(side) AS side FROM \(related.join) WHERE \(related.condition)
                AND o.Z_ENT = \(try context.sourceNumber(of: mapping.source))
            """
        (order, target) = (related.order, pairs)
    }

    /// Writes the pairs of a range into their table.
    func run(_ range: KeyRange, on connection: Connection) throws {
        try connection.run("INSERT INTO \(target) \(pairs) AND \(range.condition(on: "o.Z_PK")) ORDER BY \(order)")
    }

    /// Whether all rows of an entity's table are of it, and its number is the wanted one.
    private static func isAlone(_ entity: String, _ numbers: String, in context: VerificationContext) throws -> Bool {
        guard context.sourceModel.family(of: context.sourceModel.root(of: entity)).count == 1,
            numbers == String(try context.sourceNumber(of: entity))
        else { return false }
        return try context.connection.value(
            "SELECT 1 FROM source.\(try context.sourceTable(of: entity).name) WHERE Z_ENT IS NOT \(numbers) LIMIT 1")
            == nil
    }

    private static func isWhole(_ mapping: ResolvedEntityMapping) -> Bool {
        mapping.keepsPrimaryKey && mapping.policy == nil && mapping.filter == nil
    }

    /// `Z_ENT` of the objects that a rule relates under their own keys; nil if it also relates others.
    private static func targets(of rule: StoredRelation.Rule, in context: VerificationContext) throws -> String? {
        var sources: [String] = []
        let targets = rule.relationship.mappings.compactMap { context.mapping(named: $0) }
        for target in targets.inOrder(by: { $0.position < $1.position }) {
            // Of a to-one relationship the first candidate counts, which is that of the first mapping.
            if !rule.isToMany, sources.contains(target.source) { continue }
            guard isWhole(target), !sources.contains(target.source) else { return nil }
            sources.append(target.source)
        }
        return try sources.map { try context.sourceNumber(of: $0) }.sorted().sqlList
    }
}
