internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Finds the objects of rows with values that are too large for their chunk by the values of `unique`.
final class LargeRowSearch {
    let lookup: ObjectLookup
    private let search: Statement

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        let lookup = try ObjectLookup.of(mapping, ofLargeRows: true, in: context)
        self.lookup = lookup
        let (connection, count) = (context.connection, mapping.unique.count)
        let function = "ferry_seek_\(lookup.id)"
        try connection.register(function, arguments: count, deterministic: false) {
            [owner = lookup.owner] arguments, result in
            if let key = try owner.object?.find(arguments, from: 0) { result.set(key) }
        }
        search = try connection.prepare(
            "SELECT \(function)(\((1...count).map { "?\($0)" }.joined(separator: ", ")))")
        search.isSilent = true
    }

    func find(in statement: Statement, at columns: Range<Int>) throws -> Int64? {
        for (index, column) in columns.enumerated() {
            try search.bind(column: column, of: statement, at: index + 1)
        }
        defer { search.reset() }
        return try search.step() && !search.isNull(0) ? search.integer(0) : nil
    }
}
