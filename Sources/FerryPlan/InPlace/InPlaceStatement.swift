package import FerryModel

/// One statement of a migration in place, with the values that it binds and why it is there.
package struct InPlaceStatement: Sendable, Hashable {
    package var sql: String
    /// Named parameters, as `:v0`.
    package var values: [InPlaceValues.Named]
    package var reason: String
    /// The entity of the new version all of whose rows, and no other row, the statement writes, without numbering them
    /// anew; they alone belong into their table. So the rows that it changes need not be counted again.
    package internal(set) var countedEntity: String?

    init(_ sql: String, values: InPlaceValues = InPlaceValues(), reason: String) {
        self.sql = sql
        self.values = values.named
        self.reason = reason
    }
}

/// The values that a statement is bound to: values of a model never stand in SQL text, only entity numbers do.
package struct InPlaceValues: Sendable, Hashable {
    package struct Named: Sendable, Hashable {
        package var name: String
        package var value: DefaultValue
    }

    private(set) var named: [Named] = []

    mutating func addNamed(_ name: String, _ value: DefaultValue) { named.append(Named(name: name, value: value)) }

    /// Adds a value and returns the parameter that stands for it.
    mutating func add(_ value: DefaultValue) -> String {
        if let known = named.first(where: { $0.value == value }) { return known.name }
        let name = ":v\(named.count)"
        named.append(Named(name: name, value: value))
        return name
    }
}
