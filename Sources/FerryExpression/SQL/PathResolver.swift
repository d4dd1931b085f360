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
}

extension PathResolver {
    package mutating func elementMember(_ keys: [String]) throws(FerryError) -> String? { nil }
}
