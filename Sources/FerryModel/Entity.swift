/// An entity as its model declares it; the model answers questions about inheritance.
package struct Entity: Sendable, Hashable {
    package var name: String
    package var superentity: String?
    package var isAbstract: Bool
    /// Own attributes, in the order of the source file; by name from an archive.
    package var attributes: [Attribute]
    /// Own relationships, in the order of the source file; by name from an archive.
    package var relationships: [Relationship]
    package var fetchedProperties: [FetchedProperty] = []
    /// Own constraints, each a list of property names.
    package var uniquenessConstraints: [[String]]
    package var fetchIndexes: [FetchIndex]
    /// The older form of indexes (`compoundIndexes`), each a list of property names.
    package var compoundIndexes: [[String]] = []
    /// `elementID` in a source file; nil means the name.
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    package var className: String?
    package var userInfo: [String: String] = [:]

    package init(
        name: String, superentity: String? = nil, isAbstract: Bool = false, attributes: [Attribute] = [],
        relationships: [Relationship] = [], uniquenessConstraints: [[String]] = [], fetchIndexes: [FetchIndex] = [],
        renamingIdentifier: String? = nil
    ) {
        self.name = name
        self.superentity = superentity
        self.isAbstract = isAbstract
        self.attributes = attributes
        self.relationships = relationships
        self.uniquenessConstraints = uniquenessConstraints
        self.fetchIndexes = fetchIndexes
        self.renamingIdentifier = renamingIdentifier
    }
}

/// A fetched property: part of the model, but of no table and no version hash.
package struct FetchedProperty: Sendable, Hashable {
    package var name: String
    /// The property's archived form; nil for a property from a source file.
    package var archived: [String: ArchivedValue]?

    package init(name: String, archived: [String: ArchivedValue]? = nil) {
        self.name = name
        self.archived = archived
    }
}

package struct FetchIndex: Sendable, Hashable {
    package struct Element: Sendable, Hashable {
        package enum Kind: Sendable, Hashable { case binary, rtree }

        /// The property's name; nil for an element with an expression.
        package var property: String?
        /// The expression's text, for example `self` or `entity`.
        package var expression: String?
        package var kind: Kind
        package var isAscending: Bool

        package init(property: String?, expression: String? = nil, kind: Kind = .binary, isAscending: Bool = true) {
            self.property = property
            self.expression = expression
            self.kind = kind
            self.isAscending = isAscending
        }
    }

    package var name: String
    package var elements: [Element]
    package var partialIndexPredicate: String?
    /// The predicate's archived form; nil for a predicate from a source file.
    package var archivedPredicate: ArchivedValue?

    package init(name: String, elements: [Element], partialIndexPredicate: String? = nil) {
        self.name = name
        self.elements = elements
        self.partialIndexPredicate = partialIndexPredicate
    }
}
