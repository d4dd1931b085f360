internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The FROM clause of a statement that reads source objects, and what its names stand for.
///
/// It starts with the objects of an entity mapping and grows a join for each relationship that an expression follows.
struct SourceScope {
    /// An object that the statement has at hand: an alias of a source table and the entity it is declared as.
    struct Object {
        var alias: String
        var entity: String
        /// SQL of the object's key where a link that surely leads to one of the entity's objects has it.
        ///
        /// What asks for no more than the key then reads the link alone: SQLite leaves out a join that nothing refers to.
        var link: String?
        /// SQL of the object's key.
        var key: String { link ?? "\(alias).Z_PK" }
    }

    /// The objects at the end of a relationship.
    struct Expansion {
        var object: Object
        /// The stored position of the related object among those of one object.
        var order: String?
        /// The stored position of the object among those of the related one, in a join table.
        var inverseOrder: String?
    }

    private let layout: StoreLayout
    private let schema: String
    private(set) var from: String
    private(set) var conditions: [String] = []
    var parameters = Parameters()
    private var objects: [String: Object] = [:]
    private var joined: [String: Object] = [:]
    private var aliases = 0
    /// The table-valued function that gives the elements of a JSON array, by the name of its iteration variable.
    private(set) var jsonElements: [String: JSONElementTable] = [:]
    /// What orders the elements of one source object, when the mapping iterates.
    var elementOrder: String?
    /// The key of an element that is an object.
    var elementKey: String?

    /// - Parameters:
    ///   - layout: The names that the source store really has.
    ///   - table: The first table of the FROM clause, with its alias.
    ///   - object: What `$source` and `SELF` stand for.
    ///   - schema: The database that the names are of.
    init(layout: StoreLayout, from table: String, source object: Object, schema: String = "source") {
        self.layout = layout
        self.schema = schema
        from = table
        objects["source"] = object
    }

    /// What `$source` stands for.
    var source: Object {
        guard let object = objects["source"] else { preconditionFailure("a statement has a source object") }
        return object
    }

    /// Lets `$source` stand for another object.
    ///
    /// - Returns: What it stood for.
    mutating func rebindSource(to object: Object) -> Object? {
        defer { objects["source"] = object }
        return objects["source"]
    }

    /// What a subquery puts aside while it is written.
    private struct Outside {
        var from: String
        var conditions: [String]
        var joined: [String: Object]
        /// What orders the members of the subquery's collection.
        var order: [String]
    }

    private var outside: [Outside] = []

    /// The variable that stands for a member of a collection; no name that can be written.
    static func member(_ level: Int) -> String { "member \(level)" }

    /// Begins a subquery over the members of a collection.
    ///
    /// For a union of objects `keys` is the SELECT of their keys.
    mutating func open(_ collection: CollectionComputation, keys: String?, variable: String?) throws(FerryError) {
        switch collection.start {
        case .object(let path):
            guard var object = object(startOf: path, variable: variable) else {
                throw FerryError(.internalError, "The statement has no object for the start of a collection.")
            }
            object = try follow(path.hops.map(\.relationship.name), from: object)
            putAside()
            for hop in collection.hops {
                let expansion = try expand(hop.relationship.name, from: object)
                object = expansion.object
                if hop.relationship.isToMany {
                    outside[outside.count - 1].order += [expansion.order, "\(object.alias).Z_PK"].compactMap { $0 }
                }
            }
            objects[Self.member(collection.level)] = object
        case .entity(let entity):
            let number = try layout.knownNumber(of: entity, in: "source")
            try open(entity, at: collection.level, where: "Z_ENT = \(number)")
        case .objects(let entity, _):
            guard let keys else { throw FerryError(.internalError, "A union of objects has no keys.") }
            try open(entity, at: collection.level, where: "Z_PK IN (\(keys))")
        case .values: throw FerryError(.internalError, "A union of values has no table.")
        }
    }

    /// Begins with objects of an entity by a condition on their rows.
    private mutating func open(_ entity: String, at level: Int, where condition: String) throws(FerryError) {
        putAside()
        let object = Object(alias: newAlias("t"), entity: entity)
        add(table: try table(of: entity), as: object.alias, on: "\(object.alias).\(condition)")
        outside[outside.count - 1].order = ["\(object.alias).Z_PK"]
        objects[Self.member(level)] = object
    }

    private mutating func putAside() {
        outside.append(Outside(from: from, conditions: conditions, joined: joined, order: []))
        (from, conditions) = ("", [])
    }

    /// Ends the subquery that was begun last.
    mutating func closeCollection() -> CollectionSQL {
        guard let before = outside.popLast() else { preconditionFailure("a subquery ends that was not begun") }
        defer { (from, conditions, joined) = (before.from, before.conditions, before.joined) }
        return CollectionSQL(from: from, conditions: conditions, order: before.order)
    }

    /// What a path begins at.
    func object(startOf path: ResolvedPath, variable: String?) -> Object? {
        switch path.start {
        case .source: objects["source"]
        case .element: objects[variable ?? ""]
        case .member(let level): objects[Self.member(level)]
        }
    }

    /// Adds a table to the FROM clause; the first of a subquery stands alone.
    private mutating func add(table: String, as alias: String, on condition: String, isOuter: Bool = false) {
        if from.isEmpty {
            from = "\(table) AS \(alias)"
            conditions.append(condition)
        } else {
            from += " \(isOuter ? "LEFT " : "")JOIN \(table) AS \(alias) ON \(condition)"
        }
    }

    mutating func bind(_ variable: String, to object: Object) { objects[variable] = object }
    mutating func bindJSON(_ variable: String, to table: JSONElementTable) { jsonElements[variable] = table }

