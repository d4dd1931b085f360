internal import FerryPlan

/// Something that a store's rows hold and that a migration does not take along.
public struct Loss: Sendable, Hashable, Codable {
    public var entity: String
    /// Nil when whole objects go.
    public var property: String?
    /// The version that the losing step leads to.
    public var version: String
    /// The place of that step in the chain of versions, from 1.
    public var step: Int
    /// Objects that lose it; nil where that is not known beforehand.
    public var rows: Int64?
    public var isEstimated: Bool
    /// Why it goes.
    public var because: String
    /// What and how much, as a sentence.
    public var text: String
    /// Whether only a filter leaves objects out: then the run counts them.
    var isByFilter: Bool

    /// `Entity.property`, or the entity's name: what ``Configuration/allowedLosses`` takes.
    public var name: String { property.map { "\(entity).\($0)" } ?? entity }

    init(_ loss: ChainLoss) {
        entity = loss.entity
        property = loss.property
        version = loss.version
        step = loss.step
        rows = loss.count.number
        isEstimated = loss.count.isEstimated
        because = loss.because
        text = loss.sentence
        isByFilter = loss.cause == .filtered
    }

    /// The same with what the run counted, where one entity mapping alone carries the entity.
    func counted(by mappings: [MigrationReport.EntityMappingReport]) -> Loss {
        let own = mappings.filter { $0.source == entity && $0.step == step }
        guard isByFilter, own.count == 1, own[0].isEstimated != true else { return self }
        var loss = self
        loss.rows = own[0].dropped
        loss.isEstimated = false
        return loss
    }
}
