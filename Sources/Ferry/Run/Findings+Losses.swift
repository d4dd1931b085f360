internal import FerryMapping

extension Findings {
    /// The losses of the chain's first step; nil in records of earlier tools.
    var toldLosses: [ToldLoss]? {
        losses?.filter { $0.step == 1 && !$0.isOrder }.map { loss in
            ToldLoss(entity: loss.entity, property: loss.property, number: loss.isEstimated ? nil : loss.rows)
        }
    }
}
