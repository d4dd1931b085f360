internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

final class RowWalk {
    enum Part {
        case all
        /// Objects that keep their keys, range by range: ``run(in:_:)``.
        case kept
        case new
        case made(Made)
    }

    /// New objects of one mapping from a range of source objects; `through` is the last key that belongs to them.
    struct Made: Sendable {
        var mapping: Int
        var sources: KeyRange
        var firstKey: Int64
        var through: Int64
    }

    let root: String
    private let part: Part
    let context: VerificationContext
    let table: EntityTable
    let entityNames: [Int64: String]
    private let keepingMappings: [ResolvedEntityMapping]
    let newKeyMappings: [ResolvedEntityMapping]
    /// The objects that mappings find by `unique`; nil if no mapping of this walk needs them.
    let lookups: UniqueObjects?
    let objects: SourceObjects
    let evaluator: PlainEvaluator
    let needsAssociation: Set<Int>
    /// By the position of the mapping of the new objects.
    private(set) var links: [Int: [MadeLinksSum]] = [:]
    let keys: RowKeys
    let isWholeSample: Bool
    let total: Int64?
    var done: Int64 = 0
    /// Rows compared; fewer than ``done`` with a sample.
    var checked: Int64 = 0

    /// The position at which an earlier call stopped.
    var position: VerificationProgress.RowPosition?
    private var stage = 0

    let actual: TableRows
    var actualKey: Int64?
    private var keptRows: [KeptRows] = []

    /// Whether objects with kept keys can be compared range by range, because no object depends on another.
    static func isDivisible(_ root: String, in context: VerificationContext) -> Bool {
        !context.step.hasPolicies
            && !context.newKeyMappings(into: root).contains { mapping in
                !mapping.unique.isEmpty
                    && context.keepingMappings(into: root).contains { $0.destination == mapping.destination }
            }
    }

