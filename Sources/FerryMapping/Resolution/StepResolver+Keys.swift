internal import FerryModel

extension StepResolver {
    /// Whether each live mapping's objects keep the primary keys of their sources.
    ///
    /// Keys are unique per root table. In each destination root the first source root that can keep its keys does, and of
    /// it each source entity once: two mappings of one entity may make two objects of one source object.
    func keepingPrimaryKeys() -> [Bool] {
        var keeper: [String: String] = [:]
        var carried: [String: Set<String>] = [:]
        return live.map { mapping in
            guard mapping.mapping.iteration == nil, mapping.mapping.unique.isEmpty else { return false }
            let sourceRoot = source.model.root(of: mapping.source)
            let destinationRoot = destination.model.root(of: mapping.destination)
            if keeper[destinationRoot] == nil { keeper[destinationRoot] = sourceRoot }
            guard keeper[destinationRoot] == sourceRoot else { return false }
            return carried[destinationRoot, default: []].insert(mapping.source).inserted
        }
    }
}
