internal import FerryBase
internal import FerryStore

/// What was wrong with the store before.
extension Preflight {
    func unknownEntity(_ damage: StoreDamage) -> FerryError {
        FerryError(
            .damagedSource,
            "\(damage.rows) rows in the table of \(damage.entity) have a Z_ENT that is no entity of that table.",
            remedy: "Remove or repair these rows with the app, or restore a backup of the store.",
            place: .init(entity: damage.entity))
    }

    static func words(for damage: StoreDamage) -> String {
        let property = damage.property.map { "\(damage.entity).\($0)" } ?? damage.entity
        return switch damage.kind {
        case .danglingKey: "\(property) leads nowhere in \(damage.rows) rows; it is left empty there."
        case .oneSidedInverse: "The inverse of \(property) does not lead back in \(damage.rows) rows; it is set anew."
        case .lowMaximumKey: "Z_MAX of \(property) is below its highest key; it is set anew."
        case .missingValue, .unknownEntity: "\(property) is damaged in \(damage.rows) rows."
        }
    }
}
