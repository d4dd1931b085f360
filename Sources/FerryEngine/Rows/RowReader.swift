internal import FerryBase
internal import FerryExpression
internal import FerrySQLite

/// Reads the source objects of one entity mapping for Swift, one row per element of its iteration, in order.
///
/// It belongs to the thread of its connection.
final class RowReader {
    let select: Statement
    private let row: StatementRow
    private let plan: RowPlan
    private let low: Int?
    private let high: Int?

    init(_ plan: RowPlan, on connection: Connection) throws {
        self.plan = plan
        select = try plan.sql.prepare(on: connection)
        row = StatementRow(select)
        low = select.parameter(":low")
        high = select.parameter(":high")
    }

    /// Begins with the rows of a range.
    func start(low: Int64, high: Int64) throws {
        if let index = self.low { try select.bind(low, at: index) }
        if let index = self.high { try select.bind(high, at: index) }
    }

    /// Packs the current row.
    ///
    /// - Returns: False when there is no room for it.
    func pack(into rows: PackedRows) throws -> Bool {
        guard rows.begin() else { return false }
        guard try isTaken() else {
            rows.pack(select.integer(RowPlan.keyCell), into: RowPlan.keyCell)
            rows.finish(isTaken: false)
            return true
        }
        guard rows.pack(plan.packed, of: select) else { return false }
        for (index, evaluator) in plan.evaluated.enumerated() {
            let cell = plan.packed.count + index
            if plan.mayMiss {
                guard packAhead(evaluator, into: cell, of: rows) else { return false }
            } else {
                guard rows.pack(try evaluator.value(in: row), into: cell) else { return false }
            }
        }
        rows.finish(isTaken: true)
        return true
    }

    /// What is longer is computed when it is needed: a policy may not need it, and holds the row already.
    private static let aheadLimit = 4096

    /// Packs a value that may never be needed, so that it must neither fail nor take much room.
    private func packAhead(_ evaluator: RowEvaluator, into cell: Int, of rows: PackedRows) -> Bool {
        guard case .success(let value) = Result(catching: { try evaluator.value(in: row) }) else {
            rows.packMissing(into: cell)
            return true
        }
        switch value {
        case .text(let bytes) where bytes.count > Self.aheadLimit, .blob(let bytes) where bytes.count > Self.aheadLimit:
            rows.packMissing(into: cell)
            return true
        default: return rows.pack(value, into: cell)
        }
    }

    /// Whether the current row is carried: its JSON is valid or need not be, and the filter lets it through.
    private func isTaken() throws -> Bool {
        if plan.skipsInvalid, select.isNull(RowPlan.ordinalCell) { return false }
        return try plan.filter?.holds(in: row) ?? true
    }
}

/// A statement's current row, for the evaluation of expressions.
private final class StatementRow: RowValues {
    let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    func value(at place: Int) -> FunctionValue {
        switch statement.storageClass(place) {
        case .null: .null
        case .integer: .integer(statement.integer(place))
        case .real: .real(statement.real(place))
        // SQLite's memory stays where it is until the statement goes on.
        case .text: .text(statement.withBytes(place) { $0 })
        case .blob: .blob(statement.withBytes(place) { $0 })
        }
    }
}

extension PackedRows {
    /// Packs what a computation yielded; false when there is no room.
    fileprivate func pack(_ value: FunctionValue, into cell: Int) -> Bool {
        switch value {
        case .null: packNull(into: cell)
        case .integer(let integer): pack(integer, into: cell)
        case .real(let real): pack(real, into: cell)
        case .text(let bytes): return pack(bytes, isText: true, into: cell)
        case .blob(let bytes): return pack(bytes, isText: false, into: cell)
        }
        return true
    }
}
