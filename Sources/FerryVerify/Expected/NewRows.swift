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

    /// The ranges of a mapping's source objects, by the names of their parts.
    static func ranges(
        of mapping: ResolvedEntityMapping, in context: VerificationContext
    ) throws -> [(name: String, range: KeyRange)] {
        let table = try context.sourceTable(of: mapping.source).name
        return try KeyRange.parts("\(mapping.position)", of: "source.\(table)", on: context.connection)
    }

    private func ranges() throws -> [(name: String, mapping: ResolvedEntityMapping, range: KeyRange)] {
        try newKeyMappings.flatMap { mapping in
            try Self.ranges(of: mapping, in: context).map { ($0.name, mapping, $0.range) }
        }
    }

    /// Parts that count the objects of each range.
    func counts() throws -> [CheckPart] {
        try ranges().map { name, mapping, range in
            CheckPart(name: "made:\(name)", subject: nil) { context, outcome in
                outcome.counted = try InstanceCount.made(by: mapping, in: range, context)
            }
        }
    }

    /// The objects of each range, by the name of the part that compares them.
    ///
    /// - Throws: `noKeysLeft` if keys overflow.
    func rows() throws -> [(name: String, made: RowWalk.Made)] {
        var next = try Self.key(1, after: context.highestKeptKey(in: root), in: root)
        var rows: [(name: String, made: RowWalk.Made)] = []
        for (name, mapping, range) in try ranges() {
            guard let count = context.progress.state.outcomes["made:\(name)"]?.counted else {
                throw FerryError(.internalError, "The new objects of \(root) were not counted.")
            }
            let first = next
            next = try Self.key(count, after: next, in: root)
            let made = RowWalk.Made(
                mapping: mapping, sources: range, firstKey: first, through: next - 1)
            rows.append(("new:\(name)", made))
        }
        // The last range includes additional rows with higher keys.
        if !rows.isEmpty { rows[rows.count - 1].made.through = .max }
        return rows
    }

    static func key(_ count: Int64, after key: Int64, in root: String) throws(FerryError) -> Int64 {
        let (next, isTooHigh) = key.addingReportingOverflow(count)
        if isTooHigh { throw noKeysLeft(in: root) }
        return next
    }

    static func noKeysLeft(in root: String) -> FerryError {
        FerryError(
            .noKeysLeft,
            "New objects of \(root) cannot be checked: the source uses the highest possible key.",
            remedy: "Correct Z_PRIMARYKEY.Z_MAX, or the rows with such keys, in a copy of the source.",
            place: .init(entity: root))
    }

    /// Records the associations of a mapping in the lookup file, unless the walk over its objects has: range by range if
    /// walkers compare the objects, else by another walk.
    static func associate(_ mapping: ResolvedEntityMapping, in context: VerificationContext) throws {
        let root = context.destinationModel.root(of: mapping.destination)
        guard let rows = NewRows(root, in: context) else {
            if try context.relationForms.get().associated.contains(mapping.position) { return }
            return try context.progress.once("associations of \(mapping.position)", in: context) {
                try RowsCheck.walkAgain(root, recording: mapping.position, in: context)
            }
        }
        for (name, made) in try rows.rows() where made.mapping.position == mapping.position {
            try context.progress.once("associations \(name)", in: context) {
                try context.announce(mapping.name)
                var key = made.firstKey
                let table = try context.associations(of: mapping.position)
                let objects = SourceObjects(context)
                try Instances.eachPassing(mapping, in: made.sources, through: objects, context) { scope, element in
                    try table.add(scope.source.key, element, key)
                    key += 1
                }
            }
        }
    }
}
