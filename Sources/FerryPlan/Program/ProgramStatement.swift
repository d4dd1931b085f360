internal import FerryStore

/// A statement of a step's program, in a copy or in place.
package struct ProgramStatement: Sendable, Hashable {
    package enum Form: Sendable, Hashable {
        /// In one unit; it writes objects, links, or what counts them.
        case once
        /// As ``once``, and it makes a part of the new version's schema or of the small tables that describe it.
        case schema
        /// In chunks of the keys of a table, named as in SQL.
        case chunks(over: String)
        /// It reads rows for Swift, or writes a row that comes from there.
        case rows
    }

    package let sql: BoundSQL
    package let form: Form
    /// The reason for the statement; nil if that of its operation says enough.
    package let reason: String?
    /// The tables that decide how long the statement takes.
    package let tables: StatementTables

    package var isInChunks: Bool { if case .chunks = form { true } else { false } }

    /// Whether the statement writes rows of a table, so that a large cache helps it.
    package var writesRows: Bool { if case .rows = tables { true } else { false } }

    init(_ sql: BoundSQL, _ form: Form, reason: String? = nil, tables: StatementTables = .schema) {
        (self.sql, self.form, self.reason, self.tables) = (sql, form, reason, tables)
    }

    init(
        _ text: String, values: Parameters = Parameters(), _ form: Form, reason: String? = nil,
        tables: StatementTables = .schema
    ) {
        self.init(BoundSQL(text, values), form, reason: reason, tables: tables)
    }
}
