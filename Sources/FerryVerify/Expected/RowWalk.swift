internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The comparison of one destination root table with the rows that the entity mappings are expected to make.
final class RowWalk {
    /// Which of the rows.
    enum Part {
        case all
        /// Objects that keep their keys, in a range of these.
        case kept(KeyRange)
        /// Objects with new keys.
        case new
    }

    private let root: String
    private let part: Part
    private let context: VerificationContext
    private let table: EntityTable
    private let entityNames: [Int64: String]
    private let keepers: [ResolvedEntityMapping]
    private let makers: [ResolvedEntityMapping]
    private let lookups: UniqueLookups
    private let objects: SourceObjects
    private let evaluator: PlainEvaluator
    private let needsAssociation: Set<Int>
    private let total: Int64?
    private(set) var done: Int64 = 0
    /// Rows compared; fewer than ``done`` where a sample is.
    private var checked: Int64 = 0

    /// Where an earlier call stopped.
    private var position: VerificationProgress.RowPosition?
    private var stage = 0

    // The destination's rows, in key order.
    private let actual: StoredRows
    private var actualKey: Int64?

    /// Whether objects with kept keys can be compared range by range: nothing of one object is asked of another.
    static func isDivisible(_ root: String, in context: VerificationContext) -> Bool {
        !context.step.hasPolicies
            && !context.makers(into: root).contains { maker in
                !maker.unique.isEmpty && context.keepers(into: root).contains { $0.destination == maker.destination }
            }
    }

    init(
        _ part: Part = .all, of root: String, number: Int, from position: VerificationProgress.RowPosition? = nil,
        in context: VerificationContext
    ) throws {
        self.root = root
        self.part = part
        self.context = context
        table = try context.destinationTable(of: root)
        entityNames = Dictionary(
            context.destination.entityNumbers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
        keepers = context.keepers(into: root)
        makers = context.makers(into: root)
        lookups = try UniqueLookups(makers, number: number, on: context.connection)
        objects = SourceObjects(context)
        evaluator = PlainEvaluator(objects: objects, now: context.verification.now ?? 0)
        var needed = Set<Int>()
        for mapping in context.step.entityMappings {
            if !mapping.relationships.isEmpty { needed.insert(mapping.position) }
            for relationship in mapping.relationships {
                for name in relationship.mappings {
                    context.step.entityMapping(named: name).map { _ = needed.insert($0.position) }
                }
            }
        }
        needsAssociation = needed
        var range = position?.actualKey.map(KeyRange.from) ?? .all
        switch part {
        case .all: total = try context.connection.integer("SELECT count(*) FROM destination.\(table.name)")
        case .kept(let part): (total, range) = (nil, part)
        case .new:
            total = nil
            if position == nil { range.above = try context.highestKeptKey(in: root) }
        }
        actual = try StoredRows(
            of: table.name, schema: "destination",
            columns: ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name), range: range, in: context)
        if let position {
            self.position = position
            (done, checked) = (position.done, position.checked)
            if position.actualKey == nil { return }
        }
        try advance()
    }

    func run(_ counts: inout RecountedMappings) throws {
        try context.announce(table.name, done: 0, total: total)
        defer { context.report.checked += checked }
        if case .kept(let range) = part {
            try compareKept(in: range, &counts)
            return try passExtra(before: nil)
        }
        // Nothing is above the last of all keys.
        let (first, isAtEnd) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if case .all = part, position?.stage ?? 0 == 0 {
            try compareKept(in: .all, &counts)
            try passExtra(before: isAtEnd ? nil : first)
        }
        if isAtEnd, makers.contains(where: { $0.policy == nil }) { throw noKeysLeft }
        var next = position.map { $0.stage > 0 ? $0.nextKey : first } ?? first
        for (index, mapping) in makers.enumerated() where index + 1 >= position?.stage ?? 0 {
            stage = index + 1
            if mapping.policy == nil {
                try compareNew(mapping, next: &next, &counts)
            } else {
                next = try key(context.verification.policies.newKeys[mapping.position]?[root] ?? 0, after: next)
                try passMade(before: next)
            }
        }
        if context.step.hasPolicies { try passMade(before: nil) } else { try passExtra(before: nil) }
    }

    // MARK: Objects that keep their keys

