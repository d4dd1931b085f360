internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The objects with new keys of a root table, if no object depends on another: walkers can compare ranges of their
/// source objects concurrently, once the number of objects of each range is known.
struct NewRows {
    private let root: String
    private let context: VerificationContext
    private let newKeyMappings: [ResolvedEntityMapping]

    /// Nil if there are none, or if `unique` finds objects again.
    init?(_ root: String, in context: VerificationContext) {
        newKeyMappings = context.newKeyMappings(into: root)
        guard RowWalk.isDivisible(root, in: context), !newKeyMappings.isEmpty,
            newKeyMappings.allSatisfy({ $0.unique.isEmpty && $0.policy == nil })
        else { return nil }
        (self.root, self.context) = (root, context)
    }

    private func ranges() throws -> [(name: String, mapping: ResolvedEntityMapping, range: KeyRange)] {
        try newKeyMappings.flatMap { mapping in
            let table = try context.sourceTable(of: mapping.source).name
            return try KeyRange.parts("\(mapping.position)", of: "source.\(table)", on: context.connection).map {
                ($0.name, mapping, $0.range)
            }
        }
    }

    /// Parts that count the objects of each range, assuming sound links, and parts that check that assumption.
    func counts() throws -> [CheckPart] {
        let links = Set(newKeyMappings.flatMap { SoundLinks.all(of: $0, in: context) })
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

    /// The name of the part that checks links, which differs by root table.
    private func name(of links: SoundLinks) -> String { "\(links.name) for \(root)" }

    private func soundLinks(
        of mapping: ResolvedEntityMapping, _ outcomes: [String: PartOutcome]
    ) -> Set<SoundLinks> {
        SoundLinks.all(of: mapping, in: context).filter { outcomes[name(of: $0)]?.isShown == true }
    }

    /// The objects of each range, by the name of the part that compares them; nil if keys overflow, so that one walk
    /// must find the first missing key, or if links are not sound, so that the counts are wrong.
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
        // The last range includes additional rows with higher keys.
        if !rows.isEmpty { rows[rows.count - 1].made.through = .max }
        return rows
    }

    /// Records the associations of mappings in the lookup file, beside the parts that count and compare their objects.
    func associate(_ needed: [ResolvedEntityMapping]) throws {
        let unit = "associations into \(root)"
        guard
            let last = newKeyMappings.lastIndex(where: { mapping in
                needed.contains { $0.position == mapping.position }
            })
        else { return }
        try context.progress.once(unit, in: context) {
            var (key, isTooHigh) = (try context.highestKeptKey(in: root), false)
            for mapping in newKeyMappings[...last] {
                try context.announce(mapping.name)
                let isNeeded = needed.contains { $0.position == mapping.position }
                try Instances.eachPassing(mapping, in: .all, assuming: [], context) { source, element in
                    if isTooHigh { return }
                    (key, isTooHigh) = key.addingReportingOverflow(1)
                    if isNeeded, !isTooHigh {
                        try context.associations.record(mapping, source: source, element: element, key: key)
                    }
                }
            }
            // Then one walk must find the first missing key.
            if isTooHigh {
                for mapping in needed { try context.associations.removeAll(of: mapping) }
            } else {
                for mapping in needed { context.progress.state.done.insert(Self.unit(mapping)) }
            }
        }
    }

    private static func unit(_ mapping: ResolvedEntityMapping) -> String { "associations of \(mapping.position)" }

    static func areAssociated(_ mapping: ResolvedEntityMapping, in context: VerificationContext) -> Bool {
        context.progress.state.done.contains(unit(mapping))
    }

    /// Removes the associations of a root table whose objects one walk compares, which records them again.
    static func forgetAssociations(into root: String, in context: VerificationContext) throws {
        for mapping in context.newKeyMappings(into: root) where areAssociated(mapping, in: context) {
            try context.progress.once("\(unit(mapping)) again", in: context) {
                try context.associations.removeAll(of: mapping)
            }
        }
    }

    /// Records the associations of a mapping in the lookup file, range by range, for a comparison pair by pair.
    ///
    /// Does nothing for a mapping whose associations one walk has recorded.
    static func associate(_ mapping: ResolvedEntityMapping, in context: VerificationContext) throws {
        if areAssociated(mapping, in: context) { return }
        let root = context.destinationModel.root(of: mapping.destination)
        guard let rows = try NewRows(root, in: context)?.rows(context.progress.state.outcomes) else { return }
        for (name, made) in rows where made.mapping == mapping.position {
            try context.pausing("associations \(name)") {
                try context.announce(mapping.name)
                var key = made.firstKey
                try Instances.eachPassing(mapping, in: made.sources, assuming: made.sound, context) { source, element in
                    try context.associations.record(mapping, source: source, element: element, key: key)
                    key += 1
                }
            }
        }
    }
}