    /// The column with what is at the end of a path of keys in a JSON element; nil when it has as many as it can give.
    mutating func elementMember(_ keys: [String], of variable: String) -> String? {
        guard var table = jsonElements[variable], let column = table.column(of: keys) else { return nil }
        jsonElements[variable] = table
        parameters.set(table.paths, .blob(JSONElements.encode(table.members)))
        return column
    }
    mutating func require(_ condition: String) { conditions.append(condition) }
    mutating func join(_ sql: String) { from += " " + sql }

    /// Whether no relationship is followed so far.
    var readsOneTable: Bool { joined.isEmpty }

    /// The WHERE clause, with its keyword.
    var `where`: String { conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ") }

    /// What orders all rows: source key, then element.
    var order: String { (["s.Z_PK"] + [elementOrder, elementKey].compactMap { $0 }).joined(separator: ", ") }

    mutating func newAlias(_ prefix: String) -> String {
        aliases += 1
        return "\(prefix)\(aliases)"
    }

    /// The object that an expression's base names, or nil when it is no object.
    func object(_ base: Expression) -> Object? {
        switch base {
        case .evaluatedObject: objects["source"]
        case .variable(let name): objects[name]
        default: nil
        }
    }

    func table(of entity: String) throws(FerryError) -> String {
        "\(schema).\(try layout.knownTable(of: entity, in: "source"))"
    }

    /// Follows to-one relationships from an object; each is joined once, however many expressions use it.
    mutating func follow(_ relationships: [String], from object: Object) throws(FerryError) -> Object {
        var object = object
        for name in relationships {
            let key = "\(object.alias).\(name)"
            if let known = joined[key] {
                object = known
                continue
            }
            guard let relationship = layout.model.relationship(name, of: object.entity),
                case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: object.entity)
            else {
                throw FerryError(
                    .badExpression, "\(object.entity).\(name) is not a stored to-one relationship.",
                    remedy: "Follow a to-one relationship here.")
            }
            let next = Object(alias: newAlias("t"), entity: relationship.destinationEntity)
            add(
                table: try table(of: next.entity), as: next.alias,
                on: "\(next.alias).Z_PK = \(object.alias).\(column)", isOuter: true)
            joined[key] = next
            object = next
        }
        return object
    }

    /// Joins the objects at the end of any relationship, to-many included.
    ///
    /// - Parameters:
    ///   - name: The relationship.
    ///   - object: Whose.
    ///   - isSound: Whether every link of the source leads to an object of the relationship's entity.
    /// - Returns: The related object with the SQL of its stored positions, where the relationship has any.
    /// - Throws: ``FerryError`` where it is not stored.
    mutating func expand(_ name: String, from object: Object, isSound: Bool = false) throws(FerryError) -> Expansion {
        guard let relationship = layout.model.relationship(name, of: object.entity),
            let storage = layout.storage(of: name, in: object.entity)
        else {
            throw FerryError(
                .badExpression, "\(object.entity) has no stored relationship \(name).",
                remedy: "Name a relationship of the source model.")
        }
        let next = Object(alias: newAlias("t"), entity: relationship.destinationEntity)
        let table = try table(of: next.entity)
        let key = "\(next.alias).Z_PK"
        var expansion = Expansion(object: next)
        switch storage {
        case .foreignKey(_, let column, _, let orderColumn):
            add(table: table, as: next.alias, on: "\(key) = \(object.alias).\(column)")
            expansion.inverseOrder = orderColumn.map { "\(object.alias).\($0)" }
        case .inverseForeignKey(_, let column, _, let orderColumn):
            add(table: table, as: next.alias, on: "\(next.alias).\(column) = \(object.key)")
            expansion.order = orderColumn.map { "\(next.alias).\($0)" }
        case .inverseless(_, let column):
            add(table: table, as: next.alias, on: "\(next.alias).\(column) = \(object.key)")
        case .join(let joinTable, let own, let other, let otherOrder, let ownOrder):
            let join = newAlias("j")
            add(table: "\(schema).\(joinTable)", as: join, on: "\(join).\(own) = \(object.key)")
            add(table: table, as: next.alias, on: "\(key) = \(join).\(other)", isOuter: isSound)
            if isSound { expansion.object.link = "\(join).\(other)" }
            expansion.order = otherOrder.map { "\(join).\($0)" }
            expansion.inverseOrder = ownOrder.map { "\(join).\($0)" }
        }
        return expansion
    }

    /// The value of an attribute of an object; elements of composites are named with their composite before a dot.
    func attribute(_ attribute: String, of object: Object) throws(FerryError) -> StoredValue {
        guard let column = layout.column(of: attribute, in: object.entity) else {
            throw FerryError(
                .badExpression, "\(object.entity) has no stored attribute \(attribute).",
                remedy: "Name an attribute of the source model that is not transient.")
        }
        return StoredValue(object: object, column: column.name)
    }
}

/// A place of ``JSONElements`` in a statement.
struct JSONElementTable {
    let alias: String
    /// The parameter of the paths whose values are asked for.
    let paths: String
    private(set) var members: [[String]] = []

    var text: String { "\(alias).json" }

    /// Without the affinity that a column has in comparisons: the value of a function has none.
    fileprivate mutating func column(of keys: [String]) -> String? {
        if !members.contains(keys) {
            guard members.count < JSONElements.memberColumns.count else { return nil }
            members.append(keys)
        }
        return members.firstIndex(of: keys).map { "+\(alias).\(JSONElements.memberColumns[$0])" }
    }
}
