internal import FerryBase
internal import FerryPlan

extension Configuration {
    /// The refusal of losses that are not allowed; nil when all of them are.
    func refusal(of losses: [ChainLoss]) -> FerryError? {
        guard refusesLosses else { return nil }
        let open = losses.filter { !allowedLosses.contains($0.name) && !allowedLosses.contains($0.entity) }
        guard !open.isEmpty else { return nil }
        var names: [String] = []
        for name in open.map(\.name) where !names.contains(name) { names.append(name) }
        return FerryError(
            .lossRefused, open.map(\.sentence).joined(separator: " "),
            remedy: """
                \(open.allSatisfy(\.isDamage) ? "Repair these rows with the app" : "Give it an heir in a mapping model"), \
                or allow the loss with \(setting: .allowedLosses, each: names.map { .element($0) }, separator: " ").
                """,
            place: .init(entity: open[0].entity, property: open[0].property))
    }
}

extension ChainLoss {
    fileprivate var isDamage: Bool { if case .damaged = cause { true } else { false } }
}
