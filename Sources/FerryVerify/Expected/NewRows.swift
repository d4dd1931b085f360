internal import FerryMapping
internal import FerryModel
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
