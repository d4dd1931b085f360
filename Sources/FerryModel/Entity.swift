/// An entity as its model declares it; what it inherits is asked of the model.
package struct Entity: Sendable, Hashable {
    package var name: String
    package var superentity: String?
    package var isAbstract: Bool
    /// Own attributes, in the order of the file.
    package var attributes: [Attribute]
    /// Own relationships, in the order of the file.
    package var relationships: [Relationship]
    package var fetchedProperties: [FetchedProperty] = []
    /// Own constraints, each a list of property names.
    package var uniquenessConstraints: [[String]]
    package var fetchIndexes: [FetchIndex]
    /// Old form (`compoundIndexes`), each a list of property names.
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

/// A fetched property: part of the model, stored and hashed nowhere.
package struct FetchedProperty: Sendable, Hashable {
    package var name: String
    /// Its whole archived form; nil when it comes from a source file.
    package var archived: [String: ArchivedValue]?

    package init(name: String, archived: [String: ArchivedValue]? = nil) {
        self.name = name
        self.archived = archived
    }
}

/// An index that the model requires (`fetchIndex`).
package struct FetchIndex: Sendable, Hashable {
    package struct Element: Sendable, Hashable {
        package enum Kind: Sendable, Hashable { case binary, rtree }

        /// A property's name, or nil when the element is an expression.
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
    /// The text of the predicate of a partial index.
    package var partialIndexPredicate: String?
    /// The predicate's archived form; nil when it comes from a source file.
    package var archivedPredicate: ArchivedValue?

    package init(name: String, elements: [Element], partialIndexPredicate: String? = nil) {
        self.name = name
        self.elements = elements
        self.partialIndexPredicate = partialIndexPredicate
    }
}
