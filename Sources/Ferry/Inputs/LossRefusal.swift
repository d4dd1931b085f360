internal import FerryBase
internal import FerryPlan

extension Configuration {
    /// The refusal of losses that are not allowed; nil if all are allowed.
    func refusal(of losses: [ChainLoss], hasMappingModels: Bool = true) -> FerryError? {
        guard !self.losses.areAllowed else { return nil }
        let open = losses.filter { loss in
            // What `damaged` leaves out was asked for.
            !loss.isDamage && loss.count.number > 0
                && self.losses.exceptions.isDisjoint(with: [loss.name, loss.entity])
        }
        guard let first = open.first else { return nil }
        let names = open.map(\.name).distinct
        // No mapping model has a place for damage, history, or values in the way.
        let isMappable = open.contains { !$0.isDamage && !$0.isOfHistory && !$0.isInTheWay }
        let hasMappingModels = hasMappingModels || !isMappable
        return FerryError(
            .lossRefused,
            (hasMappingModels ? "" : "No mapping model was given. ") + open.map(\.sentence).joined(separator: " "),
            remedy: """
                \(Self.remedy(for: open, hasMappingModels)), \
                or allow the loss with \(setting: .lossExceptions, each: names.map { .element($0) }, separator: " "), \
                or every loss with \(setting: .losses, .choice("allow")).
                """,
            place: .init(entity: first.entity, property: first.property), cause: RefusedLosses(names: names))
    }

    private static func remedy(for losses: [ChainLoss], _ hasMappingModels: Bool) -> Remedy {
        if losses.allSatisfy(\.isDamage) { return "Repair these rows with the app" }
        if losses.allSatisfy(\.isOfHistory) { return "Let the app process its history first" }
        if losses.allSatisfy(\.isInTheWay) {
            return losses.contains { $0.property != nil }
                ? "Adopt the values with \(on: .adoption), move them elsewhere, or restore a backup of the store"
                : "Move these rows elsewhere, or restore a backup of the store"
        }
        if losses.allSatisfy({ $0.merging != nil }) { return "Make these values equal with the app" }
        if losses.allSatisfy(\.isOfOrder) {
            return """
                Keep the order in the new version and in its mapping models (of objects with new keys, by a rule of the \
                ordered side, with null for its inverse)
                """
        }
        return hasMappingModels
            ? "Map it in a mapping model" : "Pass the mapping models of these versions, or write one"
    }
}

/// The names of the losses for which a migration is refused.
package struct RefusedLosses: Error, Sendable {
    package let names: [String]
}

extension ChainLoss {
    fileprivate var isDamage: Bool { if case .damaged = cause { true } else { false } }
    fileprivate var isOfHistory: Bool { if case .history = cause { true } else { false } }
    fileprivate var isInTheWay: Bool { if case .inTheWay = cause { true } else { false } }
}
