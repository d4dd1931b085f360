internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The objects with new keys of a root table, where nothing is asked of one for another: ranges of their source objects
/// can be compared beside each other once it is known how many objects each of them gives.
struct NewRows {
    private let root: String
    private let context: VerificationContext
    private let makers: [ResolvedEntityMapping]

    /// Nil where there are none, where they are found again, or where relationships ask for what each was made of.
    init?(_ root: String, in context: VerificationContext) throws {
        makers = context.makers(into: root)
        let needed = try RowWalk.needsAssociation(in: context)
        guard RowWalk.isDivisible(root, in: context), !makers.isEmpty,
            makers.allSatisfy({ $0.unique.isEmpty && $0.policy == nil && !needed.contains($0.position) })
        else { return nil }
        (self.root, self.context) = (root, context)
    }

    /// For each mapping ranges of its source objects.
    private func ranges() throws -> [(name: String, mapping: ResolvedEntityMapping, range: KeyRange)] {
        try makers.flatMap { mapping in
            let table = try context.sourceTable(of: mapping.source).name
            let keys = try KeyRange.keys(of: "source.\(table)", on: context.connection)
            return KeyRange.parts(from: keys.lowest, through: keys.highest, last: .max).enumerated().map {
                ("\(mapping.position):\($0)", mapping, $1)
            }
        }
    }

    /// Parts that count what is made of each range, as if links were sound, and parts that look whether they are.
    func counts() throws -> [CheckPart] {
        let links = Set(makers.flatMap { SoundLinks.all(of: $0, in: context) })
        return links.sorted { codeUnitOrder($0.name, $1.name) }.map { links in
            CheckPart(name: name(of: links), subject: nil) { context, outcome in
                outcome.isShown = try links.areSound(in: context)
            }
        }
            + (try ranges().map { name, mapping, range in
                CheckPart(name: "made:\(name)", subject: nil) { context, outcome in
                    outcome.made = try InstanceCount(of: mapping, assuming: links, in: context).made(in: range)
                }
            })
    }

    /// Each root table looks by itself: the names of parts are different.
    private func name(of links: SoundLinks) -> String { "\(links.name) for \(root)" }

    /// The links of a mapping that were seen to be sound.
    private func soundLinks(
        of mapping: ResolvedEntityMapping, _ outcomes: [String: PartOutcome]
    ) -> Set<SoundLinks> {
        SoundLinks.all(of: mapping, in: context).filter { outcomes[name(of: $0)]?.isShown == true }
    }

    /// What each range has made, by the name of the part that is to compare it; nil where keys come to their end, so that
    /// the last ones must be met in their order, or where links are not sound, so that the counts say nothing.
    func rows(_ outcomes: [String: PartOutcome]) throws -> [(name: String, made: RowWalk.Made)]? {
        var (next, isTooHigh) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if isTooHigh { return nil }
        var rows: [(name: String, made: RowWalk.Made)] = []
        for (name, mapping, range) in try ranges() {
            let sound = soundLinks(of: mapping, outcomes)
            if mapping.filter == nil, let counted = InstanceCount.links(of: mapping, in: context),
                !sound.contains(counted)
            {
                return nil
            }
            guard let count = outcomes["made:\(name)"]?.made else { return nil }
            let first = next
            (next, isTooHigh) = next.addingReportingOverflow(count)
            if isTooHigh { return nil }
            let made = RowWalk.Made(
                mapping: mapping.position, sources: range, firstKey: first, through: next - 1, sound: sound)
            rows.append(("new:\(name)", made))
        }
        // What nothing explains comes behind the last one.
        if !rows.isEmpty { rows[rows.count - 1].made.through = .max }
        return rows
    }
}

/// A range of row numbers: above one, up to another one.
struct KeyRange: Sendable, Hashable {
    var above: Int64 = .min
    var through: Int64 = .max

    static let all = KeyRange()

    /// What begins with a row.
    static func from(_ key: Int64) -> KeyRange { KeyRange(above: key > .min ? key - 1 : .min) }

    /// Below this a range of its own costs more than it brings: preparing statements, and the way down to its first row.
    private static let leastKeys: UInt64 = 1 << 15
    /// So that what is kept of each range does not grow with the rows, and enough that no walker waits long at the end.
    private static let mostParts: UInt64 = 64

