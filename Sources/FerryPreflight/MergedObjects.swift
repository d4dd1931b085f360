internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension LossCounter {
    /// The counts of losses of merged objects by their places, as far as the store's own rows show which objects merge.
    ///
    /// One statement counts all properties of an entity: it sorts the keys once, and reads the objects that merge.
    func countsOfMerged(_ losses: [ChainLoss]) throws -> [Int: ChainLoss.Count] {
        var columns: [MergedObjects: [(loss: Int, column: String)]] = [:]
        for (index, loss) in losses.enumerated() where loss.pass == 1 && loss.merging != nil && reads(loss) {
            guard let objects = MergedObjects(loss, in: layout), let column = ownColumn(of: loss) else { continue }
            columns[objects, default: []].append((index, column))
        }
        var found: [Int: ChainLoss.Count] = [:]
        for (objects, places) in columns {
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
                if number == 0 || (objects.isOrderKnown && !losses[place.loss].isBound) {
                    found[place.loss] = .exactly(number)
                } else if objects.isOrderKnown, !losses[place.loss].isOpen {
                    found[place.loss] = .atMost(number)
                }
            }
        }
        return found
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
        guard let merging = loss.merging, let sources = merging.sources, let entity = loss.entities.first,
            let table = layout.table(of: entity), let number = layout.number(of: entity)
        else { return nil }
        func column(_ attribute: String) -> String? {
            layout.column(of: attribute, in: entity).map { Connection.quoted($0.name) }
        }
        let columns = sources.compactMap(column)
        guard columns.count == sources.count else { return nil }
        (self.number, self.table) = (number, Connection.quoted(table.name))
        keys = columns.joined(separator: ", ")
        switch merging.mapping.keep {
        case .first: (order, isOrderKnown) = ("Z_PK", true)
        case .last: (order, isOrderKnown) = ("Z_PK DESC", true)
        case .newest(by: let value):
            let date = value.fromSource.sourceKeys.flatMap(column)
            (order, isOrderKnown) = (date.map { "\($0) IS NULL, \($0) DESC, Z_PK" } ?? "Z_PK", date != nil)
        }
        condition = (["Z_ENT = ?1"] + (merging.mapping.nilIsEqual ? [] : columns.map { "\($0) IS NOT NULL" }))
            .joined(separator: " AND ")
    }

    /// Counts the objects with a value in each column that is not the first object's, or just another one if any may be it.
    func statement(of columns: [String]) -> String {
        let sums = columns.map { column in
            // SQLite knows the length of a BLOB without its bytes.
            """
            ifnull(sum(\(isOrderKnown ? "m.\(column) IS NOT NULL AND " : "")(length(m.\(column)) IS NOT length(f.\(column))
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
}
