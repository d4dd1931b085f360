internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Compares the foreign keys of one destination table together with its rows, so that no second walk is needed.
final class RowKeys {
    /// Keys that the rules of their own objects fill.
    private final class Ruled {
        let relation: StoredRelation
        let place: Int

        init(_ relation: StoredRelation, _ place: Int) { (self.relation, self.place) = (relation, place) }
    }

    /// The source's own keys; after a difference the relation is compared pair by pair.
    private final class Carried {
        let keys: CarriedRelation.Keys
        let name: String
        let isOneToOne: Bool
        /// The destination's columns of the key and, if there is one, of the position.
        let place: Int
        let orderPlace: Int?
        let order: String?
        let find: Statement
        var sourcePlace = 0
        var sourceOrder = 0

        init(
            _ keys: CarriedRelation.Keys, of links: CarriedRelation, place: Int, orderPlace: Int?, find: Statement
        ) {
            (self.keys, name, isOneToOne) = (keys, links.name, links.keys.count > 1)
            (self.place, self.orderPlace, self.find) = (place, orderPlace, find)
            order = orderPlace == nil ? nil : keys.source.aOrder
        }
    }

    private let context: VerificationContext
    private let table: String
    private let related: RelatedObjects
    private let ruled: [Ruled]
    private let carried: [Carried]
    private struct Rule {
        let key: Ruled
        /// Nil if the key is the object's own, which needs no evaluator.
        let first: RelatedObjects.Rule?
        /// As in the key; a value that is only looked at costs no reference counting.
        let place: Int
        let isItself: Bool

        init(_ key: Ruled, _ first: RelatedObjects.Rule?) {
            (self.key, self.first, place, isItself) = (key, first, key.place, first == nil)
        }
    }

    /// By position of the entity mapping.
    private let rules: [[Rule]]
    private let needScope: [Bool]
    private let keepKeys: [Bool]
    /// Names of relations that must be compared pair by pair, because a key differs.
    var unshown: Set<String> = []

    init(of table: EntityTable, _ related: RelatedObjects, in context: VerificationContext) throws {
        (self.context, self.table, self.related) = (context, table.name, related)
        var (ruled, carried): ([Ruled], [Carried]) = ([], [])
        var rules: [[Rule]] = Array(repeating: [], count: context.step.entityMappings.count)
        for known in try context.relationForms.get().keys(ofTable: table.name) {
            switch known.form {
            case .ruled:
                guard let place = Self.place(of: known.relation.links.b, in: table) else { continue }
                let key = Ruled(known.relation, place)
                ruled.append(key)
                for stored in known.relation.rules {
                    let rule = related.rule(stored)
                    rules[stored.mapping.position].append(
                        Rule(key, rule.yieldsItself(of: stored.mapping.source) ? nil : rule))
                }
            case .carried(let links):
                for keys in links.keys where keys.destination.table == table.name {
                    guard let place = Self.place(of: keys.destination.b, in: table) else { continue }
                    let orderPlace = keys.destination.aOrder.flatMap { Self.place(of: $0, in: table) }
                    carried.append(
                        Carried(
                            keys, of: links, place: place, orderPlace: orderPlace,
                            find: try context.connection.prepare(
                                CarriedRelation.find(keys.target, "?", in: context))))
                }
            case .made, .other: break
            }
        }
        (self.ruled, self.carried, self.rules) = (ruled, carried, rules)
        needScope = rules.map { $0.contains { $0.first != nil } }
        keepKeys = context.step.entityMappings.map(\.keepsPrimaryKey)
    }

    private static func place(of column: String, in table: EntityTable) -> Int? {
        table.columns.firstIndex { $0.name == column }.map { $0 + ExpectedRow.firstColumn }
    }

    /// The columns that the source's rows must have beside those of attributes.
    var sourceColumns: [String] { carried.flatMap { [$0.keys.source.b, $0.order].compactMap { $0 } } }

