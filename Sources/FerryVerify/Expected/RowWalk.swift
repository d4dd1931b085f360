internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Compares the rows of one root table, range by range: objects that keep their keys, then new objects.
final class RowWalk {
    /// New objects of one mapping from a range of source objects; `through` is the last key that belongs to them.
    struct Made: Sendable {
        var mapping: ResolvedEntityMapping
        var sources: KeyRange
        var firstKey: Int64
        var through: Int64
    }

    let root: String
    let context: VerificationContext
    let table: EntityTable
    private let keepingMappings: [ResolvedEntityMapping]
    /// The objects that mappings find by `unique`; nil if no mapping of this walk needs them.
    let lookups: UniqueObjects?
    let objects: SourceObjects
    let evaluator: PlainEvaluator
    /// The mappings whose associations the walk records, for which it needs the lookup file.
    let recorded: Set<Int>
    private let addsLinks: Bool
    /// What an earlier call has found.
    private let known: PartOutcome?
    /// By the position of the mapping of the new objects.
    private var links: [Int: [MadeLinksSum]] = [:]
    let keys: RowKeys
    let isWholeSample: Bool
    let total: Int64?
    var done: Int64 = 0
    /// Rows compared; fewer than ``done`` with a sample.
    var checked: Int64 = 0
    var counts: RecountedMappings
    /// The key of the next new object; nil before the first one.
    var nextKey: Int64?

    let actual: TableRows
    var actualKey: Int64?
    private var keptRows: KeptRows?

    /// Whether ranges of objects with kept keys can be compared concurrently, because no object depends on another.
    static func isDivisible(_ root: String, in context: VerificationContext) -> Bool {
        !context.step.hasPolicies
            && !context.newKeyMappings(into: root).contains { mapping in
                !mapping.unique.isEmpty
                    && context.keepingMappings(into: root).contains { $0.destination == mapping.destination }
            }
    }

