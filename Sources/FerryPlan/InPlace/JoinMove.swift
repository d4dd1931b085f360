internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// How the rows of one destination join table come to be.
struct JoinMove {
    enum Way {
        case alter(JoinTable, renames: [(from: String, to: String)], additions: [String])
        /// From another join table, whose columns stand in another order or go.
        case rebuild(JoinTable, columns: [(new: String, old: String)])
        /// From keys in rows, as `INSERT … SELECT` parts: source table, first and second key, condition.
        case keys([KeyRows])
        case create
    }

    /// Rows of an entity table that hold one end of each link.
    struct KeyRows: Hashable {
        var table: String
        var first: String
        var second: String
        /// The column with the position of the row's object among those of the key's object.
        var order: String?
        /// `Z_ENT` of the rows.
        var number: Int64
        /// The key column among `first` and `second`, and the objects that it may lead to.
        var key: String
        var targetTable: String
        var targetNumber: Int64

        /// Whether the row's object is the second one of the link.
        var isSecond: Bool { second == "Z_PK" }
    }

    let destination: JoinTable
    let way: Way
    /// Links that go since one of their ends goes or leaves the relationship.
    private(set) var cuts: [InPlaceStatement] = []
    /// Order columns that must be numbered, each with the columns of the group and of the other key.
    private(set) var numberings: [(order: String, group: String, other: String)] = []

    init(
        _ table: JoinTable, _ sources: RelationshipSources, keys: [String: [String]], mustRebuild: Bool
    ) throws(InPlaceObstacle) {
        destination = table
        let pairs = try sources.pairs(of: table.relationship)
        guard let first = pairs.first else {
            way = .create
            return
        }
        if case .join(let name, let own, let other, let otherOrder, let ownOrder) = first.storage {
            guard pairs.allSatisfy({ $0.storage == first.storage }),
                let old = sources.source.joinTables.first(where: { $0.name == name })
            else { throw .needsCopy("\(table.name) takes over links from several places") }
            cuts = try Self.cuts(of: pairs, old, own: own, other: other, sources)
            // Migrations in place by Core Data can leave the columns of the key in another order.
            let key = (table.isKeyTurned ? [other, own] : [own, other]).map { $0.uppercased() }
            let isKeyKept = keys[old.name.uppercased()]?.map { $0.uppercased() } == key
            way = Self.way(
                table, old, own: own, other: other, otherOrder: otherOrder, ownOrder: ownOrder,
                isKeyKept: isKeyKept && !mustRebuild)
            if table.secondOrderColumn != nil, otherOrder == nil { addNumbering(ofSecond: true) }
            if table.firstOrderColumn != nil, ownOrder == nil { addNumbering(ofSecond: false) }
        } else {
            let rows = try Self.keyRows(pairs, sources)
            way = .keys(rows)
            if table.secondOrderColumn != nil, !rows.allSatisfy({ $0.isSecond && $0.order != nil }) {
                addNumbering(ofSecond: true)
            }
            if table.firstOrderColumn != nil, !rows.allSatisfy({ !$0.isSecond && $0.order != nil }) {
                addNumbering(ofSecond: false)
            }
        }
    }

    private mutating func addNumbering(ofSecond isSecond: Bool) {
        let (first, second) = (destination.firstColumn, destination.secondColumn)
        guard let order = isSecond ? destination.secondOrderColumn : destination.firstOrderColumn else { return }
        numberings.append(isSecond ? (order, first, second) : (order, second, first))
    }

    // MARK: From a join table

    private static func way(
        _ new: JoinTable, _ old: JoinTable, own: String, other: String, otherOrder: String?, ownOrder: String?,
        isKeyKept: Bool
    ) -> Way {
        var columns = [(new: new.firstColumn, old: own), (new: new.secondColumn, old: other)]
        if let order = new.firstOrderColumn, let ownOrder { columns.append((order, ownOrder)) }
        if let order = new.secondOrderColumn, let otherOrder { columns.append((order, otherOrder)) }
        let kept = Set(columns.map(\.old))
        guard isKeyKept, old.columns.allSatisfy(kept.contains) else { return .rebuild(old, columns: columns) }
        let given = Set(columns.map(\.new))
        let additions = [new.firstOrderColumn, new.secondOrderColumn].compactMap { $0 }.filter { !given.contains($0) }
        return .alter(
            old, renames: columns.filter { $0.new != $0.old }.map { ($0.old, $0.new) }, additions: additions)
    }

