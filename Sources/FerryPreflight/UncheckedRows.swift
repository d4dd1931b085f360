internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// What is not checked beforehand, in words.
package struct UncheckedRows {
    private let input: PreflightInput

    package init(_ input: PreflightInput) { self.input = input }

    /// What a plan without scans has not looked at.
    package var withoutScans: [String] {
        guard input.plan.refusals.isEmpty else { return [] }
        var scans = input.writesRows ? ["damaged pages, rows and links"] : []
        let steps = input.plan.steps
        let mandatory = steps.flatMap { step in
            step.resolved.entityMappings.flatMap { mapping in
                step.resolved.mandatoryValues(of: mapping).map { "\(mapping.destination).\($0.destination)" }
            }
        }
        if let list = Self.list(mandatory) { scans.append("empty values of the mandatory \(list)") }
        let converted = steps.flatMap { step in
            step.resolved.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
                mapping.attributes.compactMap { rule -> String? in
                    guard
                        let attribute = step.resolved.destination.model.attribute(rule.name, of: mapping.destination),
                        step.resolved.mayNotBeTaken(rule, by: attribute, in: mapping)
                    else { return nil }
                    return "\(mapping.destination).\(rule.name)"
                }
            }
        }
        if let list = Self.list(converted) { scans.append("values that \(list) cannot take") }
        let unique = steps.flatMap { step in
            step.needsUniqueValues.map { "\($0.entity).\($0.names.joined(separator: "+"))" }
        }
        if let list = Self.list(unique) { scans.append("duplicates of the unique \(list)") }
        let texts = steps.first?.resolved.source.model.sortedEntityNames.contains { entity in
            steps[0].resolved.source.model.attributes(of: entity).contains { $0.type == .string }
        }
        if input.writesRows, texts == true { scans.append("texts above the memory limit") }
        if input.plan.losses.contains(where: { $0.count.isEstimated }) {
            scans.append("the number of losses")
        }
        return scans
    }

    /// What only the run finds.
    package var beforeRun: [String] {
        guard input.plan.refusals.isEmpty else { return [] }
        var list: [String] = []
        let steps = input.plan.steps
        let policies = steps.flatMap { $0.resolved.entityMappings.compactMap(\.policy) }
        if let names = Self.list(policies) { list.append("what \(names) in code makes") }
        let merged = steps.flatMap { step in
            step.resolved.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
                step.resolved.uncertainValues(of: mapping).filter { !mapping.isGivenByEach($0) }
                    .map { "\(mapping.destination).\($0)" }
            }
        }
        if let names = Self.list(merged) {
            list.append("values of \(names), of which one of several objects gives its own")
        }
        let fetched = steps.prefix(1).flatMap { step in
            step.resolved.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
                step.resolved.uncertainValues(of: mapping).filter(mapping.isGivenByEach).filter { name in
                    mapping.fetches || mapping.attributes.contains { $0.name == name && $0.expression?.fetches == true }
                }.map { "\(mapping.destination).\($0)" }
            }
        }
        if let names = Self.list(fetched) { list.append("values of \(names), which need a FETCH") }
        let laterSteps = LaterStepsCheck(input)
        if let names = Self.list(laterSteps.untoldValues()) {
            list.append("values of \(names), which only an earlier step makes")
        }
        if let names = Self.list(laterSteps.untoldConstraints()) {
            list.append("whether values of \(names) are unique")
        }
        // Parsing it would take as long as the run does.
        let texts = steps.flatMap { step in
            step.resolved.entityMappings.filter { $0.policy == nil && $0.iteration?.skipsInvalid != true }
                .compactMap { mapping -> String? in
                    guard case .json(let text, _)? = mapping.iteration?.elements else { return nil }
                    return text.sourceKeys.map { "\(mapping.source).\($0)" } ?? mapping.source
                }
        }
        if let names = Self.list(texts) { list.append("whether \(names) is valid JSON") }
        return list
    }

    /// A few names of a list; nil for an empty one.
    private static func list(_ names: [String]) -> String? {
        let distinct = names.distinct
        guard !distinct.isEmpty else { return nil }
        return distinct.prefix(4).joined(separator: ", ")
            + (distinct.count > 4 ? " and \(distinct.count - 4) more" : "")
    }
}
