internal import FerryBase
internal import FerryModel

/// What is known of the triggers of derived attributes for which only Core Data can write them.
package enum FoundTriggers: Sendable {
    /// Nothing: a model that needs such triggers has no layout.
    case none
    /// They are there, in a store that is not at hand; the layout leaves them out.
    case assumed
    /// They are those of a store, which the new layout takes over where they mean the same in it.
    case of(StoreLayout)
}

extension LayoutBuilder {
    /// Adds the triggers that are carried over as they were found, after all others.
    mutating func addFoundTriggers(_ found: FoundTriggers) {
        switch found {
        case .assumed: return
        case .none: for key in foundOnly.map(\.key) { refuse(key) }
        case .of(let source) where model.knownSchema != nil:
            // The text is there; the values that stand in the store must be right under it.
            for key in foundOnly.map(\.key) {
                let isThere = layout.triggers.contains { CarriedTriggers.owner(of: $0, in: model) == key }
                let change = source.model.changeOfDerivation(entity: key.entity, attribute: key.property, in: model)
                if let obstacle = isThere ? change : "the store that it is to be like has no triggers for it" {
                    refuse(key, obstacle: obstacle)
                }
            }
        case .of(let source):
            for key in foundOnly.map(\.key) {
                do throws(CarriedTriggers.Obstacle) {
                    layout.triggers += try CarriedTriggers(key, from: source, into: layout).triggers()
                } catch {
                    refuse(key, obstacle: error.reason)
                }
            }
        }
    }

    private mutating func refuse(_ key: PropertyKey, obstacle: String? = nil) {
        let reason = foundOnly.first { $0.key == key }?.reason ?? ""
        refuse(
            key.entity, key.property, [reason, obstacle].compactMap { $0 }.joined(separator: ", and "),
            remedy: DerivedAttributes.remedy)
    }
}