    private static func cuts(
        of pairs: [RelationshipSources.Pair], _ old: JoinTable, own: String, other: String,
        _ sources: RelationshipSources
    ) throws(InPlaceObstacle) -> [InPlaceStatement] {
        let owners = Set(pairs.map(\.own.source))
        let others = Set(pairs.map(\.other.source))
        let related = Set(pairs.map { [$0.own.source, $0.other.source] })
        guard related.count == owners.count * others.count else {
            throw .needsCopy("\(old.name) keeps some of its links by the entities of both ends")
        }
        let isOwnFirst = own == old.firstColumn
        let (ownSide, otherSide) = isOwnFirst ? (old.relationship, old.inverse) : (old.inverse, old.relationship)
        return [(own, ownSide, owners), (other, otherSide, others)].compactMap { column, side, kept in
            let lost = sources.source.model.concreteFamily(of: side.entity).subtracting(kept)
                .compactMap { sources.source.number(of: $0) }
            guard !lost.isEmpty, let table = sources.source.table(of: side.entity)?.name else { return nil }
            return InPlaceStatement(
                "DELETE FROM \(old.name) WHERE \(column) IN "
                    + "(SELECT Z_PK FROM \(table) WHERE \(lost.sorted().rowCondition()))", writesObjects: true,
                reason: "objects at the end of \(column) go, or are no longer related")
        }
    }

    // MARK: From keys

    private static func keyRows(
        _ pairs: [RelationshipSources.Pair], _ sources: RelationshipSources
    ) throws(InPlaceObstacle) -> [KeyRows] {
        var found: [KeyRows] = []
        for pair in pairs {
            let holder: ResolvedEntityMapping
            let target: ResolvedEntityMapping
            let place: (table: String, column: String, order: String?)
            let ownHolds: Bool
            switch pair.storage {
            case .foreignKey(let table, let column, _, let order):
                (holder, target, place, ownHolds) = (pair.own, pair.other, (table, column, order), true)
            case .inverseForeignKey(let table, let column, _, let order):
                (holder, target, place, ownHolds) = (pair.other, pair.own, (table, column, order), false)
            case .inverseless(let table, let column):
                (holder, target, place, ownHolds) = (pair.other, pair.own, (table, column, nil), false)
            case .join: throw .needsCopy("links stand partly in a join table and partly in rows")
            }
            guard let number = sources.source.number(of: holder.source),
                let targetNumber = sources.source.number(of: target.source),
                let targetTable = sources.source.table(of: target.source)?.name
            else { continue }
            let rows = KeyRows(
                table: place.table, first: ownHolds ? "Z_PK" : place.column, second: ownHolds ? place.column : "Z_PK",
                order: place.order, number: number, key: place.column, targetTable: targetTable,
                targetNumber: targetNumber)
            if !found.contains(rows) { found.append(rows) }
        }
        return found
    }

    /// Fills the table from keys in rows.
    func fill(_ rows: KeyRows, from table: String, targets: String) -> InPlaceStatement {
        var columns = [destination.firstColumn, destination.secondColumn]
        var values = ["s.\(rows.first)", "s.\(rows.second)"]
        let orderColumn = rows.isSecond ? destination.secondOrderColumn : destination.firstOrderColumn
        if let orderColumn, let order = rows.order {
            columns.append(orderColumn)
            values.append("s.\(order)")
        }
        return InPlaceStatement(
            "INSERT OR IGNORE INTO \(destination.name) (\(columns.joined(separator: ", "))) "
                + "SELECT \(values.joined(separator: ", ")) FROM \(table) AS s "
                + "JOIN \(targets) AS t ON t.Z_PK = s.\(rows.key) "
                + "WHERE +s.Z_ENT = \(rows.number) AND +t.Z_ENT = \(rows.targetNumber)", writesObjects: true,
            reason: "\(rows.key) becomes a to-many relationship")
    }

    func fill(from table: String, _ columns: [(new: String, old: String)]) -> InPlaceStatement {
        InPlaceStatement(
            "INSERT INTO \(destination.name) (\(columns.map(\.new).joined(separator: ", "))) "
                + "SELECT \(columns.map(\.old).joined(separator: ", ")) FROM \(table)", writesObjects: true,
            reason: "columns of the join table go, or change places")
    }
}

/// Where the links of a destination relationship stand in the source store, for a step that leaves rows where they are.
///
/// What each rule passes on is that of ``RelationshipRules``, as for a copy; here the two sides of a relationship are put
/// together, since links that stand where they are to stand need no statement.
struct RelationshipSources {
    let step: ResolvedStep
    let source: StoreLayout
    let destination: StoreLayout
    private let rules: RelationshipRules

    init(step: ResolvedStep, source: StoreLayout, destination: StoreLayout) {
        (self.step, self.source, self.destination) = (step, source, destination)
        rules = RelationshipRules(step, source: source, destination: destination)
    }

    /// A key column in the rows of one entity mapping.
    struct Key: Hashable {
        var column: String
        var entityColumn: String?
        var orderColumn: String?
        /// The source table of the objects that the key leads to.
        var targetTable: String
        /// Source entities that the key can lead to, and those of them whose objects stay related.
        var possible: Set<String>
        var allowed: Set<String>
    }

