internal import FerryBase
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
        return links.inOrder { codeUnitOrder($0.name, $1.name) }.map { links in
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

    private func soundLinks(of mapping: ResolvedEntityMapping) -> Set<SoundLinks> {
        let outcomes = context.progress.state.outcomes
        return SoundLinks.all(of: mapping, in: context).filter { outcomes[name(of: $0)]?.isShown == true }
    }

    /// The objects of each range, by the name of the part that compares them; nil if keys overflow, so that one walk
    /// must find the first missing key, or if links are not sound, so that the counts are wrong.
    func rows() throws -> [(name: String, made: RowWalk.Made)]? {
        var (next, isTooHigh) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if isTooHigh { return nil }
        var rows: [(name: String, made: RowWalk.Made)] = []
        for (name, mapping, range) in try ranges() {
            let sound = soundLinks(of: mapping)
            if mapping.filter == nil, let counted = InstanceCount.links(of: mapping, in: context),
                !sound.contains(counted)
            {
                return nil
            }
            guard let count = context.progress.state.outcomes["made:\(name)"]?.made else { return nil }
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
                let table = try isNeeded ? context.associations.table(of: mapping.position) : nil
                try Instances.eachPassing(mapping, in: .all, through: .init(context), context) { scope, element in
                    if isTooHigh { return }
                    (key, isTooHigh) = key.addingReportingOverflow(1)
                    if let table, !isTooHigh { try table.add(scope.source.key, element, key) }
                }
            }
            // Then one walk must find the first missing key.
            if isTooHigh {
                for mapping in needed { try context.associations.table(of: mapping.position).removeAll() }
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
                try context.associations.table(of: mapping.position).removeAll()
            }
        }
    }

    /// Records the associations of a mapping in the lookup file, range by range, for a comparison pair by pair.
    ///
    /// Does nothing for a mapping whose associations one walk has recorded.
    static func associate(_ mapping: ResolvedEntityMapping, in context: VerificationContext) throws {
        if areAssociated(mapping, in: context) { return }
        let root = context.destinationModel.root(of: mapping.destination)
        guard let rows = try NewRows(root, in: context)?.rows() else { return }
        for (name, made) in rows where made.mapping == mapping.position {
            try context.pausing("associations \(name)") {
                try context.announce(mapping.name)
                var key = made.firstKey
                let table = try context.associations.table(of: mapping.position)
                let objects = SourceObjects(context, sound: made.sound)
                try Instances.eachPassing(mapping, in: made.sources, through: objects, context) { scope, element in
                    try table.add(scope.source.key, element, key)
                    key += 1
                }
            }
        }
    }
}
