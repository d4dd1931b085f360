internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What the newer model asks of rows that the older one did not.
extension Preflight {
    // MARK: Mandatory relationships

    /// Tells of mandatory to-one relationships that are filled from one that is empty in some row.
    ///
    /// Core Data lets them pass in a migration, and refuses them when the object is saved next.
    func emptyMandatoryRelationships() throws -> [FerryWarning] {
        var warnings: [FerryWarning] = []
        for mapping in step.resolved.entityMappings where mapping.filter == nil && mapping.iteration == nil {
            guard rows[mapping.source, default: 0] > 0, let table = layout.table(of: mapping.source),
                let number = layout.number(of: mapping.source)
            else { continue }
            for value in mapping.relationships {
                guard let name = value.sourceRelationship,
                    let source = layout.model.relationship(name, of: mapping.source), source.isOptional,
                    let destination = step.resolved.destination.model.relationship(value.name, of: mapping.destination),
                    !destination.isOptional, !destination.isTransient,
                    case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: mapping.source)
                else { continue }
                let count = try EmptyValues(in: table.name, of: number, on: store.sourceGuard.connection)
                    .rows(without: column)
                guard count > 0 else { continue }
                warnings.append(
                    FerryWarning(
                        .emptyMandatoryRelationship,
                        "\(mapping.source).\(name) leads to no object in \(count.counting("row")), but "
                            + "\(mapping.destination).\(value.name) is mandatory: the app must relate them before it "
                            + "saves them.",
                        about: .init(entity: mapping.source, property: name, entityMapping: mapping.name)))
            }
        }
        return warnings
    }
}
