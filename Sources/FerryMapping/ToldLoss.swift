/// Values, links or objects of a source entity that the migration says it loses, or of which it computes other values.
package struct ToldLoss: Sendable, Hashable, Codable {
    /// The entity that declares the property, or one of its subentities.
    package var entity: String
    /// Nil for the objects.
    package var property: String?
    /// Their number; nil if it is not known.
    package var number: Int64?
    /// Whether a later step of the chain loses it.
    package var isOfLaterStep = false

    package init(entity: String, property: String?, number: Int64?) {
        (self.entity, self.property, self.number) = (entity, property, number)
    }
}
