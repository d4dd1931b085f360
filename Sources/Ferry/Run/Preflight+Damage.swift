internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
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

    /// Whether the contents of the attribute's files are to go into the rows.
    func isTakenIn(_ damage: StoreDamage) -> Bool {
        step.resolved.entityMappings.contains { mapping in
            guard layout.model.isKind(mapping.source, of: damage.entity) else { return false }
            return mapping.attributes.contains { attribute in
                guard attribute.expression?.sourceKeys == damage.property else { return false }
                let destination = step.resolved.destination.model.attribute(attribute.name, of: mapping.destination)
                return destination?.allowsExternalStorage == false
            }
        }
    }

    func missingContents(_ damage: StoreDamage) -> FerryError {
        let property = damage.property ?? ""
        return FerryError(
            .damagedSource,
            "\(damage.rows) values of \(damage.entity).\(property) name files that are not there, and their contents are "
                + "needed because the attribute does not allow external storage any more.",
            remedy: "Restore \(ExternalData.folder(forStore: store.path)), or leave these objects out with a `where`.",
            place: .init(entity: damage.entity, property: damage.property))
    }

    func words(for damage: StoreDamage) -> String {
        let isInPlace = step.mode == .inPlace
        let property = damage.property.map { "\(damage.entity).\($0)" } ?? damage.entity
        return switch damage.kind {
        case .danglingKey:
            "\(property) leads nowhere in \(damage.rows) rows; it \(isInPlace ? "stays as it is" : "is left empty there")."
        case .oneSidedInverse:
            "The inverse of \(property) does not lead back in \(damage.rows) rows; it \(isInPlace ? "stays as it is" : "is set anew")."
        case .lowMaximumKey: "Z_MAX of \(property) is below its highest key; it is set anew."
        case .missingFile: "\(property) names files that are not there in \(damage.rows) rows; they stay as they are."
        case .missingValue, .unknownEntity: "\(property) is damaged in \(damage.rows) rows."
        }
    }
}
