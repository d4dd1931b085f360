/// How a many-to-many relationship stands in stores of a model, where that does not follow from the model.
///
/// Only a store that Core Data made tells, or an option that repeats what one told.
package struct KnownJoin: Sendable, Hashable {
    /// The entity that declares the relationship which names the table.
    package var entity: String
    /// The relationship that names the table.
    package var relationship: String
    /// What follows the computed name of the column with the naming entity's key, and that of the other one; nil where
    /// the computed ones hold.
    package var firstSuffix: String?
    package var secondSuffix: String?

    package init(entity: String, relationship: String, firstSuffix: String? = nil, secondSuffix: String? = nil) {
        self.entity = entity
        self.relationship = relationship
        self.firstSuffix = firstSuffix
        self.secondSuffix = secondSuffix
    }
}
