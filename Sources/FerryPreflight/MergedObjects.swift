internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension LossCounter {
    /// The losses of merged objects with their counts, as far as the store's own rows show which objects merge.
    ///
    /// One statement counts all attributes of an entity: it sorts the keys once, and reads the objects that merge.
    func countingMerged(_ losses: [ChainLoss]) throws -> [ChainLoss] {
        var losses = losses
        var attributes: [MergedObjects: [(loss: Int, column: String)]] = [:]
        for (index, loss) in losses.enumerated() where loss.pass == 1 && loss.merging != nil {
            guard let objects = MergedObjects(loss, in: layout), let property = loss.property else { continue }
            if let column = layout.column(of: property, in: loss.entity) {
                attributes[objects, default: []].append((index, Connection.quoted(column.name)))
            } else if case .foreignKey(_, let column, _, _)? = layout.storage(of: property, in: loss.entity),
                // Two objects at the ends of links may become one that keeps one of these.
                let ends = loss.merging?.ends, ends != .unknown
            {
                let count = try connection.integer(
                    objects.statement(ofLinks: Connection.quoted(column), areMerged: ends == .merged),
                    [.integer(objects.number)])
                let isExact = objects.isOrderKnown && ends != .inPart
                if count == 0 || isExact { losses[index].count = .exactly(count ?? 0) }
            }
        }
        for (objects, places) in attributes {
            var counts: [Value] = []
            do throws(DatabaseError) {
                let statement = objects.statement(of: places.map(\.column))
                counts = try connection.rows(statement, [.integer(objects.number)]).first ?? []
            } catch {
                // Values that are too large to compare stay uncounted.
                guard error.isTooBig else { throw error }
            }
            for (place, count) in zip(places, counts) {
                let number = count.integer ?? 0
                if objects.isOrderKnown || number == 0 { losses[place.loss].count = .exactly(number) }
            }
        }
        return losses
    }
}

/// The objects of an entity that become one with others of equal keys.
private struct MergedObjects: Hashable {
    /// The parameter of the statements.
    let number: Int64
    private let table: String
    private let keys: String
    private let condition: String
    /// The order of equal objects, of which the first stays.
    private let order: String
    /// Whether the rows show that order; if not, the counts only tell that something is lost.
    let isOrderKnown: Bool

    /// Nil if the rows do not show the keys.
    init?(_ loss: ChainLoss, in layout: StoreLayout) {
        guard let merging = loss.merging, let sources = merging.sources, let table = layout.table(of: loss.entity),
            let number = layout.number(of: loss.entity)
        else { return nil }
        let columns = sources.compactMap { layout.column(of: $0, in: loss.entity) }.map { Connection.quoted($0.name) }
        guard columns.count == sources.count else { return nil }
        (self.number, self.table) = (number, Connection.quoted(table.name))
        keys = columns.joined(separator: ", ")
        switch merging.order {
        case .first: (order, isOrderKnown) = ("Z_PK", true)
        case .last: (order, isOrderKnown) = ("Z_PK DESC", true)
        case .greatest(let attribute):
            let column = attribute.flatMap { layout.column(of: $0, in: loss.entity) }.map { Connection.quoted($0.name) }
            (order, isOrderKnown) = (column.map { "\($0) IS NULL, \($0) DESC, Z_PK" } ?? "Z_PK", column != nil)
        }
        condition = (["Z_ENT = ?1"] + (merging.nilIsEqual ? [] : columns.map { "\($0) IS NOT NULL" }))
            .joined(separator: " AND ")
    }

    /// Counts the objects with a value in each column that is not the first object's.
    func statement(of columns: [String]) -> String {
        let sums = columns.map { column in
            // SQLite knows the length of a BLOB without its bytes.
            """
            ifnull(sum(m.\(column) IS NOT NULL AND (length(m.\(column)) IS NOT length(f.\(column))
                OR m.\(column) IS NOT f.\(column))), 0)
            """
        }
        return """
            SELECT \(sums.joined(separator: ", ")) FROM (
                SELECT Z_PK AS k, first_value(Z_PK) OVER (PARTITION BY \(keys) ORDER BY \(order)) AS first FROM \(table) WHERE \(condition)) AS p
            CROSS JOIN \(table) AS m ON m.Z_PK = p.k CROSS JOIN \(table) AS f ON f.Z_PK = p.first
            WHERE p.k <> p.first
            """
    }

    /// Counts the objects with a link other than the first link of the objects that become one.
    ///
    /// `areMerged`: the links lead to objects that become one in the same way.
    func statement(ofLinks column: String, areMerged: Bool) -> String {
        let link = areMerged ? "ifnull(q.first, \(column))" : column
        let merged =
            """
            WITH p AS MATERIALIZED (
                SELECT Z_PK AS k, first_value(Z_PK) OVER (PARTITION BY \(keys) ORDER BY \(order)) AS first FROM \(table) WHERE \(condition)),
            q AS MATERIALIZED (SELECT k, first FROM p WHERE k <> first)

            """
        // The object that stays gives its link first, then the others in the order of their keys.
        let rank = order == "Z_PK" ? "" : ", rank() OVER (PARTITION BY \(keys) ORDER BY \(order)) > 1 AS isMerged"
        let from = rank.isEmpty ? table : "(SELECT *\(rank) FROM \(table) WHERE \(condition)) AS t"
        return """
            \(areMerged ? merged : "")SELECT count(*) FROM (
                SELECT \(link) AS link,
                    first_value(\(link)) OVER (PARTITION BY \(keys) ORDER BY \(rank.isEmpty ? "" : "isMerged, ")Z_PK) AS first
                FROM \(from)\(areMerged ? " LEFT JOIN q ON q.k = \(column)" : "")
                WHERE \(condition) AND \(column) IS NOT NULL)
            WHERE link <> first
            """
    }
}
