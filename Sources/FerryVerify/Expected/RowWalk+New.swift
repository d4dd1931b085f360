internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Objects that no source object has given its key: those of policies, and those of mappings that give new keys.
extension RowWalk {
    // MARK: Objects of policies

    /// Compares what a policy left as the mapping has it, where it made an object with the key of its source.
    func compareMade(
        _ expected: ExpectedRow, _ object: PlainObject, _ scope: PlainScope, _ row: StoredRows
    ) throws {
        try passExtra(before: object.key)
        guard actualKey == object.key, actual.integer(1) == expected.entityNumber else { return }
        try makeKnown()
        try compare(expected, key: object.key, scope, row, version: SourceRows.versionColumn)
    }

    /// Passes objects that policies made from nothing, up to a key; all their values are the policies' own.
    func passMade(before key: Int64?) throws {
        while let actualKey, key.map({ actualKey < $0 }) ?? true {
            let places = table.columns.indices.map { $0 + ExpectedRow.firstColumn }
            context.report.notRecomputed += Int64(places.filter { !actual.isNull($0) }.count)
            try makeKnown()
            done += 1
            try advance()
            try context.advance(table.name, done: done, total: total)
        }
    }

    /// Lets mappings that look for objects find the current one.
    func makeKnown() throws {
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

    func compareNew(
        _ mapping: ResolvedEntityMapping, of sources: KeyRange, next: inout Int64, _ counts: inout RecountedMappings
    ) throws {
        let rows = try SourceRows(
            for: [mapping], onlyEntity: mapping.source, withValues: true,
            range: position?.sources[mapping.source].map(KeyRange.from) ?? sources, objects: objects, in: context)
        position = nil
        let expected = try ExpectedRow(mapping, rows: rows, in: context)
        expected.isLookedUp = lookups.isNeeded(for: mapping.destination)
        expected.isAssociated = needsAssociation.contains(mapping.position)
        let instances = Instances(mapping: mapping, evaluator: evaluator)
        while let object = try rows.next() {
            try pause(next: next, &counts) { $0[mapping.source] = object.key }
            rows.open(object)
            try orReport(expected, object) {
                try instances.each(of: object) { scope, element, passes in
                    counts.read(by: mapping.position)
                    guard passes else {
                        counts.dropped(by: mapping.position)
                        return
                    }
                    try make(expected, scope, element, rows.row, next: &next, &counts)
                }
            }
            objects.closeRow()
            try context.advance(table.name, done: done, total: total)
        }
    }

    func make(
        _ expected: ExpectedRow, _ scope: PlainScope, _ element: Int64, _ row: StoredRows, next: inout Int64,
        _ counts: inout RecountedMappings
    ) throws {
        func value(of attribute: String) throws -> PlainValue {
            try expected.value(of: attribute, in: scope, evaluator, objects, row)
        }
        var key = next
        if expected.isUnique, let found = try lookups.find(expected.mapping, value: value) {
            key = found
            counts.merged(by: expected.position)
        } else {
            next = try self.key(1, after: next)
            counts.wrote(by: expected.position)
            if expected.isLookedUp {
                try lookups.add(entity: expected.mapping.destination, key: key, value: value)
            }
            // An object that fails here has had its key.
            try orReport(expected, scope.source) { try compare(expected, key: key, scope, row, version: nil) }
        }
        if expected.isAssociated {
            try context.associations.record(expected.mapping, source: scope.source.key, element: element, key: key)
        }
    }

    func key(_ count: Int64, after key: Int64) throws(FerryError) -> Int64 {
        let (next, isTooHigh) = key.addingReportingOverflow(count)
        if isTooHigh { throw noKeysLeft }
        return next
    }

    var noKeysLeft: FerryError {
        FerryError(
            .noKeysLeft,
            "New objects of \(root) cannot be checked: the keys of the source end at the last of all keys.",
            remedy: "Correct Z_PRIMARYKEY.Z_MAX, or the rows with such keys, in a copy of the source.",
            place: .init(entity: root))
    }
}