    init(
        of root: String, finding lookups: UniqueObjects? = nil, recording recorded: Set<Int> = [],
        addsLinks: Bool = true, total: Int64? = nil, after known: PartOutcome? = nil, in context: VerificationContext
    ) throws {
        (self.root, self.context, self.lookups, self.total) = (root, context, lookups, total)
        (self.recorded, self.addsLinks, self.known) = (recorded, addsLinks, known)
        counts = RecountedMappings(context.step.entityMappings)
        counts.add(known?.counts ?? [])
        nextKey = known?.nextKey
        table = try context.destinationTable(of: root)
        keepingMappings = context.keepingMappings(into: root)
        objects = SourceObjects(context)
        evaluator = PlainEvaluator(objects: objects, now: context.verification.now ?? 0)
        isWholeSample = context.verification.sampledPerMille >= 1_000
        keys = try RowKeys(of: table, RelatedObjects(context, through: objects), in: context)
        keys.unshown = known?.unshown ?? []
        let columns = ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name)
        actual = try TableRows(of: table.name, schema: "destination", columns: columns, in: context)
    }

    /// Begins the destination's rows of a range.
    func begin(_ range: KeyRange) throws {
        try actual.move(to: range)
        try advance()
        try context.announce(table.name, done: done, total: total)
    }

    /// Compares the new objects of a range, and finds rows that no mapping has made among theirs.
    func compareNew(_ made: Made) throws {
        var next = made.firstKey
        try begin(KeyRange(above: next - 1, through: made.through))
        try compareNew(made.mapping, of: made.sources, next: &next)
        try reportAdditionalRows(before: nil)
    }

    // MARK: Objects that keep their keys

    private final class KeptRows {
        let rows: MappedSourceRows
        /// The rows made of an entity's objects, by `Z_ENT`.
        var expected: [Int64: [ExpectedRow]] = [:]
        // Usually an object has the entity of the one before.
        private var lastNumber: Int64?
        /// The rows made of the current object: usually one, else all.
        private(set) var only: ExpectedRow?
        private(set) var all: [ExpectedRow] = []

        init(_ rows: MappedSourceRows) { self.rows = rows }

        func findCurrent() {
            guard rows.entityNumber != lastNumber else { return }
            lastNumber = rows.entityNumber
            all = expected[rows.entityNumber] ?? []
            only = all.count == 1 ? all[0] : nil
        }
    }

    private func openKept() throws -> KeptRows {
        let relatives = keepingMappings.flatMap { ExpectedRow.relativesColumns(of: $0, in: context).map(\.source) }
        let walk = KeptRows(
            try MappedSourceRows(
                for: keepingMappings, onlyEntity: nil, withValues: true, beside: keys.sourceColumns + relatives,
                objects: objects, in: context))
        for mapping in keepingMappings {
            let row = try ExpectedRow(mapping, rows: walk.rows, by: evaluator, objects, in: context)
            row.isLookedUp = lookups?.isNeeded(for: mapping.destination) ?? false
            row.isPlain =
                mapping.policy == nil && row.computed.isEmpty && !row.isLookedUp
                && !keys.needScope(for: mapping.position)
            walk.expected[try context.sourceNumber(of: mapping.source), default: []].append(row)
        }
        keys.open(walk.rows)
        return walk
    }

    /// Compares the kept keys of a range.
    ///
    /// The statements and expected rows remain for the next range: for wide tables and large families, making them takes
    /// longer than comparing some thousand rows.
    func compareKept(in range: KeyRange) throws {
        try begin(range)
        if !keepingMappings.isEmpty {
            let walk = try keptRows ?? openKept()
            keptRows = walk
            try walk.rows.move(to: range)
            while try walk.rows.step() {
                walk.findCurrent()
                if let only = walk.only {
                    try compareKept(only, walk.rows)
                } else {
                    for row in walk.all { try compareKept(row, walk.rows) }
                }
                objects.closeRow()
            }
        }
        try reportAdditionalRows(before: nil)
    }

    /// Frees the statements of kept objects.
    func endKept() { keptRows = nil }

    private func compareKept(_ expected: ExpectedRow, _ rows: MappedSourceRows) throws {
        counts.byMapping[expected.position].read += 1
        let isPlain = expected.isPlain && expected.filter?.isOwn ?? true
        if !isPlain { rows.open(rows.object) }
        try reportingFailures(expected, rows.object) {
            let scope = isPlain ? nil : PlainScope(source: rows.object)
            if expected.hasPolicy, let scope { return try compareMade(expected, scope, rows.row) }
            if let filter = expected.filter, try !filter.passes(scope) {
                return counts.byMapping[expected.position].dropped += 1
            }
            counts.byMapping[expected.position].written += 1
            if expected.isLookedUp, let scope {
                try settle(expected, key: rows.key) { try expected.value(of: $0, in: scope, rows.row) }
            }
            try compare(expected, key: rows.key, scope, rows.row, version: MappedSourceRows.versionColumn)
        }
    }

    // MARK: Results

    /// The sums of the links of a mapping's new objects.
    func sums(of mapping: ResolvedEntityMapping) throws -> [MadeLinksSum] {
        if let known = links[mapping.position] { return known }
        let made = addsLinks ? try context.relationForms.get().made[mapping.position] ?? [] : []
        let sums = try made.map {
            try MadeLinksSum($0, from: known?.links?[$0.name] ?? EntrySum(), in: context)
        }
        links[mapping.position] = sums
        return sums
    }

    /// Adds what the walk has found so far.
    func save(to outcome: inout PartOutcome) {
        (outcome.counts, outcome.rows) = (counts.byMapping.filter { $0.read > 0 }, done)
        (outcome.unshown, outcome.nextKey) = (keys.unshown, nextKey)
        outcome.links = Dictionary(first: links.values.joined().map { ($0.links.name, $0.sum) })
    }

    /// Begins to count for another part.
    func restart() {
        (done, checked, counts) = (0, 0, RecountedMappings(context.step.entityMappings))
        keys.unshown = []
    }
}
