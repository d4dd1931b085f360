internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// Which source relationship an entity mapping's relationship continues.
struct RelationshipOrigins {
    private let context: VerificationContext
    /// What the models say, for inferred mappings.
    private let matching: ModelMatching?

    init(_ context: VerificationContext) {
        self.context = context
        // What two models say of each other is not what the versions between them say.
        let isInferred = context.step.mappingModels.contains(where: \.isInferred) && context.step.middle.isEmpty
        matching =
            isInferred ? ModelMatching(source: context.sourceModel, destination: context.destinationModel) : nil
    }

    func isInferred(_ mapping: ResolvedEntityMapping) -> Bool {
        context.step.mappingModels[mapping.mappingModel].isInferred
    }

    /// The source relationship, or nil when the relationship is new or comes from elsewhere.
    func origin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
        if let matching, isInferred(mapping) {
            return matching.sourceRelationship(of: relationship, in: mapping.destination)
        }
        if !context.step.middle.isEmpty { return ruledOrigin(of: relationship, in: mapping) }
        let isAutomatic = mapping.relationships.contains { $0.name == relationship && $0.isAutomatic }
        guard isAutomatic || isSetByInverse(relationship, of: mapping) else { return nil }
        return context.sourceModel.relationship(relationship, of: mapping.source)
    }

    /// The relationship that the rule of either side names.
    private func ruledOrigin(of relationship: String, in mapping: ResolvedEntityMapping) -> Relationship? {
        let model = context.sourceModel
        if let rule = mapping.relationships.first(where: { $0.name == relationship && $0.isAutomatic }) {
            return rule.sourceRelationship.flatMap { model.relationship($0, of: mapping.source) }
        }
        guard let declared = context.destinationModel.relationship(relationship, of: mapping.destination),
            let inverse = context.destinationModel.inverse(of: declared)
        else { return nil }
        for other in context.step.entityMappings {
            let rule = other.relationships.first {
                $0.name == inverse.name && $0.isAutomatic && $0.mappings.contains(mapping.name)
            }
            guard let name = rule?.sourceRelationship, let old = model.relationship(name, of: other.source) else {
                continue
            }
            return model.inverse(of: old)
        }
        return nil
    }

    /// Whether the relationship is set by its inverse, which is automatic.
    private func isSetByInverse(_ relationship: String, of mapping: ResolvedEntityMapping) -> Bool {
        guard let declared = context.destinationModel.relationship(relationship, of: mapping.destination),
            let inverse = context.destinationModel.inverse(of: declared)
        else { return false }
        return context.step.entityMappings.contains { other in
            other.relationships.contains {
                $0.name == inverse.name && $0.isAutomatic && $0.mappings.contains(mapping.name)
            }
        }
    }
}
