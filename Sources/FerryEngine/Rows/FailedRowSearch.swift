internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Finds the object on which one of our SQL functions fails, after the failure of a statement over many rows.
///
/// SQLite does not tell the row. The search computes the same values again, over ever smaller ranges of keys.
struct FailedRowSearch {
    /// An object on which a function fails.
    struct Row {
        var entity: String
        var key: Int64
        /// The attribute with the failing value; nil if the FROM or WHERE clause fails.
        var property: String?
    }

    private let connection: Connection
    private let entity: String
    private let columns: [(property: String, sql: String)]
    /// FROM and WHERE, with `:low` and `:high`.
    private let rows: String
    private let parameters: Parameters
    private let now: Double
    private let largestValue: Int

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws(FerryError) {
        let statements = MappingSQL(mapping, in: context.sql)
        var scope = try statements.scope()
        var columns: [(property: String, sql: String)] = []
        for column in context.program.fills.columns[mapping.position] {
            guard case .expression = column.source else { continue }
            columns.append((column.attribute.name, try statements.value(of: column.source, in: &scope).sql))
        }
        connection = context.connection
        entity = mapping.source
        self.columns = columns
        rows = "\(scope.from)\(scope.where)"
        (parameters, now) = (scope.parameters, context.options.now)
        largestValue = context.options.wholeValueBytes
    }

    init(_ computations: InPlaceComputations, on connection: Connection, now: Double, largestValue: Int) {
        self.connection = connection
        entity = computations.entity
        columns = computations.columns
        rows = "main.\(computations.table) WHERE Z_PK > :low AND Z_PK <= :high AND Z_ENT = \(computations.number)"
        (parameters, self.now) = (computations.values, now)
        self.largestValue = largestValue
    }

    /// The first object of a range on which a function fails; nil if none fails again.
    func first(in range: KeyRange = .all) throws -> Row? {
        try connection.with(.length, largestValue) {
            let all = columns.map(\.sql)
            guard var range = try part(of: range, where: all) else { return nil }
            while range.high - range.low > 1 {
                var lower = range
                lower.high = range.low + (range.high - range.low) / 2
                if try fails(all, in: lower) { range = lower } else { range.low = lower.high }
            }
            let property =
                try fails([], in: range) ? nil : try columns.first { try fails([$0.sql], in: range) }?.property
            return Row(entity: entity, key: range.high, property: property)
        }
    }

    /// The first part of a range that fails; each part is twice as long as the one before, to read few rows twice.
    private func part(of range: KeyRange, where values: [String]) throws -> KeyRange? {
        var part = range
        // Core Data counts keys from 1.
        part.low = max(range.low, 0)
        var width: Int64 = 1024
        while part.low < range.high {
            part.high = part.low + min(width, range.high - part.low)
            if try fails(values, in: part) { return part }
            part.low = part.high
            width = width.multipliedReportingOverflow(by: 2).overflow ? .max : width * 2
        }
        return nil
    }

    private func fails(_ values: [String], in range: KeyRange) throws -> Bool {
        let statement = try connection.prepare(
            "SELECT \(values.isEmpty ? "1" : values.joined(separator: ", ")) FROM \(rows)")
        try parameters.bind(to: statement, now: now)
        try statement.bind(range)
        do {
            while try statement.step() {}
            return false
        } catch {
            guard (connection.takeFunctionError() as? FerryError)?.code == .rowFailed else { throw error }
            return true
        }
    }
}

extension FerryError {
    /// The error with its object; it does not show the value.
    func at(_ row: FailedRowSearch.Row?) -> FerryError {
        guard let row, code == .rowFailed, place.primaryKey == nil else { return self }
        var error = self
        error.place.entity = row.entity
        error.place.primaryKey = row.key
        error.place.property = row.property ?? place.property
        let value = row.property.map { ", value of \($0)" } ?? ""
        error.message = "\(row.entity) with key \(row.key)\(value): \(message)"
        return error
    }
}
