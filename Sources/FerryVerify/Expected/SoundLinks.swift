internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relationship of the source from which new objects are made, of objects of one entity alone.
///
/// Where all its links lead to such objects, seen once in the order in which these stand, their keys say all that a walk
/// along it asks for: no object has to be looked up for a link.
struct SoundLinks: Sendable, Hashable {
    let entity: String
    let relationship: String
    /// `Z_ENT` of all objects that it may lead to.
    let number: Int64

    /// Nil where links lead to objects of several entities, or are stored with the objects that they lead to.
    init?(_ relationship: String, of entity: String, in context: VerificationContext) {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let only = context.sourceModel.family(of: declared.destinationEntity).first,
            context.sourceModel.family(of: declared.destinationEntity).count == 1,
            let number = context.source.number(of: only)
        else { return nil }
        switch context.source.storage(of: relationship, in: entity) {
        case .foreignKey, .join: (self.entity, self.relationship, self.number) = (entity, relationship, number)
        case .inverseForeignKey, .inverseless, nil: return nil
        }
    }

    /// Those that a mapping's expressions begin with.
    static func all(of mapping: ResolvedEntityMapping, in context: VerificationContext) -> Set<SoundLinks> {
        var found = Set<SoundLinks>()
        func visit(_ expression: Expression) {
            if case .keyPath(let base, let steps) = expression, base == .variable("source") || base == .evaluatedObject,
                case .key(let name)? = steps.first, let links = SoundLinks(name, of: mapping.source, in: context)
            {
                found.insert(links)
            }
            expression.parts.forEach(visit)
        }
        mapping.attributes.compactMap(\.expression).forEach(visit)
        mapping.relationships.map(\.from).forEach(visit)
        mapping.filter?.parts.forEach(visit)
        mapping.iteration.map { visit($0.elements) }
        return found
    }

    var name: String { "sound:\(entity).\(relationship)" }

    /// Looks whether all is well.
    ///
    /// - Throws: ``DatabaseError``, ``FerryError``.
    func areSound(in context: VerificationContext) throws -> Bool {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let storage = context.source.storage(of: relationship, in: entity)
        else { return false }
        let other = try context.sourceTable(of: declared.destinationEntity).name
        let place: (table: String, key: String)
        switch storage {
        case .foreignKey(let table, let column, _, _): place = (table, column)
        case .join(let table, _, let second, _, _): place = (table, second)
        case .inverseForeignKey, .inverseless: return false
        }
        // In the order of their index, so that the objects are met one after another.
        let lost = try context.connection.value(
            """
            SELECT 1 FROM source.\(place.table) o LEFT JOIN source.\(other) t ON t.Z_PK = o.\(place.key)
            WHERE o.\(place.key) IS NOT NULL AND t.Z_ENT IS NOT \(number) ORDER BY o.\(place.key) LIMIT 1
            """)
        return lost == nil
    }
}
