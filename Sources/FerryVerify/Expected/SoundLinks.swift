internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A relationship of the source whose objects are all of one entity.
///
/// If all its links lead to such objects, which one ordered pass shows, a walk needs only their keys and no lookup of
/// the objects.
struct SoundLinks: Sendable, Hashable {
    let entity: String
    let relationship: String
    /// `Z_ENT` of all related objects.
    let number: Int64
    private let links: StoredLinks

    /// Nil if links can lead to several entities, or are stored in the related objects' rows.
    fileprivate init?(_ relationship: String, of entity: String, in context: VerificationContext) {
        guard let declared = context.sourceModel.relationship(relationship, of: entity),
            let only = context.sourceModel.family(of: declared.destinationEntity).first,
            context.sourceModel.family(of: declared.destinationEntity).count == 1,
            let number = context.source.number(of: only),
            let links = context.source.storage(of: relationship, in: entity).map(StoredLinks.init), !links.areInRowsOfB
        else { return nil }
        (self.entity, self.relationship, self.number, self.links) = (entity, relationship, number, links)
    }

    fileprivate func areSound(in context: VerificationContext) throws -> Bool {
        guard let declared = context.sourceModel.relationship(relationship, of: entity) else { return false }
        let other = try context.sourceTable(of: declared.destinationEntity).name
        // In the order of their index, so that SQLite reads the objects in sequence.
        let lost = try context.connection.value(
            """
            SELECT 1 FROM source.\(links.table) o LEFT JOIN source.\(other) t ON t.Z_PK = o.\(links.b)
            WHERE o.\(links.b) IS NOT NULL AND t.Z_ENT IS NOT \(number) ORDER BY o.\(links.b) LIMIT 1
            """)
        return lost == nil
    }
}

/// The links that were found to be sound or not, once for all walkers.
final class KnownSoundLinks: Sendable {
    private let known = Locked<[SoundLinks: Bool]>([:])

    /// The links of a relationship if they are sound; another thread that asks meanwhile waits for the answer.
    func links(_ relationship: String, of entity: String, in context: VerificationContext) throws -> SoundLinks? {
        guard let links = SoundLinks(relationship, of: entity, in: context) else { return nil }
        return try known.withLock { known in
            let areSound = try known[links] ?? links.areSound(in: context)
            known[links] = areSound
            return areSound ? links : nil
        }
    }
}
