internal import FerryMapping
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

    /// Parts that count what is made of each range.
    func counts() throws -> [CheckPart] {
        try ranges().map { name, mapping, range in
            CheckPart(name: "made:\(name)", subject: nil) { context, outcome in
                outcome.made = try InstanceCount(of: mapping, in: context).made(in: range)
            }
        }
    }

    /// What each range has made, by the name of the part that is to compare it; nil where keys come to their end, so that
    /// the last ones must be met in their order.
    func rows(_ outcomes: [String: PartOutcome]) throws -> [(name: String, made: RowWalk.Made)]? {
        var (next, isTooHigh) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if isTooHigh { return nil }
        var rows: [(name: String, made: RowWalk.Made)] = []
        for (name, mapping, range) in try ranges() {
            guard let count = outcomes["made:\(name)"]?.made else { return nil }
            let first = next
            (next, isTooHigh) = next.addingReportingOverflow(count)
            if isTooHigh { return nil }
            let made = RowWalk.Made(mapping: mapping.position, sources: range, firstKey: first, through: next - 1)
            rows.append(("new:\(name)", made))
        }
        // What nothing explains comes behind the last one.
        if !rows.isEmpty { rows[rows.count - 1].made.through = .max }
        return rows
    }
}
