extension ManagedObjectModel {
    /// All attributes of an entity, inherited ones included, with composites unfolded to what is stored of them.
    ///
    /// An element is called `composite.element`. It is optional where it or a composite around it is.
    package func leaves(of entity: String) -> [Attribute] { attributes(of: entity).flatMap(leaves) }

    /// The attribute itself, or the stored elements of a composite in their declared order, nested ones in their place.
    package func leaves(of attribute: Attribute) -> [Attribute] {
        attribute.type == .composite ? elements(of: attribute).flatMap(leaves) : [attribute]
    }

    /// The stored elements of a composite, under their full names.
    func elements(of composite: Attribute) -> [Attribute] {
        guard !composite.isTransient else { return [] }
        return (composite.compositeName.flatMap { composites[$0] } ?? []).filter { !$0.isTransient }.map { element in
            var element = element
            element.name = "\(composite.name).\(element.name)"
            element.isOptional = element.isOptional || composite.isOptional
            return element
        }
    }

    /// An element of a composite by its full name, a composite itself among them; nil when there is none.
    func element(_ path: String, of entity: String) -> Attribute? {
        let names = path.split(separator: ".", omittingEmptySubsequences: false)
        guard names.count > 1, var attribute = attribute(String(names[0]), of: entity) else { return nil }
        for name in names.dropFirst() {
            guard let element = elements(of: attribute).first(where: { $0.name == "\(attribute.name).\(name)" }) else {
                return nil
            }
            attribute = element
        }
        return attribute
    }
}
