internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The relationships of the source whose links all lead to objects of one entity, found once for all walkers.
///
/// One ordered pass shows it; then a walk needs only the keys of the objects and no lookup.
final class SoundLinks: Sendable {
    private let known = Locked<[PropertyKey: Bool]>([:])

    /// `Z_ENT` of all related objects; nil if links can lead to several entities or to no object, or are stored in the
    /// related objects' rows.
    ///
    /// Another thread that asks meanwhile waits for the answer.
    func number(ofRelated relationship: String, of entity: String, in context: VerificationContext) throws -> Int64? {
        guard let other = context.sourceModel.relationship(relationship, of: entity)?.destinationEntity,
            let only = context.sourceModel.family(of: other).first, context.sourceModel.family(of: other).count == 1,
            let number = context.source.number(of: only),
            let links = context.source.storage(of: relationship, in: entity).map(StoredLinks.init), !links.areInRowsOfB
        else { return nil }
        return try known.withLock { known in
            let key = PropertyKey(entity, relationship)
            let areSound = try known[key] ?? areSound(links, to: other, number, in: context)
            known[key] = areSound
            return areSound ? number : nil
        }
    }

    private func areSound(
        _ links: StoredLinks, to other: String, _ number: Int64, in context: VerificationContext
    ) throws -> Bool {
        // In the order of their index, so that SQLite reads the objects in sequence.
        let lost = try context.connection.value(
            """
            SELECT 1 FROM source.\(links.table) o
            LEFT JOIN source.\(try context.sourceTable(of: other).name) t ON t.Z_PK = o.\(links.b)
            WHERE o.\(links.b) IS NOT NULL AND t.Z_ENT IS NOT \(number) ORDER BY o.\(links.b) LIMIT 1
            """)
        return lost == nil
    }
}
