internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// Rules of a step that take over one value of external storage, so that both results would name its file.
///
/// A file belongs to one value: with that value Core Data may delete it, and with it the data of any other value.
struct SharedFiles {
    /// The rule of an attribute that takes over values of external storage unchanged.
    struct Rule {
        /// The position of its entity mapping.
        var mapping: Int
        var attribute: String
    }

    private let step: ResolvedStep
    private var rules: [PropertyName: [Rule]] = [:]
    /// Whether two objects may share a value, or a condition, a merge or code chooses it.
    private var dependsOnRows = false

    init(_ step: ResolvedStep) {
        self.step = step
        for mapping in step.entityMappings {
            for rule in mapping.attributes where isExternal(rule.name, mapping) { add(rule, of: mapping) }
        }
    }

    private func isExternal(_ name: String, _ mapping: ResolvedEntityMapping) -> Bool {
        step.destination.model.attribute(name, of: mapping.destination)?.allowsExternalStorage == true
    }

    private mutating func add(_ rule: ResolvedAttribute, of mapping: ResolvedEntityMapping) {
        if mapping.policy != nil { dependsOnRows = true }
        guard let expression = rule.expression else { return }
        if case .constant = expression { return }
        guard let name = expression.sourceKeys, mapping.policy == nil, mapping.unique.isEmpty,
            let attribute = step.source.model.attribute(name, of: mapping.source)
        else {
            dependsOnRows = true
            return
        }
        guard attribute.allowsExternalStorage else { return }
        if mapping.iteration != nil { dependsOnRows = true }
        rules[PropertyName(entity: mapping.source, property: name), default: []]
            .append(Rule(mapping: mapping.position, attribute: rule.name))
    }

    var arePossible: Bool { dependsOnRows || rules.values.contains { $0.count > 1 } }

    /// The first two rules that take the same values of the same objects.
    var certain: (first: Rule, second: Rule)? {
        var found: [(first: Rule, second: Rule)] = []
        for rules in rules.values {
            for (place, second) in rules.enumerated() {
                guard let first = rules[..<place].first(where: { readSameObjects($0, second) }) else { continue }
                found.append((first, second))
            }
        }
        return found.min { ($0.second.mapping, $0.second.attribute) < ($1.second.mapping, $1.second.attribute) }
    }

    private func readSameObjects(_ first: Rule, _ second: Rule) -> Bool {
        let (first, second) = (step.entityMappings[first.mapping], step.entityMappings[second.mapping])
        return first.filter == second.filter && first.iteration == second.iteration
    }
}

extension ResolvedStep {
    /// Whether two values of the destination could share an external file.
    package var mayShareFiles: Bool { SharedFiles(self).arePossible }
}

extension StepResolver {
    mutating func reportSharedFiles(in step: ResolvedStep) {
        guard let (first, second) = SharedFiles(step).certain else { return }
        let (one, other) = (step.entityMappings[first.mapping], step.entityMappings[second.mapping])
        report(
            .unsupported,
            "\(one.destination).\(first.attribute) and \(other.destination).\(second.attribute) have the same values, "
                + "which may be in external files: a file can belong to only one value.",
            live[second.mapping], property: second.attribute,
            remedy: """
                Take "Allows External Storage" from one of them in \(destination.name), so that its data goes into the \
                rows, or map one of them only.
                """)
    }
}