/// A range of keys, above a lower bound, up to and including an upper one.
struct KeyRange: Sendable, Hashable {
    var above: Int64 = .min
    var through: Int64 = .max

    static let all = KeyRange()

    static func from(_ key: Int64) -> KeyRange { KeyRange(above: key > .min ? key - 1 : .min) }

    /// Fewer keys cost more than they save: preparing statements, and the path down to the first row.
    private static let leastKeys: UInt64 = 1 << 13
    /// The statements of wide rows take longer to prepare.
    private static let leastWideKeys: UInt64 = 1 << 9
    /// Rows of so many columns count once, wider ones as often as they have as many.
    private static let columnsOfKey = 32
    /// Limits the outcomes kept in memory; enough parts that no walker is idle for long at the end.
    private static let mostParts: UInt64 = 64

    /// The lowest and the highest key of a table, whose name includes its schema.
    static func keys(
        of table: String, numberedBy key: String = "Z_PK", on connection: Connection
    ) throws -> (lowest: Int64, highest: Int64) {
        // In one query, SQLite would scan every row.
        let (lowest, highest) = (
            try connection.integer("SELECT min(\(key)) FROM \(table)"),
            try connection.integer("SELECT max(\(key)) FROM \(table)")
        )
        return (lowest ?? 0, highest ?? 0)
    }

    func condition(on key: String) -> String {
        let bounds = [
            above > .min ? "\(key) > \(above)" : nil, through < .max ? "\(key) <= \(through)" : nil,
        ].compactMap { $0 }
        return bounds.isEmpty ? "1" : bounds.joined(separator: " AND ")
    }

    /// The number of ranges into which so many keys are divided, if the rows of so many columns are read.
    static func number(ofPartsOf keys: UInt64, columns: Int = 1) -> UInt64 {
        let width = UInt64(max(1, columns / columnsOfKey))
        return max(1, min(keys / max(leastWideKeys, leastKeys / width), mostParts))
    }

    /// Consecutive ranges that together hold every key up to a last one, each with the name of its part: at least one,
    /// and more if the keys of the table, or the key to reach, are many.
    static func parts(
        _ name: String, of table: String, columns: Int = 1, numberedBy key: String = "Z_PK",
        reaching reached: Int64 = .min, last: Int64 = .max, on connection: Connection
    ) throws -> [(name: String, range: KeyRange)] {
        let (lowest, highest) = try keys(of: table, numberedBy: key, on: connection)
        let end = min(max(highest, reached), last)
        let span = lowest < end ? UInt64(bitPattern: end &- lowest) : 0
        let count = number(ofPartsOf: span, columns: columns)
        let bounds = (1..<count).map { lowest &+ Int64(bitPattern: span / count * $0) }
        return zip([.min] + bounds, bounds + [last]).enumerated().map { number, bounds in
            ("\(name):\(number)", KeyRange(above: bounds.0, through: bounds.1))
        }
    }
}

/// A relationship of the source whose objects are all of one entity, and from which new objects are made.
///
/// If all its links lead to such objects, which one ordered pass shows, a walk needs only their keys and no lookup of
/// the objects.
struct SoundLinks: Sendable, Hashable {
    let entity: String
    let relationship: String
    /// `Z_ENT` of all related objects.
    let number: Int64
    private let links: StoredLinks

    /// Nil if links can lead to several entities, or are stored in the related objects' rows.
    init?(_ relationship: String, of entity: String, in context: VerificationContext) {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let only = context.sourceModel.family(of: declared.destinationEntity).first,
            context.sourceModel.family(of: declared.destinationEntity).count == 1,
            let number = context.source.number(of: only),
            let links = context.source.storage(of: relationship, in: entity).map(StoredLinks.init), !links.areInRowsOfB
        else { return nil }
        (self.entity, self.relationship, self.number, self.links) = (entity, relationship, number, links)
    }

    /// The links with which a mapping's expressions begin.
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

    func areSound(in context: VerificationContext) throws -> Bool {
        guard let declared = context.sourceModel.relationship(relationship, of: entity) else { return false }
        let other = try context.sourceTable(of: declared.destinationEntity).name
        // In the order of their index, so that SQLite reads the objects in sequence.
        let lost = try context.connection.value(
            """
            SELECT 1 FROM source.\(links.table) o LEFT JOIN source.\(other) t ON t.Z_PK = o.\(links.b)
            WHERE o.\(links.b) IS NOT NULL AND t.Z_ENT IS NOT \(number) ORDER BY o.\(links.b) LIMIT 1
            """)
        return lost == nil
    }
}
