internal import FerryMapping

extension Findings {
    /// The losses of the chain's first step that may be those of links; nil in records of earlier tools.
    var toldLinks: [ToldLinks]? {
        losses?.filter { $0.step == 1 && !$0.isOrder }.compactMap { loss in
            loss.property.map {
                ToldLinks(entity: loss.entity, relationship: $0, number: loss.isEstimated ? nil : loss.rows)
            }
        }
    }
}
