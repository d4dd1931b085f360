internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Finds the join tables whose rows are those of a join table of the source, as they are.
///
/// That is so where every link of the source leads from a row to a row, and every object at either end is carried with
/// its key. Then no row of an object has to be looked up to relate it.
struct UnchangedLinks {
    let mappings: [ResolvedEntityMapping]
    let source: StoreLayout
    /// The relationships that have links which lead nowhere, as a scan names them.
    let broken: Set<PropertyKey>

    /// The source's table that holds the links of one of the destination.
    ///
    /// - Parameters:
    ///   - table: The destination's table.
    ///   - assignment: The only rules that fill it.
    /// - Returns: Each column of the source's table in the place of the one that it fills; nil where the links have to be
    ///   looked up one by one.
    func origin(of table: JoinTable, _ assignment: RelationshipAssignments.Assignment) -> JoinTable? {
        guard case .join(_, let own, _, let otherOrder, let ownOrder) = assignment.storage else { return nil }
        var origins: Set<JoinTable> = []
        var carried: Set<String> = []
        var expected: Set<String> = []
        for contribution in assignment.contributions {
            let mapping = contribution.mapping
            guard let name = contribution.rule.sourceRelationship, isKept(mapping),
                contribution.copied.suffice(otherOrder: otherOrder, ownOrder: ownOrder),
                let storage = source.storage(of: name, in: mapping.source),
                let entity = source.model.declaringEntity(of: name, in: mapping.source),
                isSound(storage), isEveryTargetKept(contribution.rule, name, of: mapping),
                let origin = origin(of: table, storage, isOwnFirst: own == table.firstColumn)
            else { return nil }
            origins.insert(origin)
            carried.insert(mapping.source)
            expected.formUnion(concrete(entity))
        }
        guard origins.count == 1, expected.isSubset(of: carried) else { return nil }
        return origins.first
    }

    private func origin(of table: JoinTable, _ storage: RelationshipStorage, isOwnFirst: Bool) -> JoinTable? {
        guard case .join(let name, let own, let other, let otherOrder, let ownOrder) = storage else { return nil }
        var origin = table
        origin.name = name
        (origin.firstColumn, origin.secondColumn) = isOwnFirst ? (own, other) : (other, own)
        let (first, second) = isOwnFirst ? (ownOrder, otherOrder) : (otherOrder, ownOrder)
        origin.firstOrderColumn = table.firstOrderColumn.flatMap { _ in first }
        origin.secondOrderColumn = table.secondOrderColumn.flatMap { _ in second }
        return origin.columns.count == table.columns.count ? origin : nil
    }

    private func isKept(_ mapping: ResolvedEntityMapping) -> Bool { mapping.keepsPrimaryKey && mapping.filter == nil }

    /// Whether every row of a join table leads from a row to a row.
    private func isSound(_ storage: RelationshipStorage) -> Bool {
        guard let table = source.joinTables.first(where: { $0.name == storage.table }) else { return false }
        return !broken.contains(table.relationship)
    }

    private func isEveryTargetKept(
        _ rule: ResolvedRelationship, _ name: String, of mapping: ResolvedEntityMapping
    ) -> Bool {
        guard let target = source.model.relationship(name, of: mapping.source)?.destinationEntity else { return false }
        let targets = mappings.filter { rule.mappings.contains($0.name) }
        return targets.allSatisfy(isKept) && concrete(target).isSubset(of: targets.map(\.source))
    }

    /// An entity and those below it, as far as they have objects.
    private func concrete(_ entity: String) -> Set<String> {
        Set(source.model.family(of: entity).filter { source.model.entities[$0]?.isAbstract != true })
    }
}
