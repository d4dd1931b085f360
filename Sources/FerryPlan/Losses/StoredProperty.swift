/// What a store's rows of an entity hold: one of its properties, or the objects themselves.
package struct StoredProperty: Sendable, Hashable {
    package var entity: String
    /// An attribute, an element of a composite under its full name, or a relationship; nil for the objects.
    package var property: String?

    package init(entity: String, property: String?) {
        self.entity = entity
        self.property = property
    }

    /// `Entity.property`, or the entity's name.
    package var name: String { property.map { "\(entity).\($0)" } ?? entity }
}
