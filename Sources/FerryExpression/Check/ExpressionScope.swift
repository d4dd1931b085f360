package import FerryBase
package import FerryModel

/// The meaning of names in an expression: the model, the source entity, and the variables of iterations.
package struct ExpressionScope: Sendable {
    package enum Element: Sendable, Hashable {
        case object(entity: String)
        case json
    }

    package struct Iteration: Sendable, Hashable {
        /// The variable's name, without dollar sign.
        package var variable: String
        package var element: Element
        /// The name of the variable that has the element's index, without dollar sign.
        package var position: String?

        package init(variable: String, element: Element, position: String? = nil) {
            self.variable = variable
            self.element = element
            self.position = position
        }
    }

    /// The meaning of a name inside a condition on the members of a collection.
    struct Member: Sendable, Hashable {
        /// The name without dollar sign; nil if `SELF` and bare keys mean the member.
        var variable: String?
        var entity: String
        /// The number of collections around the condition.
        var level: Int
    }

    /// From the outermost collection inwards.
    var members: [Member] = []

    package var model: ManagedObjectModel
    /// The entity of `$source` and `SELF`.
    package var entity: String
    package var iteration: Iteration?
    /// The functions that the mapping's migration policy offers to expressions; nil without a policy.
    package var policyFunctions: Set<String>?

    package init(
        model: ManagedObjectModel, entity: String, iteration: Iteration? = nil, policyFunctions: Set<String>? = nil
    ) {
        self.policyFunctions = policyFunctions
        self.model = model
        self.entity = entity
        self.iteration = iteration
    }
}

/// A key path resolved in a model: relationships, then the end of the path.
package struct ResolvedPath: Sendable, Hashable {
    package enum Start: Sendable, Hashable {
        /// The source object: `$source`, `SELF`.
        case source
        /// The element of the iteration.
        case element
        /// A member of a collection, by the number of collections around it.
        case member(Int)
    }

    package struct Hop: Sendable, Hashable {
        /// The source entity of the relationship.
        package var entity: String
        package var relationship: Relationship
    }

    package enum End: Sendable, Hashable {
        /// An object of this entity or a descendant, or a collection of them.
        case object(entity: String)
        /// An attribute; `path` is its name, after the names of the composites that hold it.
        case attribute(Attribute, path: [String])
        /// A value in a JSON element, under these keys; without keys the element itself.
        case json(keys: [String])
    }

    package var start: Start
    package var hops: [Hop]
    package var end: End
    /// Keys of the attribute's value, such as `length`, in order.
    package var valueKeys: [String] = []
    /// Whether a collection operator made the objects distinct (`@distinctUnionOfSets`).
    package var isDistinct = false

    package init(start: Start, hops: [Hop] = [], end: End) {
        self.start = start
        self.hops = hops
        self.end = end
    }

    /// Whether the path yields a collection.
    package var isToMany: Bool { hops.contains { $0.relationship.isToMany } }
}

extension ExpressionScope {
    /// Resolves a key path in the model, from `$source`, `SELF` or the iteration's variable.
    ///
    /// - Throws: ``FerryError`` `.badExpression` with the path, the entity, the property and similar names;
    ///   `.missingPolicy` or `.unsupported` for variables that need code.
    package func resolve(_ base: Expression, _ steps: [KeyPathStep] = []) throws(FerryError) -> ResolvedPath {
        let path = Expression.keyPath(base, steps)
        switch base {
        case .evaluatedObject, .variable:
            let name = if case .variable(let name) = base { name } else { nil as String? }
            if let member = members.last(where: { $0.variable == name }) {
                return try follow(steps, from: member.entity, .member(member.level), path)
            }
            if let name, let iteration, iteration.variable == name {
                switch iteration.element {
                case .object(let entity): return try follow(steps, from: entity, .element, path)
                case .json: return try json(steps, path)
                }
            }
            guard name == nil || name == "source" else { throw unknownVariable(name ?? "", in: path) }
            return try follow(steps, from: entity, .source, path)
        default:
            throw path.error(
                "follows keys from something that is not an object.",
                remedy: "A key path begins at `$source` or at the variable of `forEach`.")
        }
    }