    /// Mappings that relate objects, each with the one of the related objects.
    struct Pair {
        var own: ResolvedEntityMapping
        var other: ResolvedEntityMapping
        /// What the rule of the pair passes on.
        let origin: SourceRelationship
        /// As it is stored, seen from `own`.
        var storage: RelationshipStorage

        /// The same from the other side, of a rule of `own`.
        func mirrored(in source: StoreLayout) -> Pair {
            Pair(own: other, other: own, origin: origin, storage: origin.otherSide(of: storage, other, in: source))
        }
    }

    /// What a destination relationship is made of, from its own side.
    func pairs(of relationship: PropertyKey) throws(InPlaceObstacle) -> [Pair] {
        let pairs = try ruled(relationship)
        guard let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverse(of: declared),
            inverse.name != relationship.property
                || declared.destinationEntity != relationship.entity,
            let entity = destination.model.declaringEntity(of: inverse.name, in: declared.destinationEntity)
        else { return pairs }
        return try pairs + ruled(PropertyKey(entity, inverse.name)).map { $0.mirrored(in: source) }
    }

    /// What the rules say that name a relationship.
    private func ruled(_ relationship: PropertyKey) throws(InPlaceObstacle) -> [Pair] {
        var found: [Pair] = []
        for contribution in rules.contributions(to: relationship) {
            let (mapping, rule) = (contribution.mapping, contribution.rule)
            guard let origin = contribution.origin else {
                throw .needsCopy("\(mapping.destination).\(rule.name) is filled over a path")
            }
            for other in rule.mappings.compactMap({ step.entityMapping(named: $0) }) {
                found.append(Pair(own: mapping, other: other, origin: origin, storage: origin.storage))
            }
        }
        return found
    }

    // MARK: Keys in rows

    /// The key that the rows of a mapping hold for a relationship of their own; nil when it is left empty.
    ///
    /// - Parameters:
    ///   - pairs: What the to-one relationship is made of, from the side of the rows that hold the key.
    ///   - mapping: Whose rows hold it.
    /// - Returns: The source column.
    /// - Throws: When the rows do not hold the key already.
    func key(_ pairs: [Pair], in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key? {
        try key(ofOwn: pairs.filter { $0.own.position == mapping.position }, in: mapping)
    }

    /// Whether a to-one relationship is a new side of one whose keys stand in the related rows: a one-to-one holds a key
    /// on both sides.
    func isHeldByOtherSide(_ relationship: PropertyKey, _ pairs: [Pair], in mapping: ResolvedEntityMapping) -> Bool {
        let own = pairs.filter { $0.own.position == mapping.position }
        guard !own.isEmpty,
            let declared = destination.model.relationship(relationship.property, of: relationship.entity),
            let inverse = destination.model.inverse(of: declared), !inverse.isToMany
        else { return false }
        return own.allSatisfy { if case .inverseForeignKey = $0.storage { true } else { false } }
    }

    /// The same of a to-many relationship without inverse, whose key the related rows hold.
    func key(ofInverseless relationship: PropertyKey, in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key?
    {
        let pairs = try pairs(of: relationship).filter { $0.other.position == mapping.position }
        return try key(ofOwn: pairs.map { $0.mirrored(in: source) }, in: mapping)
    }

    private func key(ofOwn pairs: [Pair], in mapping: ResolvedEntityMapping) throws(InPlaceObstacle) -> Key? {
        guard let first = pairs.first else { return nil }
        guard pairs.allSatisfy({ $0.storage == first.storage }),
            case .foreignKey(let table, let column, let entityColumn, let orderColumn) = first.storage,
            table == source.table(of: mapping.source)?.name,
            let target = source.table(of: first.other.source)
        else {
            throw .needsCopy("\(mapping.destination) takes over keys that other rows hold")
        }
        return Key(
            column: column, entityColumn: entityColumn, orderColumn: orderColumn, targetTable: target.name,
            possible: possibleTargets(of: column, in: mapping), allowed: Set(pairs.map(\.other.source)))
    }

    /// Concrete source entities that a key column of an entity's rows can lead to.
    private func possibleTargets(of column: String, in mapping: ResolvedEntityMapping) -> Set<String> {
        let table = source.table(of: mapping.source)?.name
        for (key, storage) in source.relationshipStorage {
            switch storage {
            case .foreignKey(table, column, _, _) where source.model.isKind(mapping.source, of: key.entity):
                let target = source.model.relationship(key.property, of: key.entity)?.destinationEntity
                return target.map(source.model.concreteFamily(of:)) ?? []
            case .inverseless(table, column): return source.model.concreteFamily(of: key.entity)
            default: break
            }
        }
        return []
    }
}
