/// Links of a source relationship that the migration says it loses.
package struct ToldLinks: Sendable, Hashable, Codable {
    /// The entity that declares the relationship, or one of its subentities.
    package var entity: String
    package var relationship: String
    /// Their number; nil if it is not known.
    package var number: Int64?

    package init(entity: String, relationship: String, number: Int64?) {
        (self.entity, self.relationship, self.number) = (entity, relationship, number)
    }
}
