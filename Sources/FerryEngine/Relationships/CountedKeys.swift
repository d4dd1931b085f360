internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// Decides where a row that is being written can have the new key of an object that is made elsewhere: by counting.
///
/// The objects that an entity mapping makes get keys one after another, in the order of their source objects, after a
/// number that is known before the first of them is written (``KeyBase/base(of:in:)``). So what goes over the very
/// same source objects, each of them once and in that order, knows the key of each by counting, whether its row is there
/// yet or not. Neither an association nor a later update is needed.
struct CountedKeys {
    private let step: ResolvedStep
    /// The entity mappings in the order of the run.
    private let run: [ResolvedEntityMapping]

    init(_ step: StepPlan) {
        self.step = step.resolved
        run = step.partitions.flatMap { $0.entityMappings.map(\.mapping) }
    }

    /// Whether the rows of a mapping can count the keys of what its rule takes.
    ///
    /// - Parameters:
    ///   - rule: The rule; with several mappings only the first one that has an object would be counted.
    ///   - mapping: The mapping that the rule is one of.
    /// - Returns: True when the keys need nothing but the source object at hand.
    func suffice(_ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping) -> Bool {
        guard !step.hasPolicies, rule.isOfSameObject, rule.mappings.count == 1,
            let other = step.entityMapping(named: rule.mappings[0]), !other.keepsPrimaryKey, other.isOneToOne,
            other.source == mapping.source, mapping.isOneToOne, mapping.filter == nil
        else { return false }
        return earlierMakers(than: other).allSatisfy(\.isOneToOne)
    }

    /// The mappings whose new objects come before those of a mapping in the same table.
    func earlierMakers(than mapping: ResolvedEntityMapping) -> [ResolvedEntityMapping] {
        let model = step.destination.model
        let root = model.root(of: mapping.destination)
        return run.prefix { $0.position != mapping.position }
            .filter { !$0.keepsPrimaryKey && model.root(of: $0.destination) == root }
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one object, or none where the filter leaves it out.
    var isOneToOne: Bool { iteration == nil && unique.isEmpty && policy == nil }
}

extension ResolvedRelationship {
    /// Whether the related objects are what is made of the very same source object.
    var isOfSameObject: Bool { from == .variable("source") || from == .evaluatedObject }
}
