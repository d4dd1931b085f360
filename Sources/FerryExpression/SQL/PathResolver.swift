package import FerryBase

/// A value that a statement binds.
package enum SQLParameter: Sendable, Hashable {
    case constant(Expression.Constant)
    /// `now()`: the run's fixed time, in seconds since 2001-01-01 UTC, bound as a real.
    case now
}

/// Translated text and what it yields.
package struct SQLFragment: Sendable, Hashable {
    package var sql: String
    package var type: ValueType

    package init(sql: String, type: ValueType) {
        self.sql = sql
        self.type = type
    }
}

/// What a statement under construction gives to the translation: columns and places for parameters.
package protocol PathResolver {
    /// The column at the end of a path, with the joins that it needs added to the statement.
    ///
    /// The end is an attribute (its column), an object (the key of the object: `Z_PK`, or the foreign key of the last
    /// hop), or JSON without keys (the element's own value). ``ResolvedPath/valueKeys`` are the translation's business.
    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String

    /// The JSON text of the iteration's element (``JSONArrayScanner/Element/json``), for `ferry_json_get`.
    mutating func elementText() throws(FerryError) -> String

    /// The column that holds what `ferry_json_get` would read from the element's text at the end of a path of keys, or
    /// nil where the statement has none.
    mutating func elementMember(_ keys: [String]) throws(FerryError) -> String?

    /// The placeholder of a value, for example `?3`; equal values may share one.
    mutating func parameter(_ value: SQLParameter) -> String

    /// The placeholder of the bytes of a ``ComputationProgram``.
    mutating func parameter(program: [UInt8]) -> String

    /// Begins a subquery over the members of a collection; columns of members are its own until it ends.
    ///
    /// For a union of objects `keys` is the SELECT of their keys.
    mutating func open(_ collection: CollectionComputation, keys: String?) throws(FerryError)

    /// Ends the subquery that was begun last.
    mutating func closeCollection() -> CollectionSQL
}

/// What a subquery over the members of a collection consists of, but for the values.
package struct CollectionSQL {
    package var from: String
    package var conditions: [String]
    /// What orders the members as the relationships do.
    package var order: [String]

    package init(from: String, conditions: [String], order: [String]) {
        self.from = from
        self.conditions = conditions
        self.order = order
    }
}

extension PathResolver {
    package mutating func open(_ collection: CollectionComputation, keys: String?) throws(FerryError) {
        throw FerryError(.unsupported, "An expression reads a collection where there is but one row.")
    }

    package mutating func closeCollection() -> CollectionSQL { preconditionFailure("no collection was begun") }

    package mutating func elementMember(_ keys: [String]) throws(FerryError) -> String? { nil }
}
