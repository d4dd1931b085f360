internal import FerrySQLite
internal import FerryStore

/// Shows without sorting that the pairs which a relation's rules yield are those that are stored.
///
/// Each side's pairs are summed up, whatever their order. A stored key has one row, so that equal sums also show that no
/// object has two candidates; only other pairs need the search, which names their places.
struct PairProof {
    let relation: StoredRelation
    /// The table of the pairs, with the side of the rule: 0 and 1, or 2 for a mirrored rule.
    let table: String
    /// Queries of more pairs, which are not in the table.
    let queries: [PairQuery]
    let context: VerificationContext

    func holds() throws -> Bool {
        var sides = [EntrySum](repeating: EntrySum(), count: 3)
        for pairs in [table] + queries.map({ "(\($0.pairs))" }) {
            let found = try sums(
                ["a", "b"] + sides.indices.map { "side = \($0)" }, "FROM \(pairs)",
                sides.indices.map { RowSums.Columns(filter: 2 + $0, columns: [0, 1]) })
            for side in sides.indices { sides[side].add(found[side]) }
        }
        let links = relation.links
        let isKeyed = links.areInRowsOfA
        let stored = try stored(links.a, links.b, in: links.table)
        if let other = relation.other?.links {
            guard try self.stored(other.b, other.a, in: other.table) == stored else { return false }
        }
        let own = sides[0...1].filter { $0.count > 0 }
        // Between keys of one side a mirrored rule adds nothing; between those of both sides it relates free objects.
        let mirrored = [sides[2]].filter { $0.count > 0 && (relation.other != nil || !isKeyed) }
        if own.isEmpty && (isKeyed || mirrored.isEmpty) { return mirrored.isEmpty && stored.count == 0 }
        return (own + mirrored).allSatisfy { $0 == stored }
    }

    private func stored(_ a: String, _ b: String, in table: String) throws -> EntrySum {
        let tail = "FROM destination.\(table) WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL"
        return try sums([a, b], tail, [.init(columns: [0, 1])])[0]
    }

    private func sums(_ columns: [String], _ tail: String, _ sets: [RowSums.Columns]) throws -> [EntrySum] {
        let sums = RowSums(sets, key: context.progress.hashKey())
        try sums.add(columns, tail, on: context.connection, lookingEvery: VerificationContext.rowsPerAnnouncement) {
            try context.announce(relation.key.property)
        }
        return sums.found.sums
    }
}