    init(
        _ part: Part, of root: String, finding lookups: UniqueObjects? = nil,
        from position: VerificationProgress.RowPosition? = nil, recording again: Set<Int>? = nil,
        in context: VerificationContext
    ) throws {
        self.root = root
        self.part = part
        self.context = context
        table = try context.destinationTable(of: root)
        entityNames = context.destinationEntities
        keepingMappings = context.keepingMappings(into: root)
        newKeyMappings = context.newKeyMappings(into: root)
        self.lookups = lookups
        let made: Made? = if case .made(let made) = part { made } else { nil }
        objects = SourceObjects(context)
        evaluator = PlainEvaluator(objects: objects, now: context.verification.now ?? 0)
        isWholeSample = context.verification.sampledPerMille >= 1_000
        keys = try RowKeys(of: table, RelatedObjects(context, through: objects), in: context)
        total = if case .all = part { try context.expectedRows(in: root) } else { nil }
        var range = position?.actualKey.map(KeyRange.from) ?? .all
        if let made {
            range = KeyRange(above: made.firstKey - 1, through: made.through)
        } else if case .new = part, position == nil {
            range.above = try context.highestKeptKey(in: root)
        }
        let forms = try context.relationForms.get()
        // Walkers have no lookup file.
        needsAssociation = again ?? (made == nil ? forms.associated : [])
        for mapping in newKeyMappings where again == nil && mapping.position == made?.mapping ?? mapping.position {
            links[mapping.position] = try forms.made[mapping.position]?.map { links in
                let known = made == nil ? context.progress.state.links[links.name] : nil
                return try MadeLinksSum(links, from: known ?? EntrySum(), in: context)
            }
        }
        let columns = ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name)
        actual = try TableRows(
            of: table.name, schema: "destination", columns: columns, range: range, in: context)
        if let position {
            self.position = position
            (done, checked) = (position.done, position.checked)
            if position.actualKey == nil { return }
        }
        if case .kept = part { return }
        try advance()
    }

    /// Compares the kept keys of a range.
    ///
    /// The statements and expected rows remain for the next range: for wide tables and large families, making them takes
    /// longer than comparing some thousand rows.
    func run(in range: KeyRange, _ counts: inout RecountedMappings) throws {
        (done, checked) = (0, 0)
        keys.restart()
        try actual.move(to: range)
        for rows in keptRows { try rows.move(to: range) }
        try advance()
        try context.announce(table.name, done: 0, total: total)
        defer { context.report.checked += checked }
        try compareKept(in: range, &counts)
        try reportAdditionalRows(before: nil)
    }

    func run(_ counts: inout RecountedMappings) throws {
        try context.announce(table.name, done: 0, total: total)
        defer { context.report.checked += checked }
        if case .made(let made) = part {
            var next = made.firstKey
            for mapping in newKeyMappings where mapping.position == made.mapping {
                try compareNew(mapping, of: made.sources, next: &next, &counts)
            }
            try reportAdditionalRows(before: nil)
            return
        }
        // No key follows the last one.
        let (first, isAtEnd) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if case .all = part, position?.stage ?? 0 == 0 {
            try compareKept(in: .all, &counts)
            keptRows = []
            try reportAdditionalRows(before: isAtEnd ? nil : first)
        }
        if isAtEnd, newKeyMappings.contains(where: { $0.policy == nil }) { throw NewRows.noKeysLeft(in: root) }
        var next = position.map { $0.stage > 0 ? $0.nextKey : first } ?? first
        for (index, mapping) in newKeyMappings.enumerated() where index + 1 >= position?.stage ?? 0 {
            stage = index + 1
            if mapping.policy == nil {
                try compareNew(mapping, of: .all, next: &next, &counts)
            } else {
                next = try NewRows.key(
                    context.verification.policies.newKeys[mapping.position]?[root] ?? 0, after: next, in: root)
                try passInserted(before: next)
            }
        }
        if context.step.hasPolicies { try passInserted(before: nil) } else { try reportAdditionalRows(before: nil) }
    }

    // MARK: Objects that keep their keys

    private final class KeptRows {
        let rows: MappedSourceRows
        /// The rows made of an entity's objects, by `Z_ENT`.
        var expected: [Int64: [ExpectedRow]] = [:]
        var isAtEnd = false
        // Usually an object has the entity of the one before.
        private var lastNumber: Int64?
        /// The rows made of the current object: usually one, else all.
        private(set) var only: ExpectedRow?
        private(set) var all: [ExpectedRow] = []

        init(_ rows: MappedSourceRows) { self.rows = rows }

        func step() throws { isAtEnd = try !rows.step() }

        func move(to range: KeyRange) throws {
            try rows.move(to: range)
            try step()
        }

        func findCurrent() {
            guard rows.entityNumber != lastNumber else { return }
            lastNumber = rows.entityNumber
            all = expected[rows.entityNumber] ?? []
            only = all.count == 1 ? all[0] : nil
        }
    }

    private func openKept(in range: KeyRange) throws -> [KeptRows] {
        var walks: [KeptRows] = []
        let bySourceRoot = Dictionary(grouping: keepingMappings) { context.sourceModel.root(of: $0.source) }
        for root in bySourceRoot.keys.inOrder(by: codeUnitOrder) {
            let mappings = bySourceRoot[root] ?? []
            if let position, position.sources[root] == nil { continue }
            let relatives = mappings.filter { ExpectedRow.keepsRelativesValues($0, in: context) }
                .flatMap { ExpectedRow.relativesKeys(of: $0, in: context).map(\.source) }
            let walk = KeptRows(
                try MappedSourceRows(
                    for: mappings, onlyEntity: nil, withValues: true, beside: keys.sourceColumns + relatives,
                    range: position?.sources[root].map(KeyRange.from) ?? range, objects: objects, in: context))
            for mapping in mappings {
                let row = try ExpectedRow(mapping, rows: walk.rows, by: evaluator, objects, in: context)
                row.isLookedUp = lookups?.isNeeded(for: mapping.destination) ?? false
                row.isPlain =
                    mapping.policy == nil && row.computed.isEmpty && !row.isLookedUp
                    && !keys.needScope(for: mapping.position)
                walk.expected[try context.sourceNumber(of: mapping.source), default: []].append(row)
            }
            keys.open(walk.rows)
            try walk.step()
            walks.append(walk)
        }
        return walks
    }

    private func compareKept(in range: KeyRange, _ counts: inout RecountedMappings) throws {
        if keptRows.isEmpty { keptRows = try openKept(in: range) }
        let walks = keptRows
        while let walk = Self.lowest(of: walks) {
            walk.findCurrent()
            if let only = walk.only {
                try compareKept(only, walk.rows, &counts)
            } else {
                for row in walk.all { try compareKept(row, walk.rows, &counts) }
            }
            objects.closeRow()
            try walk.step()
            try pause(next: 0, &counts) { sources in
                for walk in walks where !walk.isAtEnd { sources[walk.rows.root] = walk.rows.key }
            }
        }
        position = nil
    }

    /// The walk with the lowest key of all source tables; usually there is only one.
    private static func lowest(of walks: [KeptRows]) -> KeptRows? {
        if walks.count == 1 { return walks[0].isAtEnd ? nil : walks[0] }
        var lowest: KeptRows?
        for walk in walks where !walk.isAtEnd {
            if let known = lowest, known.rows.key <= walk.rows.key { continue }
            lowest = walk
        }
        return lowest
    }

    private func compareKept(
        _ expected: ExpectedRow, _ rows: MappedSourceRows, _ counts: inout RecountedMappings
    ) throws {
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

    /// By the name of their relation.
    var linkSums: [String: EntrySum] {
        Dictionary(links.values.joined().map { ($0.links.name, $0.sum) }) { first, _ in first }
    }

    /// Saves what a walk on the calling thread has found of relations; that of a walker is part of its outcome.
    func saveLinks(to state: inout VerificationProgress.State) {
        state.links.merge(linkSums) { $1 }
        state.unshown.formUnion(keys.unshown)
    }

    // MARK: Stopping

    func pause(
        next: Int64, _ counts: inout RecountedMappings, _ sources: (inout [String: Int64]) -> Void
    ) throws {
        try context.progress.pause(in: context) { state in
            var position = VerificationProgress.RowPosition(
                stage: stage, nextKey: next, actualKey: actualKey, done: done, checked: checked)
            sources(&position.sources)
            state.rows = position
            state.counts = counts.byMapping
            saveLinks(to: &state)
        }
    }
}
