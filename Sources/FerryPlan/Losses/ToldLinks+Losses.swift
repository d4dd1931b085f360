package import FerryMapping
package import FerryModel

extension ToldLinks {
    /// The links that a step says it loses: those of the report, if they are known under the names of its source version,
    /// else those that its models and mapping models show.
    package static func of(_ step: ResolvedStep, reported: [ToldLinks]?) -> [ToldLinks] {
        if let reported, step.middle.isEmpty { return reported }
        return ChainLoss.all(of: step).filter { $0.isOfLinks(in: step.source.model) }.map { ToldLinks($0) }
    }

    package init(_ loss: ChainLoss) {
        var number: Int64?
        if case .exactly(let count) = loss.count { number = count }
        self.init(entity: loss.entity, relationship: loss.property ?? "", number: number)
    }
}

extension ChainLoss {
    /// Whether links are lost, and not only their order.
    package func isOfLinks(in model: ManagedObjectModel) -> Bool {
        guard let property, !isOfOrder else { return false }
        return entities.contains { model.relationship(property, of: $0) != nil }
            || model.relationship(property, of: entity) != nil
    }
}

extension ChainLoss {
    /// The losses of one step by itself, under the names of its source version; uncounted.
    fileprivate static func all(of step: ResolvedStep) -> [ChainLoss] {
        ChainLosses(steps: [step], versions: [step.destination.name], rows: [:], areEstimated: true).all()
    }
}