    private func unknownVariable(_ name: String, in path: Expression) -> FerryError {
        switch name {
        case iteration?.position:
            path.error("follows keys from a number.", remedy: "$\(name) is the position of an element.")
        case "entityPolicy":
            path.error(
                "asks the migration policy, which is code outside the mapping model.", .missingPolicy,
                remedy: "Give the attribute its own expression in a mapping file, or register the policy.")
        case "manager", "destination", "entityMapping", "propertyMapping":
            path.error(
                "uses $\(name), which is not available here.", .unsupported,
                remedy: "Use `$source`, or the variable of `forEach`.")
        default:
            FerryError(
                .badExpression, "`\(path)` uses the unknown variable $\(name).",
                remedy: NearNames.remedy(
                    for: name,
                    among: ["source"] + (iteration.map { [$0.variable, $0.position].compactMap { $0 } } ?? []), "$"))
        }
    }

    private func json(_ steps: [KeyPathStep], _ path: Expression) throws(FerryError) -> ResolvedPath {
        let keys = try steps.map { step throws(FerryError) in
            guard case .key(let key) = step else { throw noOperator(step, path) }
            return key
        }
        return ResolvedPath(start: .element, end: .json(keys: keys))
    }

    private func follow(
        _ steps: [KeyPathStep], from entity: String, _ start: ResolvedPath.Start, _ path: Expression
    ) throws(FerryError) -> ResolvedPath {
        var resolved = ResolvedPath(start: start, end: .object(entity: entity))
        for step in steps {
            switch (step, resolved.end) {
            case (.key(let key), .object(let entity)): try property(key, of: entity, &resolved, path)
            case (.key(let key), .attribute(let attribute, let names)):
                try continuation(key, of: attribute, names, &resolved, path)
            case (.collectionOperator(let name), .object):
                guard resolved.isToMany, let isDistinct = Self.flattening[name] else { throw noOperator(step, path) }
                resolved.isDistinct = resolved.isDistinct || isDistinct
            default: throw noOperator(step, path)
            }
        }
        return resolved
    }

    /// Collection operators that only flatten the collection, and whether they drop duplicates.
    static let flattening = [
        "unionOfObjects": false, "unionOfArrays": false, "unionOfSets": false,
        "distinctUnionOfObjects": true, "distinctUnionOfArrays": true, "distinctUnionOfSets": true,
    ]

    private func property(
        _ key: String, of entity: String, _ resolved: inout ResolvedPath, _ path: Expression
    ) throws(FerryError) {
        if let relationship = model.relationship(key, of: entity) {
            resolved.hops.append(ResolvedPath.Hop(entity: entity, relationship: relationship))
            resolved.end = .object(entity: relationship.destinationEntity)
        } else if let attribute = model.attribute(key, of: entity) {
            if attribute.isTransient {
                throw path.error(
                    "reads \(entity).\(key), which is transient and not stored.",
                    remedy: "Use an attribute that is stored.")
            }
            resolved.end = .attribute(attribute, path: [key])
        } else {
            let names = model.attributes(of: entity).map(\.name) + model.relationships(of: entity).map(\.name)
            var remedy = NearNames.remedy(for: key, among: names)
            if case .keyPath(.evaluatedObject, let steps) = path, steps.count == 1 {
                remedy += " Put text in quotes."
            }
            throw FerryError(
                .badExpression, "`\(path)` names \(key), but the entity \(entity) has no property of that name.",
                remedy: remedy, place: FerryError.Place(entity: entity, property: key))
        }
    }

    /// Adds a key after an attribute: an element of a composite, or a key of a value.
    private func continuation(
        _ key: String, of attribute: Attribute, _ names: [String], _ resolved: inout ResolvedPath, _ path: Expression
    ) throws(FerryError) {
        if attribute.type == .composite, let elements = attribute.compositeName.flatMap({ model.composites[$0] }) {
            guard let element = elements.first(where: { $0.name == key }) else {
                throw path.error(
                    "names \(key), but the composite \(names.joined(separator: ".")) has no such element.",
                    remedy: Remedy(NearNames.remedy(for: key, among: elements.map(\.name))))
            }
            resolved.end = .attribute(element, path: names + [key])
        } else {
            // The translation, which knows the value's type, checks the key.
            resolved.valueKeys.append(key)
        }
    }

    private func noOperator(_ step: KeyPathStep, _ path: Expression) -> FerryError {
        FerryError(
            .badExpression, "`\(path)` cannot be evaluated: \(step) does not apply to what comes before it.",
            remedy: "Ferry knows @count, @sum, @avg, @min, @max, @distinctUnionOfSets and the like, after a to-many "
                + "relationship.")
    }
}
