/// What an entity asks to be indexed, in a form that is equal for equal indexes however the file writes them.
///
/// Compiled models repeat each fetch index in the older forms (`indexed`, `compoundIndexes`); the repetition says
/// nothing new.
struct EntityIndexes: Equatable {
    private struct Index: Hashable {
        var elements: [FetchIndex.Element]
        var predicate: String?
    }

    private var indexes: Set<Index>

    /// The indexes of an entity, with each property under the name that `renamed` gives it.
    init(_ entity: Entity, renamed: (String) -> String) {
        var indexes: Set<Index> = []
        var repeated: Set<[String]> = []
        for index in entity.fetchIndexes {
            let elements = index.elements.map { element in
                var element = element
                element.property = element.property.map(renamed)
                return element
            }
            indexes.insert(Index(elements: elements, predicate: index.partialIndexPredicate))
            let properties = elements.compactMap(\.property)
            repeated.insert(properties)
            for property in properties { repeated.insert([property]) }
        }
        let single = entity.attributes.filter { $0.isIndexed && !$0.isTransient }.map { [$0.name] }
        for names in single + entity.compoundIndexes {
            let properties = names.map(renamed)
            if repeated.contains(properties) { continue }
            let elements = properties.map { FetchIndex.Element(property: $0) }
            indexes.insert(Index(elements: elements, predicate: nil))
        }
        self.indexes = indexes
    }
}
