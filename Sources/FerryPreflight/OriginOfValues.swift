internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// Writes an entity mapping of a step over the objects that the step before reads.
struct OriginOfValues {
    /// The mapping of the step before, and the models of that step.
    let earlier: ResolvedEntityMapping
    let source: ManagedObjectModel
    let model: ManagedObjectModel

    /// The mapping with the attributes that follow from the earlier mapping's; nil if its objects do not.
    func origin(of mapping: ResolvedEntityMapping) -> ResolvedEntityMapping? {
        guard mapping.iteration == nil else { return nil }
        var conditions = earlier.filter.map { [$0] } ?? []
        if let filter = mapping.filter {
            guard let own = replaced(filter.replacing) else { return nil }
            conditions.append(own)
        }
        let attributes = mapping.attributes.compactMap { rule -> ResolvedAttribute? in
            guard let expression = rule.expression else { return rule }
            return replaced(expression.replacing).map { ResolvedAttribute(name: rule.name, expression: $0) }
        }
        return mapping.with(
            source: earlier.source, filter: .some(conditions.count > 1 ? .and(conditions) : conditions.first),
            iteration: .some(earlier.iteration), attributes: attributes, relationships: [])
    }

    /// The result with the earlier mapping's expressions in place of attributes; nil if it reads anything else.
    private func replaced<Whole>(_ replacing: ((Expression) -> Expression?) -> Whole) -> Whole? {
        var isKnown = true
        let whole = replacing { part in
            switch part {
            case .constant, .predefined, .ifNil, .ternary, .function, .list, .element: return nil
            case .keyPath(.variable("source"), let steps), .keyPath(.evaluatedObject, let steps):
                if case .key(let name)? = steps.first, let value = value(of: name) {
                    let rest = Array(steps.dropFirst())
                    return rest.isEmpty ? value : .keyPath(value, rest)
                }
            case .keyPath(let base, _):
                // Keys of a computed value.
                switch base {
                case .variable, .evaluatedObject: break
                default: return nil
                }
            default: break
            }
            isKnown = false
            return part
        }
        return isKnown ? whole : nil
    }

    /// The value that an attribute gets, in its stored form.
    private func value(of name: String) -> Expression? {
        guard let attribute = model.attribute(name, of: earlier.destination), attribute.type != .composite,
            !attribute.allowsExternalStorage,
            let rule = earlier.attributes.first(where: { $0.name == name })
        else { return nil }
        var value = Expression.constant(.null)
        if let expression = rule.expression {
            if let old = expression.sourceKey, source.attribute(old, of: earlier.source)?.type == attribute.type {
                return expression
            }
            value = expression
        } else if let stored = rule.defaultValue(of: attribute) {
            guard let constant = Expression.Constant(stored, of: attribute.type) else { return nil }
            value = .constant(constant)
        }
        return .storing(value, in: attribute, Expression.validSelector)
    }
}