    /// Must be called before kept rows of a source table are compared.
    func open(_ rows: MappedSourceRows) {
        for keys in carried {
            keys.sourcePlace = rows.place(ofColumn: keys.keys.source.b)
            if let order = keys.order { keys.sourceOrder = rows.place(ofColumn: order) }
        }
    }

    /// Whether the keys of a mapping's objects follow from more than the object's row.
    func needScope(for mapping: Int) -> Bool { needScope[mapping] }

    // MARK: Rows

    /// Compares the keys of a destination row, nil if missing; ``needScope(for:)`` says whether the source's object is needed.
    func compare(
        _ key: Int64, _ actual: TableRows?, with source: TableRows, _ scope: PlainScope?,
        by mapping: Int
    ) throws {
        // By index: this runs for every row, and an iterator holds what it passes.
        for index in carried.indices {
            let isShown =
                if !keepKeys[mapping] {
                    // The source row is not that of the same key; such an object has no links.
                    actual?.isNull(carried[index].place) ?? true
                } else if let actual {
                    try isRight(carried[index], actual, source)
                } else {
                    !carried[index].isOneToOne
                }
            if !isShown { unshown.insert(carried[index].name) }
        }
        for index in rules[mapping].indices {
            if rules[mapping][index].isItself, let actual,
                actual.isEqual(rules[mapping][index].place, to: source.integer(MappedSourceRows.keyColumn))
            {
                continue
            }
            let rule = rules[mapping][index]
            let keys = rule.key
            let expected: Int64?
            do {
                if let first = rule.first {
                    guard let scope else { preconditionFailure("rules need the object") }
                    expected = try related.firstCandidate(first, in: scope)
                } else {
                    expected = source.integer(MappedSourceRows.keyColumn)
                }
            } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
                // The row comparison reports the failure.
                continue
            }
            let found = actual.flatMap { $0.isNull(keys.place) ? nil : $0.integer(keys.place) }
            guard found != expected || actual.map({ isOtherThanKey($0, keys.place) }) ?? false else { continue }
            if try context.keptDamage.holds(keys.relation.key, holder: key, value: found) { continue }
            differ(keys, row: key)
        }
    }

    /// Compares a row that no mapping has made, which may hold no keys.
    func compareAdditionalRow(_ key: Int64, _ actual: TableRows) {
        for keys in ruled where !actual.isNull(keys.place) { differ(keys, row: key) }
        for keys in carried where !actual.isNull(keys.place) { unshown.insert(keys.name) }
    }

    private func differ(_ keys: Ruled, row: Int64) {
        context.report(
            RelationshipsCheck.self, entity: keys.relation.key.entity,
            example: "\(table) Z_PK \(row) \(keys.relation.links.b)")
    }

    private func isOtherThanKey(_ actual: TableRows, _ place: Int) -> Bool {
        !actual.isNull(place) && actual.current.storageClass(place) != .integer
    }

    private func isRight(_ keys: Carried, _ actual: TableRows, _ source: TableRows) throws -> Bool {
        if actual.isNull(keys.place) { return try source.isNull(keys.sourcePlace) || isEmptied(keys, source) }
        guard !isOtherThanKey(actual, keys.place), try actual.isEqual(keys.place, source, keys.sourcePlace) else {
            return false
        }
        guard let order = keys.orderPlace else { return true }
        // In place a position may be NULL.
        return try actual.isEqual(order, source, keys.sourceOrder)
            && (!isOtherThanKey(actual, order) && !actual.isNull(order)
                || actual.isNull(order) && context.verification.isInPlace)
    }

    /// Whether the destination has no object of the source row's key.
    private func isEmptied(_ keys: Carried, _ source: TableRows) throws -> Bool {
        guard !isOtherThanKey(source, keys.sourcePlace) else { return false }
        return try !keys.find.finds(source.integer(keys.sourcePlace))
    }
}
