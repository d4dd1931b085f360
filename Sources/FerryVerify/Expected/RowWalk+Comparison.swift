internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The comparison of one destination row with its expected row.
extension RowWalk {
    // MARK: Comparing

    func advance() throws {
        actualKey = try actual.step() ? actual.integer(0) : nil
    }

    func reportAdditionalRows(before key: Int64?) throws {
        while let actualKey, key.map({ actualKey < $0 }) ?? true {
            let entity = context.destinationEntities[actual.integer(1)]
            if try entity != nil || !context.keptUnknownRows.holds(actualKey, in: root) {
                context.report(
                    RowsCheck.self, entity: entity ?? root, example: "\(table.name) Z_PK \(actualKey)")
                keys.compareAdditionalRow(actual)
                if let entity {
                    try lookups?.settle(entity: entity, key: actualKey, expected: nil, stored: actual)
                }
            }
            done += 1
            checked += 1
            try advance()
            try context.advance(table.name, done: done, total: total)
        }
    }

    /// Whether a key is in the sample: multiples of the golden ratio spread evenly, whatever pattern the rows have.
    static func isInSample(_ key: Int64, of context: VerificationContext) -> Bool {
        let share = context.verification.sampledPerMille
        guard share < 1_000 else { return true }
        let place = (UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 1_000).high
        return place < UInt64(max(share, 0))
    }

    func compare(
        _ expected: ExpectedRow, key: Int64, _ scope: PlainScope?, _ row: TableRows, version: Int?
    ) throws {
        try reportAdditionalRows(before: key)
        guard actualKey == key else {
            context.report(
                RowsCheck.self, entity: expected.mapping.destination, example: "\(table.name) Z_PK \(key)")
            return try keys.compare(nil, with: row, scope, by: expected.position)
        }
        try keys.compare(actual, with: row, scope, by: expected.position)
        if isWholeSample || Self.isInSample(key, of: context) {
            checked += 1
            if expected.notRecomputed > 0 { context.report.notRecomputed += expected.notRecomputed }
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

    /// Whether the current destination row is as expected; if not, ``difference(_:_:_:version:)`` finds the column.
    ///
    /// The scope is for computed cells; the version is the source's column of `Z_OPT`, nil for a new object.
    func isEqual(
        _ expected: ExpectedRow, _ scope: PlainScope?, _ row: TableRows, version: Int?
    ) throws -> Bool {
        guard actual.isWhole, row.isWhole || version == nil && !expected.takesFromRow else { return false }
        let (found, source) = (actual.walk, row.walk)
        guard found.integer(1) == expected.entityNumber,
            version.map({ found.holdsSame(2, as: source, $0) }) ?? StoredValue.isEqual(found, 2, to: .integer(1)),
            found.holdsSame(expected.copies, as: source), found.areNull(expected.nulls)
        else { return false }
        for (place, value) in expected.constants
        where !StoredValue.isEqual(found, place + ExpectedRow.firstColumn, to: value) {
            return false
        }
        guard try expected.holdsOwnComputed(found, for: source) else { return false }
        guard let scope else { return true }
        return try expected.holdsSought(found)
            && expected.computed.allSatisfy { try isAsComputed($0, expected, scope, row) }
    }

    /// The first column of the current destination row that is not as expected.
    func difference(
        _ expected: ExpectedRow, _ scope: PlainScope, _ row: TableRows, version: Int?
    ) throws -> String? {
        if actual.integer(1) != expected.entityNumber { return "Z_ENT" }
        if let version {
            if try !actual.isEqual(2, row, version) { return "Z_OPT" }
        } else if try !actual.isEqual(2, to: .integer(1)) {
            return "Z_OPT"
        }
        for (place, cell) in expected.cells.enumerated() {
            if case .copy(let source) = cell {
                let column = place + ExpectedRow.firstColumn
                if try actual.isEqual(column, row, source) { continue }
                // The two columns may have different affinities.
                if actual.isLarge(column) || row.isLarge(source) { return expected.columns[place].name }
            }
            if try !isAsComputed(place, expected, scope, row) { return expected.columns[place].name }
        }
        return nil
    }

    func isAsComputed(
        _ place: Int, _ expected: ExpectedRow, _ scope: PlainScope, _ row: TableRows
    ) throws -> Bool {
        if actual.isLarge(place + ExpectedRow.firstColumn),
            let content = try expected.largeContent(at: place, in: scope, row)
        {
            return try actual.isEqual(place + ExpectedRow.firstColumn, to: content)
        }
        let value = try expected.value(at: place, in: scope, row)
        return try value.map { try actual.isEqual(place + ExpectedRow.firstColumn, to: $0) } ?? true
    }

    /// Reports an object whose expected row cannot be computed: the run should have failed on it.
    func reportingFailures(
        _ expected: ExpectedRow, _ object: @autoclosure () -> PlainObject, _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
            let object = object()
            let source = try context.sourceTable(of: object.entity).name
            context.report(
                RowsCheck.self, entity: expected.mapping.destination, example: "source \(source) Z_PK \(object.key)")
        }
    }
}

/// Objects whose key is not that of a source object: those of policies, and those of mappings that give new keys.
extension RowWalk {
    // MARK: Objects of policies

