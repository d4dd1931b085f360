public import FerryBase

/// The statements that a step of a migration will run, in their order.
///
/// What only rows ask for (a value that is too large for its chunk, a row that is damaged, what a migration policy does
/// by itself) is not among them.
public struct PlannedStatements: Sendable, Hashable, Codable {
    /// Counted from 1.
    public var step: Int
    public var from: String
    public var to: String
    /// Whether they run on the store itself, in one transaction; else `main` is the new store, `source` the old one, and
    /// `scratch` holds associations and lookups.
    public var isInPlace: Bool
    public var groups: [Group]

    /// Statements that serve one purpose.
    public struct Group: Sendable, Hashable, Codable {
        /// Nil for what makes the tables of a new store.
        public var phase: Phase?
        /// Why a step in place runs them.
        public var reason: String?
        public var statements: [Statement]
    }

    public struct Statement: Sendable, Hashable, Codable {
        public var sql: String
        /// Named parameters that the models and mapping models give a value; chunks give `:low`, `:high` and `:last`.
        public var parameters: [Parameter]
    }

    public struct Parameter: Sendable, Hashable, Codable {
        public var name: String
        /// As SQL writes it.
        public var value: String
    }
}