    /// The lowest and the highest key of a table, whose name stands with its database's.
    static func keys(
        of table: String, numberedBy key: String = "Z_PK", on connection: Connection
    ) throws -> (lowest: Int64, highest: Int64) {
        // Asked for in one query, SQLite would look at every row.
        let (lowest, highest) = (
            try connection.integer("SELECT min(\(key)) FROM \(table)"),
            try connection.integer("SELECT max(\(key)) FROM \(table)")
        )
        return (lowest ?? 0, highest ?? 0)
    }

    /// SQL that holds for the rows of this range.
    func condition(on key: String) -> String {
        let bounds = [
            above > .min ? "\(key) > \(above)" : nil, through < .max ? "\(key) <= \(through)" : nil,
        ].compactMap { $0 }
        return bounds.isEmpty ? "1" : bounds.joined(separator: " AND ")
    }

    /// Ranges that together hold every key up to a last one, in order.
    ///
    /// - Parameters:
    ///   - lowest: The lowest key that there is, as a rule.
    ///   - highest: The highest one.
    ///   - last: What the last range ends with.
    /// - Returns: One range at least.
    static func parts(from lowest: Int64, through highest: Int64, last: Int64) -> [KeyRange] {
        let highest = min(highest, last)
        guard lowest < highest else { return [KeyRange(through: last)] }
        let span = UInt64(bitPattern: highest &- lowest)
        let count = max(1, min(span / leastKeys, mostParts))
        let bounds = (1..<count).map { lowest &+ Int64(bitPattern: span / count * $0) }
        return zip([.min] + bounds, bounds + [last]).map { KeyRange(above: $0, through: $1) }
    }
}

/// A relationship of the source from which new objects are made, of objects of one entity alone.
///
/// Where all its links lead to such objects, seen once in the order in which these stand, their keys say all that a walk
/// along it asks for: no object has to be looked up for a link.
struct SoundLinks: Sendable, Hashable {
    let entity: String
    let relationship: String
    /// `Z_ENT` of all objects that it may lead to.
    let number: Int64

    /// Nil where links lead to objects of several entities, or are stored with the objects that they lead to.
    init?(_ relationship: String, of entity: String, in context: VerificationContext) {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let only = context.sourceModel.family(of: declared.destinationEntity).first,
            context.sourceModel.family(of: declared.destinationEntity).count == 1,
            let number = context.source.number(of: only)
        else { return nil }
        switch context.source.storage(of: relationship, in: entity) {
        case .foreignKey, .join: (self.entity, self.relationship, self.number) = (entity, relationship, number)
        case .inverseForeignKey, .inverseless, nil: return nil
        }
    }

    /// Those that a mapping's expressions begin with.
    static func all(of mapping: ResolvedEntityMapping, in context: VerificationContext) -> Set<SoundLinks> {
        var found = Set<SoundLinks>()
        func visit(_ expression: Expression) {
            if case .keyPath(let base, let steps) = expression, base == .variable("source") || base == .evaluatedObject,
                case .key(let name)? = steps.first, let links = SoundLinks(name, of: mapping.source, in: context)
            {
                found.insert(links)
            }
            expression.parts.forEach(visit)
        }
        mapping.attributes.compactMap(\.expression).forEach(visit)
        mapping.relationships.map(\.from).forEach(visit)
        mapping.filter?.parts.forEach(visit)
        mapping.iteration.map { visit($0.elements) }
        return found
    }

    var name: String { "sound:\(entity).\(relationship)" }

    /// Looks whether all is well.
    ///
    /// - Throws: ``DatabaseError``, ``FerryError``.
    func areSound(in context: VerificationContext) throws -> Bool {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let storage = context.source.storage(of: relationship, in: entity)
        else { return false }
        let other = try context.sourceTable(of: declared.destinationEntity).name
        let place: (table: String, key: String)
        switch storage {
        case .foreignKey(let table, let column, _, _): place = (table, column)
        case .join(let table, _, let second, _, _): place = (table, second)
        case .inverseForeignKey, .inverseless: return false
        }
        // In the order of their index, so that the objects are met one after another.
        let lost = try context.connection.value(
            """
            SELECT 1 FROM source.\(place.table) o LEFT JOIN source.\(other) t ON t.Z_PK = o.\(place.key)
            WHERE o.\(place.key) IS NOT NULL AND t.Z_ENT IS NOT \(number) ORDER BY o.\(place.key) LIMIT 1
            """)
        return lost == nil
    }
}
