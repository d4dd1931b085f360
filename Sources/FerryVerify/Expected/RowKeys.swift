internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Compares the foreign keys of one destination table together with its rows, so that no second walk is needed.
///
/// After a difference the relation is compared pair by pair (``RelationPairs``), which names the place.
final class RowKeys {
    /// The source's own keys.
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
    private let related: RelatedObjects
    private let carried: [Carried]
    /// A rule of the object that fills a key.
    private struct Rule {
        let name: String
        let place: Int
        /// Nil if the key is the object's own, which needs no evaluator.
        let first: RelatedObjects.Rule?
    }

    /// All keys of the table.
    private let places: [(name: String, place: Int)]
    /// By position of the entity mapping.
    private let rules: [[Rule]]
    private let keepKeys: [Bool]
    /// Names of relations of which a key differs.
    var unshown: Set<String> = []

    init(of table: EntityTable, _ related: RelatedObjects, in context: VerificationContext) throws {
        (self.context, self.related) = (context, related)
        var (places, carried): ([(name: String, place: Int)], [Carried]) = ([], [])
        var rules: [[Rule]] = Array(repeating: [], count: context.step.entityMappings.count)
        for known in try context.relationForms.get().keys[table.name] ?? [] {
            switch known.form {
            case .ruled:
                guard let place = Self.place(of: known.relation.links.b, in: table) else { continue }
                let name = known.relation.key.title
                places.append((name, place))
                for stored in known.relation.rules {
                    let rule = RelatedObjects.Rule(stored, in: context)
                    let isItself = rule.yieldsItself(of: stored.mapping.source)
                    rules[stored.mapping.position].append(
                        Rule(name: name, place: place, first: isItself ? nil : rule))
                }
            case .carried(let links):
                for keys in links.keys where keys.destination.table == table.name {
                    guard let place = Self.place(of: keys.destination.b, in: table) else { continue }
                    places.append((links.name, place))
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
        (self.places, self.carried, self.rules) = (places, carried, rules)
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
    func needScope(for mapping: Int) -> Bool { rules[mapping].contains { $0.first != nil } }

    // MARK: Rows

    /// Compares the keys of a destination row, nil if missing; ``needScope(for:)`` says whether the source's object is needed.
    func compare(
        _ actual: TableRows?, with source: TableRows, _ scope: PlainScope?, by mapping: Int
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
            let place = rules[mapping][index].place
            var expected: Int64? = source.integer(MappedSourceRows.keyColumn)
            if let first = rules[mapping][index].first {
                guard let scope else { preconditionFailure("rules need the object") }
                do {
                    expected = try related.firstCandidate(first, in: scope)
                } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
                    // The row comparison reports the failure.
                    continue
                }
            }
            let isShown =
                if let expected { actual?.isEqual(place, to: expected) ?? false } else { actual?.isNull(place) ?? true }
            if !isShown { unshown.insert(rules[mapping][index].name) }
        }
    }

    /// Compares a row that no mapping has made, which may hold no keys.
    func compareAdditionalRow(_ actual: TableRows) {
        for (name, place) in places where !actual.isNull(place) { unshown.insert(name) }
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