    /// A source table whose objects keep their keys here.
    private final class KeptRows {
        let rows: SourceRows
        /// What is made of the objects of an entity, by its number.
        var expected: [Int64: [ExpectedRow]] = [:]
        var isAtEnd = false
        // As a rule an object is of the same entity as the one before.
        private var lastNumber: Int64?
        private var lastExpected: [ExpectedRow] = []

        init(_ rows: SourceRows) { self.rows = rows }

        func step() throws { isAtEnd = try !rows.step() }

        /// What is made of the object at hand.
        var current: [ExpectedRow] {
            if rows.entityNumber != lastNumber {
                lastNumber = rows.entityNumber
                lastExpected = expected[rows.entityNumber] ?? []
            }
            return lastExpected
        }
    }

    private func compareKept(in range: KeyRange, _ counts: inout RecountedMappings) throws {
        var walks: [KeptRows] = []
        let bySourceRoot = Dictionary(grouping: keepers) { context.sourceModel.root(of: $0.source) }
        for root in bySourceRoot.keys.sorted(by: codeUnitOrder) {
            let mappings = bySourceRoot[root] ?? []
            if let position, position.sources[root] == nil { continue }
            let walk = KeptRows(
                try SourceRows(
                    for: mappings, onlyEntity: nil, withValues: true,
                    range: position?.sources[root].map(KeyRange.from) ?? range, objects: objects, in: context))
            for mapping in mappings {
                walk.expected[try context.sourceNumber(of: mapping.source), default: []].append(
                    try ExpectedRow(mapping, rows: walk.rows, in: context))
            }
            try walk.step()
            walks.append(walk)
        }
        while let walk = Self.lowest(of: walks) {
            for row in walk.current { try compareKept(row, walk.rows, &counts) }
            objects.openRow = nil
            try walk.step()
            try pause(next: 0, &counts) { sources in
                for walk in walks where !walk.isAtEnd { sources[walk.rows.root] = walk.rows.key }
            }
        }
        position = nil
    }

