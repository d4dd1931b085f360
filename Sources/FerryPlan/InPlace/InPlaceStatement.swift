package import FerryModel

/// One statement of a migration in place, with the values that it binds and why it is there.
package struct InPlaceStatement: Sendable, Hashable {
    package var sql: String
    /// Named parameters, as `:v0`.
    package var values: [InPlaceValues.Named]
    package var reason: String
    /// The entity of the new version all of whose rows, and no other row, the statement writes.
    ///
    /// It does not number them anew, and they alone belong into their table. So the rows that it changes need not be
    /// counted again.
    package internal(set) var countedEntity: String?
    /// What an ALTER TABLE is about; nil for every other statement.
    package var alteration: Alteration?

    /// Whether it only writes objects and links: neither the schema nor what is as small as that.
    package let writesObjects: Bool

    package struct Alteration: Sendable, Hashable {
        package var table: String
        /// The table's name afterwards.
        package var newName: String
    }

    init(
        _ sql: String, values: InPlaceValues = InPlaceValues(), writesObjects: Bool, reason: String,
        alteration: Alteration? = nil
    ) {
        self.sql = sql
        self.writesObjects = writesObjects
        self.values = values.named
        self.reason = reason
        self.alteration = alteration
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
