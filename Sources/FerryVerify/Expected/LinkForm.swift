internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// How one version stores a relationship and its inverse: once, as the links of one side, `a`, or as those of both sides of
/// a one-to-one.
struct LinkForm: Sendable, Hashable {
    /// The relationship as `a` declares it.
    let key: PropertyKey
    let inverse: PropertyKey?
    var links: StoredLinks
    /// The keys of the other side of a one-to-one, as that side stores them.
    var other: StoredLinks?
    /// Whether the relationship is its own inverse, so that a link is the same in both directions.
    var isReflexive: Bool { inverse == key }

    /// Those of all relationships of a version, ordered by name.
    static func all(of layout: StoreLayout) -> [LinkForm] {
        layout.relationshipStorage.inOrder { $0.key < $1.key }.compactMap { key, storage in
            guard let relationship = layout.model.relationship(key.property, of: key.entity) else { return nil }
            let inverse = layout.model.inverseKey(of: relationship)
            var form = LinkForm(key: key, inverse: inverse, links: StoredLinks(storage))
            switch storage {
            // The other side stores these.
            case .inverseForeignKey: return nil
            case .foreignKey:
                guard let inverse, inverse != key, case .foreignKey? = layout.relationshipStorage[inverse] else {
                    break
                }
                // The first of the two columns by name identifies the relation.
                if inverse < key { return nil }
                form.other = layout.relationshipStorage[inverse].map(StoredLinks.init)
            case .join(let table, let own, _, _, _):
                guard layout.joinTables.first(where: { $0.name == table })?.firstColumn == own else { return nil }
            case .inverseless: break
            }
            return form
        }
    }

    /// Those of all relationships of a version, each seen from the entity that declares the relationship.
    static func byKey(of layout: StoreLayout) -> [PropertyKey: LinkForm] {
        let forms = all(of: layout)
        return Dictionary(
            first: forms.map { ($0.key, $0) } + forms.compactMap { form in form.inverse.map { ($0, form.reversed) } })
    }

    /// The same, seen from the other side.
    var reversed: LinkForm {
        var form = self
        if let other { (form.links, form.other) = (other, links) } else { form.links = links.reversed }
        return form
    }
}

/// The links of a relationship in one table, seen from one of its two sides, `a`.
struct StoredLinks: Sendable, Hashable {
    var table: String
    /// The columns of the two keys: `Z_PK` for the side whose rows hold the keys of the other side.
    var a: String
    var b: String
    /// The position of `a` among the objects of a `b`, and of `b` among those of an `a`.
    var aOrder: String?
    var bOrder: String?
    /// The column of the related objects' `Z_ENT` beside a foreign key, if they can be of several entities.
    var entity: String?

    /// The links seen from the entity that declares the relationship.
    init(_ storage: RelationshipStorage) {
        switch storage {
        case .foreignKey(let table, let column, let entity, let order):
            (self.table, a, b, aOrder, self.entity) = (table, Self.rowKey, column, order, entity)
        case .inverseForeignKey(let table, let column, let entity, let order):
            (self.table, a, b, bOrder, self.entity) = (table, column, Self.rowKey, order, entity)
        case .inverseless(let table, let column): (self.table, a, b) = (table, column, Self.rowKey)
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            (self.table, a, b, aOrder, bOrder) = (table, own, other, ownOrder, otherOrder)
        }
    }

    private static let rowKey = "Z_PK"

    var areInRowsOfA: Bool { a == Self.rowKey }
    var areInRowsOfB: Bool { b == Self.rowKey }

    var reversed: StoredLinks {
        var links = self
        (links.a, links.b, links.aOrder, links.bOrder) = (b, a, bOrder, aOrder)
        return links
    }

    /// Their number in a store, dangling ones included; from an index where there is one.
    func count(in schema: String, _ connection: Connection) throws -> Int64 {
        if areInRowsOfA || areInRowsOfB {
            return try connection.integer("SELECT count(\(areInRowsOfA ? b : a)) FROM \(schema).\(table)") ?? 0
        }
        return try connection.integer(
            "SELECT count(*) FROM \(schema).\(table) WHERE \(a) IS NOT NULL AND \(b) IS NOT NULL") ?? 0
    }

    /// SQL that joins an object, `o`, with its related objects, `t`, in another table.
    func joined(_ join: String, with other: String, in schema: String) -> String {
        if areInRowsOfA { return "\(join) \(schema).\(other) t ON t.Z_PK = o.\(b)" }
        if areInRowsOfB { return "\(join) \(schema).\(other) t ON t.\(a) = o.Z_PK" }
        return "\(join) \(schema).\(table) j ON j.\(a) = o.Z_PK \(join) \(schema).\(other) t ON t.Z_PK = j.\(b)"
    }
}
