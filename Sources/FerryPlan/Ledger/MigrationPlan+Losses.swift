internal import FerryMapping
internal import FerryModel

extension MigrationPlan {
    /// The losses of a later pass over the rows by themselves, under the names of its own source version, each with the
    /// properties of the store that have become what it loses; uncounted.
    package func losses(ofPass number: Int) -> [(loss: ChainLoss, properties: Set<StoredProperty>)] {
        Ledger(steps.map(\.resolved), versions: steps.map(\.resolved.destination.name)).losses(ofPass: number)
    }
}