    /// Compares an object that a policy made with its source's key, if there is one.
    func compareMade(_ expected: ExpectedRow, _ scope: PlainScope, _ row: TableRows) throws {
        let key = scope.source.key
        try reportAdditionalRows(before: key)
        guard actualKey == key, actual.integer(1) == expected.entityNumber else { return }
        try compare(expected, key: key, scope, row, version: MappedSourceRows.versionColumn)
    }

    /// Passes objects that policies inserted, up to a key; all their values are the policies' own.
    func passInserted(before key: Int64?) throws {
        while let actualKey, key.map({ actualKey < $0 }) ?? true {
            let places = table.columns.indices.map { $0 + ExpectedRow.firstColumn }
            context.report.notRecomputed += Int64(places.filter { !actual.isNull($0) }.count)
            done += 1
            try advance()
            try context.advance(table.name, done: done, total: total)
        }
    }

    // MARK: Objects that `unique` finds

    /// Compares what the look-ups have of an object with its expected values.
    func settle(
        _ expected: ExpectedRow, key: Int64, by maker: UniqueSearch? = nil,
        value: @escaping (String) throws -> PlainValue
    ) throws {
        try reportAdditionalRows(before: key)
        try lookups?.settle(
            entity: expected.mapping.destination, key: key, by: maker, expected: value,
            stored: stored(at: key, expected))
    }

    /// The destination's row at a key, if it is the next one and of the entity; else nil.
    private func stored(at key: Int64, _ expected: ExpectedRow) -> TableRows? {
        actualKey == key && actual.integer(1) == expected.entityNumber ? actual : nil
    }

    // MARK: Objects with new keys

    func compareNew(_ mapping: ResolvedEntityMapping, of sources: KeyRange, next: inout Int64) throws {
        let rows = try MappedSourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: true, range: sources, objects: objects, in: context)
        let expected = try ExpectedRow(mapping, rows: rows, by: evaluator, objects, in: context)
        expected.isLookedUp = lookups?.isNeeded(for: mapping.destination) ?? false
        expected.isAssociated = recorded.contains(mapping.position)
        expected.links = try sums(of: mapping)
        let instances = Instances(mapping, of: rows, by: evaluator, in: context)
        while let object = try rows.next() {
            rows.open(object)
            try reportingFailures(expected, object) {
                try instances.each(of: object) { scope, element, passes in
                    counts.byMapping[expected.position].read += 1
                    guard passes else {
                        counts.byMapping[expected.position].dropped += 1
                        return
                    }
                    try make(expected, scope, element, rows.row, next: &next)
                }
            }
            objects.closeRow()
            if mapping.unique.isEmpty {
                try context.advance(table.name, done: done, total: total)
            } else {
                // Many objects that are read may give few new ones.
                try context.advance(mapping.name, done: counts.byMapping[mapping.position].read, total: nil)
            }
        }
    }

    func make(
        _ expected: ExpectedRow, _ scope: PlainScope, _ element: Int64, _ row: TableRows, next: inout Int64
    ) throws {
        func value(of attribute: String) throws -> PlainValue {
            try expected.value(of: attribute, in: scope, row)
        }
        var key = next
        if expected.search != nil, let lookups,
            let found = try lookups.find(
                expected, expected.uniqueValues(in: scope, row), before: key, stored: stored(at: key, expected))
        {
            key = found
            counts.byMapping[expected.position].merged += 1
        } else {
            next = try NewRows.key(1, after: next, in: root)
            counts.byMapping[expected.position].written += 1
            if expected.isLookedUp { try settle(expected, key: key, by: expected.search, value: value) }
            // An object that fails here has used its key.
            try reportingFailures(expected, scope.source) { try compare(expected, key: key, scope, row, version: nil) }
        }
        if expected.isAssociated {
            try context.associations(of: expected.position).add(scope.source.key, element, key)
        }
        for sum in expected.links { try sum.add(scope.source.key, key) }
    }
}
