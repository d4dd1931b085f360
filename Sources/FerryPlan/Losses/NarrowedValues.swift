internal import FerryExpression
internal import FerryMapping
internal import FerryModel

extension ChainLosses {
    /// Values that the type of the new attribute may not hold.
    func narrowed() -> [ChainLoss] {
        var losses: [ChainLoss] = []
        for (index, step) in steps.enumerated() {
            let flow = PropertyFlow(step)
            for mapping in step.entityMappings {
                for attribute in mapping.attributes {
                    guard let name = attribute.expression?.attributeAsIs,
                        let type = narrowing(name, of: mapping, as: attribute.name, in: step),
                        !losses.contains(where: {
                            $0.entity == mapping.source && $0.property == name && $0.step == index + 1
                        })
                    else { continue }
                    let mappings = step.entityMappings.filter { $0.source == mapping.source }
                    let narrow = mappings.filter { other in
                        other.attributes.contains {
                            $0.expression?.attributeAsIs == name
                                && narrowing(name, of: other, as: $0.name, in: step) != nil
                        }
                    }
                    let keep = mappings.filter { keeps(name, $0, flow, in: step) }
                    // Objects that are carried by the narrowing mapping itself need another one that reads all of them.
                    let isPart = mapping.iteration != nil || !mapping.unique.isEmpty
                    guard !keep.contains(where: { isPart || $0.readsEveryObject }) else { continue }
                    var loss = loss(mapping.source, name, of: [mapping.source], at: index, .narrowed(to: type))
                    loss.objects = .init(of: narrow, except: keep)
                    losses.append(loss)
                }
            }
        }
        return losses
    }

    /// The narrower type of the attribute that gets an attribute's values; nil if it holds all of them.
    private func narrowing(
        _ name: String, of mapping: ResolvedEntityMapping, as attribute: String, in step: ResolvedStep
    ) -> AttributeType? {
        guard let old = step.source.model.attribute(name, of: mapping.source),
            let new = step.destination.model.attribute(attribute, of: mapping.destination), old.type.loses(in: new.type)
        else { return nil }
        return new.type
    }

    /// Whether an entity mapping that carries objects keeps an attribute's values whole, beside one that narrows them.
    private func keeps(
        _ attribute: String, _ mapping: ResolvedEntityMapping, _ flow: PropertyFlow, in step: ResolvedStep
    ) -> Bool {
        guard let type = step.source.model.attribute(attribute, of: mapping.source)?.type, mapping.iteration == nil,
            mapping.unique.isEmpty
        else { return false }
        let property = StoredProperty(entity: mapping.source, property: attribute)
        return mapping.attributes.contains { new in
            guard let expression = new.expression else { return false }
            let after = step.destination.model.attribute(new.name, of: mapping.destination)?.type
            // What an expression computes of the value is the mapping's own business.
            return expression.attributeAsIs == attribute
                ? after.map { !type.loses(in: $0) } == true
                : flow.mentions(in: expression, of: mapping).contains(property)
        }
    }
}

extension AttributeType {
    /// Whether a conversion may silently lose a part of a value; a value that does not fit at all fails a migration.
    fileprivate func loses(in other: AttributeType) -> Bool {
        let hasFraction = [.double, .float, .decimal, .date, .string].contains(self)
        return switch other {
        case .boolean: isNumeric && self != .boolean
        case .integer16, .integer32, .integer64: hasFraction
        // Integers with more digits than the type holds are rounded.
        case .float: [.double, .decimal, .date, .integer32, .integer64].contains(self)
        case .double: self == .integer64
        default: false
        }
    }
}
