package import FerryMapping
internal import FerryModel

extension ToldLoss {
    /// What a step says it loses or computes anew: the losses of the report, if they are known under the names of its
    /// source version, else those that its models and mapping models show.
    package static func of(_ step: ResolvedStep, reported: [ToldLoss]?) -> [ToldLoss] {
        let ledger = Ledger([step], versions: [step.destination.name])
        let transformed = ledger.transformed().map { ToldLoss(entity: $0.entity, property: $0.property, number: nil) }
        if let reported, step.middle.isEmpty {
            // What a later step loses as a whole, itself or with its objects, is not told of this one, which may lose a
            // part of it.
            let later = Set(
                reported.filter(\.isOfLaterStep).map { StoredProperty(entity: $0.entity, property: $0.property) })
            let parts =
                later.isEmpty
                ? []
                : ledger.uncounted().filter { loss in
                    ledger.names(of: loss).contains { later.contains($0) || later.contains($0.objects) }
                }
            return reported.filter { !$0.isOfLaterStep } + transformed + parts.map { ToldLoss($0, isCounted: false) }
        }
        return transformed + ledger.uncounted().map { ToldLoss($0, isCounted: false) } + ofInvalidValues(in: step)
    }

    /// Values that a step leaves out because their attributes cannot take them; only preflight counts them.
    package static func ofInvalidValues(in step: ResolvedStep) -> [ToldLoss] {
        let carriers = StepCarriers(step)
        return carriers.all.keys.filter { carriers.mayLeaveEmpty([$0]) }
            .map { ToldLoss(entity: $0.entity, property: $0.property, number: nil) }
    }

    package init(_ loss: ChainLoss, isCounted: Bool = true) {
        var number: Int64?
        if isCounted, case .exactly(let count) = loss.count { number = count }
        self.init(entity: loss.entity, property: loss.property, number: number)
    }
}

extension ResolvedStep {
    package enum OtherCopies { case none, ofSome, ofAll }

    /// Which values of an attribute live on where the new attribute of an entity mapping cannot take them.
    package func copies(of attribute: String, of mapping: ResolvedEntityMapping, besides new: String) -> OtherCopies {
        let place = StoredProperty(entity: mapping.destination, property: new)
        let property = StoredProperty(entity: mapping.source, property: attribute)
        let carriers = StepCarriers(self)
        let others = (carriers.all[property] ?? []).filter { $0.destination != place }
        // What a function makes of a value that cannot be taken, a 0 for one, may tell nothing of it.
        let copies = Set(others.filter { !$0.isTransformed }.map(\.destination))
        if !carriers.wholeCopies(of: property).isDisjoint(with: copies) { return .ofAll }
        return others.isEmpty ? .none : .ofSome
    }
}
