internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

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

    let entity: String
    /// Destination attributes with the SQL of their values.
    let columns: [(property: String, sql: String)]
    /// The rows, with `:low` and `:high`.
    let rows: SourceScope
    let connection: Connection
    let longestValue: Int
    let now: Double

    /// The first object of a range on which a function fails; nil if none fails again.
    func first(in range: KeyRange = .all) throws -> Row? {
        try connection.with(.length, longestValue) {
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
