internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan

/// What is not checked beforehand, in words.
extension PreflightInput {
    /// What a plan without scans has not looked at.
    package var notScanned: [String] {
        guard plan.refusals.isEmpty else { return [] }
        var scans = writesRows ? ["damaged pages, rows and links"] : []
        let steps = plan.steps
        if let list = Self.attributes(steps, { $0.mandatoryValues(of: $1).map(\.destination) }) {
            scans.append("empty values of the mandatory \(list)")
        }
        let converted = Self.attributes(steps) { step, mapping in
            mapping.attributes.filter { rule in
                step.destination.model.attribute(rule.name, of: mapping.destination).map {
                    step.mayNotBeTaken(rule, by: $0, in: mapping)
                } ?? false
            }.map(\.name)
        }
        if let converted { scans.append("values that \(converted) cannot take") }
        let unique = steps.flatMap { step in
            step.needsUniqueValues.map { "\($0.entity).\($0.names.joined(separator: "+"))" }
        }
        if let list = Self.list(unique) { scans.append("duplicates of the unique \(list)") }
        let texts = steps.first?.resolved.source.model.sortedEntityNames.contains { entity in
            steps[0].resolved.source.model.attributes(of: entity).contains { $0.type == .string }
        }
        if writesRows, texts == true { scans.append("texts above the memory limit") }
        if plan.losses.contains(where: { $0.count.isEstimated }) {
            scans.append("the number of losses")
        }
        return scans
    }

    /// What only the run finds.
    package var notChecked: [String] {
        guard plan.refusals.isEmpty else { return [] }
        var list: [String] = []
        let steps = plan.steps
        let policies = steps.flatMap { $0.resolved.entityMappings.compactMap(\.policy) }
        if let names = Self.list(policies) { list.append("what \(names) in code makes") }
        let merged = Self.attributes(steps) { step, mapping in
            step.uncertainValues(of: mapping).filter { !mapping.isGivenByEach($0) }
        }
        if let merged { list.append("values of \(merged), of which one of several objects gives its own") }
        let fetched = Self.attributes(steps.prefix(1)) { step, mapping in
            step.uncertainValues(of: mapping).filter(mapping.isGivenByEach).filter { name in
                mapping.fetches || mapping.attributes.contains { $0.name == name && $0.expression?.fetches == true }
            }
        }
        if let fetched { list.append("values of \(fetched), which need a FETCH") }
        let laterSteps = LaterStepsCheck(input: self)
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

    /// A few of the attributes that entity mappings without a policy have; nil for none.
    private static func attributes(
        _ steps: some Collection<StepPlan>, _ names: (ResolvedStep, ResolvedEntityMapping) -> [String]
    ) -> String? {
        list(
            steps.map(\.resolved).flatMap { step in
                step.entityMappings.filter { $0.policy == nil }.flatMap { mapping in
                    names(step, mapping).map { "\(mapping.destination).\($0)" }
                }
            })
    }

    /// A few names of a list; nil for an empty one.
    private static func list(_ names: [String]) -> String? {
        let distinct = names.distinct
        guard !distinct.isEmpty else { return nil }
        return distinct.prefix(4).joined(separator: ", ")
            + (distinct.count > 4 ? " and \(distinct.count - 4) more" : "")
    }
}
