internal import FerryMapping

extension Findings {
    /// The losses of the chain, those of later steps marked so; nil in records of earlier tools.
    var toldLosses: [ToldLoss]? {
        losses?.filter { !$0.isOrder }.map { loss in
            var told = ToldLoss(
                entity: loss.entity, property: loss.property, number: loss.isEstimated ? nil : loss.rows)
            told.isOfLaterStep = loss.step > 1
            return told
        }
    }
}
