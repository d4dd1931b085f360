internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// Finds the object on which one of our SQL functions fails, after the failure of a statement over many rows.
///
/// SQLite does not tell the row. The search computes the same values again, over ever smaller ranges of keys.
struct FailedRowSearch {
    let entity: String
    /// Destination attributes with the SQL of their values.
    let columns: [(property: String, sql: String)]
    /// The rows, with `:low` and `:high`.
    let rows: SourceScope
    let connection: Connection
    let longestValue: Int
    let now: Double

    /// The error of a function with the first object of a range on which it fails, unless the error names one or none
    /// fails again; it does not show the value.
    func located(_ error: FerryError, in range: KeyRange = .all) throws -> FerryError {
        guard error.code == .rowFailed, error.place.primaryKey == nil else { return error }
        return try connection.with(.length, longestValue) {
            let all = columns.map(\.sql)
            guard var range = try part(of: range, where: all) else { return error }
            while range.high - range.low > 1 {
                var lower = range
                lower.high = range.low + (range.high - range.low) / 2
                if try fails(all, in: lower) { range = lower } else { range.low = lower.high }
            }
            // Nil if the FROM or WHERE clause fails.
            let property =
                try fails([], in: range) ? nil : try columns.first { try fails([$0.sql], in: range) }?.property
            var error = error
            error.place.entity = entity
            error.place.primaryKey = range.high
            error.place.property = property ?? error.place.property
            let value = property.map { ", value of \($0)" } ?? ""
            error.message = "\(entity) with key \(range.high)\(value): \(error.message)"
            return error
        }
    }

    /// The first part of a range that fails; each part is twice as long as the one before, to read few rows twice.
    private func part(of range: KeyRange, where columns: [String]) throws -> KeyRange? {
        var part = range
        // Core Data counts keys from 1.
        part.low = max(range.low, 0)
        var width: Int64 = 1024
        while part.low < range.high {
            part.high = part.low + min(width, range.high - part.low)
            if try fails(columns, in: part) { return part }
            part.low = part.high
            width = width.multipliedReportingOverflow(by: 2).overflow ? .max : width * 2
        }
        return nil
    }

    private func fails(_ columns: [String], in range: KeyRange) throws -> Bool {
        let statement = try connection.prepare(
            "SELECT \(columns.isEmpty ? "1" : columns.joined(separator: ", ")) FROM \(rows.from)\(rows.where)")
        try rows.parameters.bind(to: statement, now: now)
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
