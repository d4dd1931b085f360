internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The comparison of one destination root table with the rows that the entity mappings are expected to make.
final class RowWalk {
    private let root: String
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
    private var done: Int64 = 0
    /// Rows compared; fewer than ``done`` where a sample is.
    private var checked: Int64 = 0

    /// Where an earlier call stopped.
    private var position: VerificationProgress.RowPosition?
    private var stage = 0

    // The destination's rows, in key order.
    private let actual: StoredRows
    private var actualKey: Int64?

    init(
        root: String, number: Int, from position: VerificationProgress.RowPosition?, in context: VerificationContext
    ) throws {
        self.root = root
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
        total = try context.connection.integer("SELECT count(*) FROM destination.\(table.name)")
        actual = try StoredRows(
            of: table.name, schema: "destination",
            columns: ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name),
            where: position?.actualKey.map { "Z_PK >= \($0)" }, in: context)
        if let position {
            self.position = position
            (done, checked) = (position.done, position.checked)
            if position.actualKey == nil { return }
        }
        try advance()
    }

    func run(_ counts: inout RecountedMappings) throws {
        try context.announce(table.name, done: 0, total: total)
        // Nothing is above the last of all keys.
        let (first, isAtEnd) = try context.highestKeptKey(in: root).addingReportingOverflow(1)
        if position?.stage ?? 0 == 0 {
            try compareKept(&counts)
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
        context.report.checked += checked
    }

    // MARK: Objects that keep their keys

    private func compareKept(_ counts: inout RecountedMappings) throws {
        var walks: [(rows: SourceRows, object: PlainObject?)] = []
        var expected: [String: [ExpectedRow]] = [:]
        let bySourceRoot = Dictionary(grouping: keepers) { context.sourceModel.root(of: $0.source) }
        for root in bySourceRoot.keys.sorted(by: codeUnitOrder) {
            let mappings = bySourceRoot[root] ?? []
            if let position, position.sources[root] == nil { continue }
            let rows = try SourceRows(
                for: mappings, onlyEntity: nil, withValues: true, from: position?.sources[root], objects: objects,
                in: context)
            for mapping in mappings {
                expected[mapping.source, default: []].append(try ExpectedRow(mapping, rows: rows, in: context))
            }
            walks.append((rows, try rows.next()))
        }
        // All source tables that keep keys here, as one sequence in key order; as a rule there is one.
        while let lowest = walks.indices.filter({ walks[$0].object != nil }).min(by: {
            (walks[$0].object?.key ?? 0) < (walks[$1].object?.key ?? 0)
        }) {
            let rows = walks[lowest].rows
            if let object = walks[lowest].object, let candidates = expected[object.entity] {
                rows.open(object)
                for row in candidates { try compareKept(row, object, rows.row, &counts) }
            }
            objects.openRow = nil
            walks[lowest].object = try rows.next()
            try pause(next: 0, &counts) { sources in
                for walk in walks { sources[walk.rows.root] = walk.object?.key }
            }
        }
        position = nil
    }

    private func compareKept(
        _ expected: ExpectedRow, _ object: PlainObject, _ row: StoredRows, _ counts: inout RecountedMappings
    ) throws {
        let mapping = expected.mapping
        counts[mapping].read += 1
        try orReport(mapping, object) {
            let scope = PlainScope(source: object)
            if mapping.policy != nil { return try compareMade(expected, object, scope, row) }
            if let filter = mapping.filter, try !evaluator.holds(filter, in: scope) {
                counts[mapping].dropped += 1
                return
            }
            counts[mapping].written += 1
            if lookups.isNeeded(for: mapping.destination) {
                try lookups.add(entity: mapping.destination, key: object.key) { attribute in
                    try expected.value(of: attribute, in: scope, evaluator, objects, row)
                }
            }
            try compare(expected, key: object.key, scope, row, version: SourceRows.versionColumn)
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
            context.report.notRecomputed += Int64((0..<table.columns.count).filter { !actual.isNull($0 + 3) }.count)
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
            return try actual.raw(place + 3)
        }
    }

    // MARK: Objects with new keys

    private func compareNew(
        _ mapping: ResolvedEntityMapping, next: inout Int64, _ counts: inout RecountedMappings
    ) throws {
        let rows = try SourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: true, from: position?.sources[mapping.source],
            objects: objects, in: context)
        position = nil
        let expected = try ExpectedRow(mapping, rows: rows, in: context)
        let instances = Instances(mapping: mapping, evaluator: evaluator)
        while let object = try rows.next() {
            try pause(next: next, &counts) { $0[mapping.source] = object.key }
            rows.open(object)
            try orReport(mapping, object) {
                try instances.each(of: object) { scope, element, passes in
                    counts[mapping].read += 1
                    guard passes else {
                        counts[mapping].dropped += 1
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
            counts[mapping].merged += 1
        } else {
            next = try self.key(1, after: next)
            counts[mapping].written += 1
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
        _ expected: ExpectedRow, key: Int64, _ scope: PlainScope, _ row: StoredRows, version: Int?
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
            if let place = try difference(expected, scope, row, version: version) {
                context.report(
                    RowsCheck.self, entity: expected.mapping.destination,
                    example: "\(table.name) Z_PK \(key) \(place)")
            }
        }
        done += 1
        try advance()
        try context.advance(table.name, done: done, total: total)
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
                    try actual.isEqual(place + 3, row, column)
                    || !actual.isLarge(place + 3) && !row.isLarge(column)
                        && isAsComputed(place, expected, scope, row)
            case .notCompared: isEqual = true
            case .constant(let value): isEqual = try actual.isEqual(place + 3, to: value)
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
        if actual.isLarge(place + 3),
            let content = try expected.largeContent(at: place, in: scope, evaluator, objects, row)
        {
            return try actual.isEqual(place + 3, to: content)
        }
        let value = try expected.value(at: place, in: scope, evaluator, objects, row)
        return try value.map { try actual.isEqual(place + 3, to: $0) } ?? true
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