    /// All source tables that keep keys here are one sequence in key order; as a rule there is one table.
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
        _ expected: ExpectedRow, _ rows: SourceRows, _ counts: inout RecountedMappings
    ) throws {
        let mapping = expected.mapping
        counts.read(by: mapping.position)
        if mapping.policy == nil, mapping.filter == nil, expected.computed.isEmpty,
            !lookups.isNeeded(for: mapping.destination)
        {
            // Nothing is evaluated.
            counts.wrote(by: mapping.position)
            return try compare(expected, key: rows.key, nil, rows.row, version: SourceRows.versionColumn)
        }
        let object = rows.object
        rows.open(object)
        try orReport(mapping, object) {
            let scope = PlainScope(source: object)
            if mapping.policy != nil { return try compareMade(expected, object, scope, rows.row) }
            if let filter = mapping.filter, try !evaluator.holds(filter, in: scope) {
                counts.dropped(by: mapping.position)
                return
            }
            counts.wrote(by: mapping.position)
            if lookups.isNeeded(for: mapping.destination) {
                try lookups.add(entity: mapping.destination, key: object.key) { attribute in
                    try expected.value(of: attribute, in: scope, evaluator, objects, rows.row)
                }
            }
            try compare(expected, key: object.key, scope, rows.row, version: SourceRows.versionColumn)
        }
    }

    // MARK: Objects of policies

    /// Compares what a policy left as the mapping has it, where it made an object with the key of its source.
    private func compareMade(
        _ expected: ExpectedRow, _ object: PlainObject, _ scope: PlainScope, _ row: StoredRows
    ) throws {
        try passExtra(before: object.key)
        guard actualKey == object.key, actual.integer(1) == expected.entityNumber else { return }
        try makeKnown()
        try compare(expected, key: object.key, scope, row, version: SourceRows.versionColumn)
    }

    /// Passes objects that policies made from nothing, up to a key; all their values are the policies' own.
    private func passMade(before key: Int64?) throws {
        while let actualKey, key.map({ actualKey < $0 }) ?? true {
            context.report.notRecomputed += Int64((0..<table.columns.count).filter { !actual.isNull($0 + ExpectedRow.firstColumn) }.count)
            try makeKnown()
            done += 1
            try advance()
            try context.advance(table.name, done: done, total: total)
        }
    }

    /// Lets mappings that look for objects find the current one.
    private func makeKnown() throws {
        guard let key = actualKey, let entity = entityNames[actual.integer(1)], lookups.isNeeded(for: entity) else {
            return
        }
        try lookups.add(entity: entity, key: key) { attribute in
            guard let column = context.destination.column(of: attribute, in: entity),
                let place = table.columns.firstIndex(where: { $0.name == column.name })
            else { return .null }
            return try actual.raw(place + ExpectedRow.firstColumn)
        }
    }

    // MARK: Objects with new keys

    private func compareNew(
        _ mapping: ResolvedEntityMapping, next: inout Int64, _ counts: inout RecountedMappings
    ) throws {
        let rows = try SourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: true,
            range: position?.sources[mapping.source].map(KeyRange.from) ?? .all, objects: objects, in: context)
        position = nil
        let expected = try ExpectedRow(mapping, rows: rows, in: context)
        let instances = Instances(mapping: mapping, evaluator: evaluator)
        while let object = try rows.next() {
            try pause(next: next, &counts) { $0[mapping.source] = object.key }
            rows.open(object)
            try orReport(mapping, object) {
                try instances.each(of: object) { scope, element, passes in
                    counts.read(by: mapping.position)
                    guard passes else {
                        counts.dropped(by: mapping.position)
                        return
                    }
                    try make(expected, scope, element, rows.row, next: &next, &counts)
                }
            }
            objects.openRow = nil
            try context.advance(table.name, done: done, total: total)
        }
    }

    private func make(
        _ expected: ExpectedRow, _ scope: PlainScope, _ element: Int64, _ row: StoredRows, next: inout Int64,
        _ counts: inout RecountedMappings
    ) throws {
        let mapping = expected.mapping
        let value = { [objects, evaluator] (attribute: String) throws -> PlainValue in
            try expected.value(of: attribute, in: scope, evaluator, objects, row)
        }
        var key = next
        if !mapping.unique.isEmpty, let found = try lookups.find(mapping, value: value) {
            key = found
            counts.merged(by: mapping.position)
        } else {
            next = try self.key(1, after: next)
            counts.wrote(by: mapping.position)
            if lookups.isNeeded(for: mapping.destination) {
                try lookups.add(entity: mapping.destination, key: key, value: value)
            }
            try compare(expected, key: key, scope, row, version: nil)
        }
        if needsAssociation.contains(mapping.position) {
            try context.associations.record(mapping, source: scope.source.key, element: element, key: key)
        }
    }

    private func key(_ count: Int64, after key: Int64) throws(FerryError) -> Int64 {
        let (next, isTooHigh) = key.addingReportingOverflow(count)
        if isTooHigh { throw noKeysLeft }
        return next
    }

    private var noKeysLeft: FerryError {
        FerryError(
            .noKeysLeft,
            "New objects of \(root) cannot be checked: the keys of the source end at the last of all keys.",
            remedy: "Correct Z_PRIMARYKEY.Z_MAX, or the rows with such keys, in a copy of the source.",
            place: .init(entity: root))
    }

    // MARK: Stopping

    /// Lets the walk be stopped between two source objects.
    private func pause(
        next: Int64, _ counts: inout RecountedMappings, _ sources: (inout [String: Int64]) -> Void
    ) throws {
        try context.progress.pause(in: context) { state in
            var position = VerificationProgress.RowPosition(
                stage: stage, nextKey: next, actualKey: actualKey, done: done, checked: checked)
            sources(&position.sources)
            state.rows = position
            state.counts = counts.counts
        }
    }

    // MARK: Comparing

    private func advance() throws { actualKey = try actual.step() ? actual.integer(0) : nil }

    /// Reports rows that nothing explains, up to a key.
    private func passExtra(before key: Int64?) throws {
        while let actualKey, key.map({ actualKey < $0 }) ?? true {
            context.report(
                RowsCheck.self, entity: entityNames[actual.integer(1)] ?? root,
                example: "\(table.name) Z_PK \(actualKey)")
            done += 1
            checked += 1
            try advance()
            try context.advance(table.name, done: done, total: total)
        }
    }

    /// Multiples of the golden ratio spread evenly and keep no step with a pattern in the rows.
    static func isInSample(_ key: Int64, of context: VerificationContext) -> Bool {
        let share = context.verification.sampledPerMille
        guard share < 1_000 else { return true }
        let place = (UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 1_000).high
        return place < UInt64(max(share, 0))
    }

    private func compare(
        _ expected: ExpectedRow, key: Int64, _ scope: PlainScope?, _ row: StoredRows, version: Int?
    ) throws {
        try passExtra(before: key)
        guard actualKey == key else {
            context.report(
                RowsCheck.self, entity: expected.mapping.destination, example: "\(table.name) Z_PK \(key)")
            return
        }
        if Self.isInSample(key, of: context) {
            checked += 1
            context.report.notRecomputed += expected.notRecomputed
            if try !isEqual(expected, scope, row, version: version),
                let place = try difference(
                    expected, scope ?? PlainScope(source: .init(entity: expected.mapping.source, key: key)), row,
                    version: version)
            {
                context.report(
                    RowsCheck.self, entity: expected.mapping.destination,
                    example: "\(table.name) Z_PK \(key) \(place)")
            }
        }
        done += 1
        try advance()
        try context.advance(table.name, done: done, total: total)
    }

    /// Whether the current destination row is plainly as expected; if not, ``difference(_:_:_:version:)`` tells.
    ///
    /// - Parameters:
    ///   - expected: What should be there.
    ///   - scope: Of computed cells; nil where there are none.
    ///   - row: The source's row.
    ///   - version: Its column of the row's version number; nil for a new object.
    private func isEqual(
        _ expected: ExpectedRow, _ scope: PlainScope?, _ row: StoredRows, version: Int?
    ) throws -> Bool {
        guard actual.isWhole, row.isWhole else { return false }
        let (found, source) = (actual.current, row.current)
        guard found.integer(1) == expected.entityNumber,
            version.map({ found.holdsSame(2, as: source, $0) }) ?? StoredValue.isEqual(found, 2, to: .integer(1)),
            found.holdsSame(expected.copies, as: source)
        else { return false }
        for (place, value) in expected.constants
        where !StoredValue.isEqual(found, place + ExpectedRow.firstColumn, to: value) { return false }
        guard let scope else { return true }
        for place in expected.computed where try !isAsComputed(place, expected, scope, row) { return false }
        return true
    }

    /// The first column of the current destination row that is not as expected.
    private func difference(
        _ expected: ExpectedRow, _ scope: PlainScope, _ row: StoredRows, version: Int?
    ) throws -> String? {
        if actual.integer(1) != expected.entityNumber { return "Z_ENT" }
        if let version {
            if try !actual.isEqual(2, row, version) { return "Z_OPT" }
        } else if try !actual.isEqual(2, to: .integer(1)) {
            return "Z_OPT"
        }
        for (place, cell) in expected.cells.enumerated() {
            let isEqual: Bool
            switch cell {
            case .copy(let column):
                // Seldom the source's column holds what the destination's stores otherwise.
                isEqual =
                    try actual.isEqual(place + ExpectedRow.firstColumn, row, column)
                    || !actual.isLarge(place + ExpectedRow.firstColumn) && !row.isLarge(column)
                        && isAsComputed(place, expected, scope, row)
            case .notCompared: isEqual = true
            case .constant(let value): isEqual = try actual.isEqual(place + ExpectedRow.firstColumn, to: value)
            case .copyUnlessNull, .carry, .restore, .compute:
                isEqual = try isAsComputed(place, expected, scope, row)
            }
            if !isEqual { return expected.columns[place].name }
        }
        return nil
    }

    private func isAsComputed(
        _ place: Int, _ expected: ExpectedRow, _ scope: PlainScope, _ row: StoredRows
    ) throws -> Bool {
        if actual.isLarge(place + ExpectedRow.firstColumn),
            let content = try expected.largeContent(at: place, in: scope, evaluator, objects, row)
        {
            return try actual.isEqual(place + ExpectedRow.firstColumn, to: content)
        }
        let value = try expected.value(at: place, in: scope, evaluator, objects, row)
        return try value.map { try actual.isEqual(place + ExpectedRow.firstColumn, to: $0) } ?? true
    }

    /// Counts an object whose expected row cannot be computed as a difference: the run should have failed on it.
    private func orReport(
        _ mapping: ResolvedEntityMapping, _ object: PlainObject, _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
            let source = try context.sourceTable(of: object.entity).name
            context.report(RowsCheck.self, entity: mapping.destination, example: "source \(source) Z_PK \(object.key)")
        }
    }
}
