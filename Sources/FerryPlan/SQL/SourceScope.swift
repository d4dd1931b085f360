package import FerryBase
package import FerryExpression
internal import FerryModel
package import FerryStore

/// A SELECT under construction: its FROM clause, conditions, columns for Swift, and the objects behind its names.
///
/// The statement starts with the objects of an entity and gets a join for each relationship that an expression follows.
package struct SourceScope {
    /// An object in the statement: an alias of a source table, and its declared entity.
    package struct Object {
        package var alias: String
        package var entity: String
        /// SQL of the key in a link, if every link leads to an object of the entity: SQLite then drops an unused join.
        package var link: String?
        package var key: String { link ?? "\(alias).Z_PK" }
    }

    package struct Expansion {
        package var object: Object
        /// The stored position of the related object at this end, among those of one object.
        package var order: String?
        /// The stored position of the object among those of the related one, in a join table.
        package var inverseOrder: String?
    }

    let layout: StoreLayout
    private let schema: String
    /// SQL of a table of ``schema`` in a FROM clause, if the statement must not read all of its rows.
    private let rows: ((String) -> String)?
    package var expressions: ExpressionScope
    package private(set) var from: String
    private var conditions: [String] = []
    package var parameters = Parameters()
    package private(set) var selected: [String] = []
    /// The object of `$source` and `SELF`.
    package var source: Object
    private var objects: [String: Object] = [:]
    private var joined: [String: Object] = [:]
    private var aliases = 0
    /// The indexes of the run; nil in statements that find objects for code.
    package var valueIndexes: (any MemberIndexes)?
    /// The table-valued function of the JSON elements over which the mapping iterates.
    package var jsonElements: JSONElementTable?
    /// The order of the elements of one source object, if the mapping iterates.
    package var elementOrder: String?
    /// The key of an element that is an object.
    package var elementKey: String?
    /// The index of the element, if the mapping asks for it.
    package var position: String?

    /// Begins with a table under an alias, in the store that is attached as `schema`.
    package init(
        _ expressions: ExpressionScope, from table: String, as alias: String = "s", of layout: StoreLayout,
        in schema: String = "source", rows: ((String) -> String)? = nil
    ) {
        (self.expressions, self.layout, self.schema, self.rows) = (expressions, layout, schema, rows)
        from = table
        source = Object(alias: alias, entity: expressions.entity)
    }

    private var variable: String { expressions.iteration?.variable ?? "" }

    /// The clauses of the outer query while a subquery is written.
    private struct OuterQuery {
        var from: String
        var conditions: [String]
        var joined: [String: Object]
        /// The order of the members of the subquery's collection.
        package var order: [String]
    }

    private var outer: [OuterQuery] = []

    /// The variable of a collection's member; the space keeps it apart from all names in expressions.
    package static func member(_ level: Int) -> String { "member \(level)" }

    /// Begins a subquery with the objects of an entity that satisfy a condition.
    private mutating func open(_ entity: String, at level: Int, where condition: String) throws(FerryError) {
        beginSubquery()
        let object = Object(alias: newAlias("t"), entity: entity)
        add(table: try table(of: entity), as: object.alias, on: "\(object.alias).\(condition)")
        begin(with: object, at: level)
    }

    private mutating func begin(with object: Object, at level: Int) {
        outer[outer.count - 1].order = ["\(object.alias).Z_PK"]
        objects[Self.member(level)] = object
    }

    /// Begins a subquery with the objects of an entity that have some values, by an index.
    private mutating func open(
        _ entity: String, at level: Int, _ lookups: [(equality: MemberEquality, value: String)],
        in indexes: any MemberIndexes
    ) throws(FerryError) {
        // A value that may fail must not be computed if the entity has no object: an index of the source has others too.
        let mayFail = lookups.contains(where: \.equality.mayFail)
        let index = try indexes.index(of: entity, by: lookups.map(\.equality.member), mayBeOfSource: !mayFail)
        beginSubquery()
        let object = Object(alias: newAlias("t"), entity: entity)
        let number = try layout.knownNumber(of: entity, in: "source")
        switch index {
        case .column(let name):
            // The plus keeps SQLite from another index, over the entity numbers.
            add(table: try table(of: entity), as: object.alias, on: "+\(object.alias).Z_ENT = \(number)")
            conditions += lookups.map { "\(object.alias).\(name) IS (\($0.value))" }
        case .table(let name):
            let alias = newAlias("v")
            let values = lookups.enumerated().map { place, lookup in
                // SQLite computes the value before it looks into the index.
                let value =
                    lookup.equality.mayFail
                    ? "CASE WHEN EXISTS (SELECT 1 FROM \(name)) THEN \(lookup.value) END" : lookup.value
                return "\(alias).v\(place) IS (\(value))"
            }
            add(table: name, as: alias, on: values.joined(separator: " AND "))
            // CROSS JOIN: first the index, then the objects that it finds.
            from += " CROSS JOIN \(try table(of: entity)) AS \(object.alias) ON \(object.alias).Z_PK = \(alias).member"
            conditions.append("\(object.alias).Z_ENT = \(number)")
        }
        begin(with: object, at: level)
    }

    private mutating func beginSubquery() {
        outer.append(OuterQuery(from: from, conditions: conditions, joined: joined, order: []))
        (from, conditions) = ("", [])
    }

    /// Adds a table to the FROM clause; the first table of a subquery has no JOIN.
    private mutating func add(table: String, as alias: String, on condition: String, isOuter: Bool = false) {
        if from.isEmpty {
            from = "\(table) AS \(alias)"
            conditions.append(condition)
        } else {
            from += " \(isOuter ? "LEFT " : "")JOIN \(table) AS \(alias) ON \(condition)"
        }
    }

    /// Adds the rows at the other end of a relationship; a damaged key may lead to a row of another entity, which is none.
    private mutating func add(
        related object: Object, on condition: String, isOuter: Bool = false
    ) throws(FerryError) {
        // The plus keeps SQLite from an index over the entity numbers.
        let isKind = layout.isKind("+\(object.alias).", of: object.entity).map { " AND \($0)" } ?? ""
        add(table: try table(of: object.entity), as: object.alias, on: condition + isKind, isOuter: isOuter)
    }

    package mutating func bind(_ variable: String, to object: Object) { objects[variable] = object }

    /// Selects a column and returns its index; equal columns share one.
    package mutating func select(_ sql: String) -> Int {
        if let known = selected.firstIndex(of: sql) { return known }
        selected.append(sql)
        return selected.count - 1
    }

    package mutating func require(_ condition: String) { conditions.append(condition) }
    package mutating func join(_ sql: String) { from += " " + sql }

    /// Whether the statement follows no relationship.
    package var readsOneTable: Bool { joined.isEmpty }

    /// The WHERE clause, with its keyword.
    package var `where`: String { conditions.isEmpty ? "" : " WHERE " + allConditions }
    package var allConditions: String { conditions.balanced(by: "AND") }

    /// The order of all rows: source key, then element.
    package var order: String { (["s.Z_PK"] + [elementOrder, elementKey].compactMap { $0 }).joined(separator: ", ") }

    package mutating func newAlias(_ prefix: String) -> String {
        aliases += 1
        return "\(prefix)\(aliases)"
    }

    /// The object of an expression's base, or nil if it is not an object.
    package func object(_ base: Expression) -> Object? {
        switch base {
        case .evaluatedObject, .variable("source"): source
        case .variable(let name): objects[name]
        default: nil
        }
    }

    package func table(of entity: String) throws(FerryError) -> String {
        let table = try layout.knownTable(of: entity, in: "source")
        return rows?(table) ?? "\(schema).\(table)"
    }

    /// Follows to-one relationships from an object; expressions share the join of each.
    package mutating func follow(_ relationships: [String], from object: Object) throws(FerryError) -> Object {
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
            try add(related: next, on: "\(next.alias).Z_PK = \(object.alias).\(column)", isOuter: true)
            joined[key] = next
            object = next
        }
        return object
    }

    /// Joins the objects of any relationship; `isSound`: every link leads to an object of the relationship's entity.
    package mutating func expand(_ name: String, from object: Object, isSound: Bool = false) throws(FerryError)
        -> Expansion
    {
        guard let relationship = layout.model.relationship(name, of: object.entity),
            let storage = layout.storage(of: name, in: object.entity)
        else {
            throw FerryError(
                .badExpression, "\(object.entity) has no stored relationship \(name).",
                remedy: "Name a relationship of the source model.")
        }
        let next = Object(alias: newAlias("t"), entity: relationship.destinationEntity)
        let key = "\(next.alias).Z_PK"
        var expansion = Expansion(object: next)
        switch storage {
        case .foreignKey(_, let column, _, let orderColumn):
            try add(related: next, on: "\(key) = \(object.alias).\(column)")
            expansion.inverseOrder = orderColumn.map { "\(object.alias).\($0)" }
        case .inverseForeignKey(_, let column, _, _), .inverseless(_, let column):
            try add(related: next, on: "\(next.alias).\(column) = \(object.key)")
            if case .inverseForeignKey(_, _, _, let order?) = storage { expansion.order = "\(next.alias).\(order)" }
        case .join(let joinTable, let own, let other, let otherOrder, let ownOrder):
            let join = newAlias("j")
            add(table: "\(schema).\(joinTable)", as: join, on: "\(join).\(own) = \(object.key)")
            try add(related: next, on: "\(key) = \(join).\(other)", isOuter: isSound)
            if isSound { expansion.object.link = "\(join).\(other)" }
            expansion.order = otherOrder.map { "\(join).\($0)" }
            expansion.inverseOrder = ownOrder.map { "\(join).\($0)" }
        }
        return expansion
    }

    /// Joins the objects of a relationship with their indexes in its order, for the source objects of the statement so
    /// far.
    mutating func expandWithPosition(_ name: String, from object: Object) throws(FerryError) -> Expansion {
        // The members of the source objects in question, with the key of their object.
        let start = object.key
        let keys = "SELECT \(start) FROM \(from)\(self.where)"
        var members = self
        members.from = "\(try table(of: object.entity)) AS \(object.alias)"
        (members.conditions, members.joined) = ([], [:])
        let member = try members.expand(name, from: Object(alias: object.alias, entity: object.entity))
        let order = [member.order, member.object.key].compactMap { $0 }.joined(separator: ", ")
        aliases = members.aliases
        let next = Object(alias: newAlias("t"), entity: member.object.entity)
        let list = newAlias("p")
        join(
            """
            JOIN (SELECT \(object.alias).Z_PK AS owner, \(member.object.key) AS member, \
            row_number() OVER (PARTITION BY \(object.alias).Z_PK ORDER BY \(order)) AS number FROM \(members.from) \
            WHERE \(object.alias).Z_PK IN (\(keys))) AS \(list) ON \(list).owner = \(start)
            """)
        add(table: try table(of: next.entity), as: next.alias, on: "\(next.alias).Z_PK = \(list).member")
        let one = parameters.add(.integer(1))
        position = "(\(list).number - \(one))"
        return Expansion(object: next, order: "\(list).number")
    }

    /// The value of an attribute; an element of a composite has a dot after the composite's name.
    package func attribute(_ attribute: String, of object: Object) throws(FerryError) -> StoredValue {
        guard let column = layout.column(of: attribute, in: object.entity) else {
            throw FerryError(
                .badExpression, "\(object.entity) has no stored attribute \(attribute).",
                remedy: "Name an attribute of the source model that is not transient.")
        }
        return StoredValue(object: object, column: column.name)
    }
}

// MARK: Expressions

extension SourceScope: PathResolver {
    package mutating func translate<Result>(
        _ body: (inout SQLTranslator<SourceScope>) throws(FerryError) -> Result
    ) throws(FerryError) -> Result {
        var translator = SQLTranslator(scope: expressions, resolver: self)
        let result = try body(&translator)
        self = translator.resolver
        return result
    }

    package mutating func condition(_ predicate: Predicate) throws(FerryError) -> String {
        "(\(try translate { translator throws(FerryError) in try translator.condition(predicate) }))"
    }

    package mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        if case .json = path.end {
            if let column = try elementMember([]) { return column }
            return "ferry_json_get(\(try elementText()))"
        }
        if let stored = try stored(path) { return stored.sql }
        return try object(atEndOf: path).key
    }

    private func object(startOf path: ResolvedPath) throws(FerryError) -> Object {
        let object =
            switch path.start {
            case .source: source
            case .element: objects[variable]
            case .member(let level): objects[Self.member(level)]
            }
        if let object { return object }
        throw FerryError(.internalError, "The statement has no object for the start of a path.")
    }

    private mutating func object(atEndOf path: ResolvedPath) throws(FerryError) -> Object {
        try follow(path.hops.map(\.relationship.name), from: object(startOf: path))
    }

    /// The attribute at the end of a path; nil for objects and elements of JSON.
    package mutating func stored(_ path: ResolvedPath) throws(FerryError) -> StoredValue? {
        guard case .attribute(_, let names) = path.end else { return nil }
        return try attribute(names.joined(separator: "."), of: object(atEndOf: path))
    }

    /// The stored value that a computation copies if it is a BLOB.
    package mutating func stored(_ computation: Computation) throws(FerryError) -> StoredValue? {
        guard let passed = computation.passedValue, var value = try stored(passed.path) else { return nil }
        value.mark = passed.mark
        return value
    }

    package mutating func open(
        _ collection: CollectionComputation, keys: String?, _ lookups: [(equality: MemberEquality, value: String)]
    ) throws(FerryError) {
        switch collection.start {
        case .object(let path):
            var object = try object(atEndOf: path)
            beginSubquery()
            for hop in collection.hops {
                let expansion = try expand(hop.relationship.name, from: object)
                object = expansion.object
                if hop.relationship.isToMany {
                    outer[outer.count - 1].order += [expansion.order, "\(object.alias).Z_PK"].compactMap { $0 }
                }
            }
            objects[Self.member(collection.level)] = object
        case .entity(let entity):
            if !lookups.isEmpty, let valueIndexes {
                return try open(entity, at: collection.level, lookups, in: valueIndexes)
            }
            let number = try layout.knownNumber(of: entity, in: "source")
            try open(entity, at: collection.level, where: "Z_ENT = \(number)")
        case .objects(let entity, _):
            guard let keys else { throw FerryError(.internalError, "A union of objects has no keys.") }
            try open(entity, at: collection.level, where: "Z_PK IN (\(keys))")
        case .values: throw FerryError(.internalError, "A union of values has no table.")
        }
    }

    package mutating func closeCollection() -> (from: String, conditions: [String], order: [String]) {
        guard let before = outer.popLast() else { preconditionFailure("a subquery ends that was not begun") }
        defer { (from, conditions, joined) = (before.from, before.conditions, before.joined) }
        return (from, conditions, before.order)
    }

    package mutating func elementText() throws(FerryError) -> String {
        guard let jsonElements else { throw FerryError(.internalError, "The statement has no JSON element.") }
        return "\(jsonElements.alias).json"
    }

    package mutating func elementPosition() throws(FerryError) -> String {
        guard let position else { throw FerryError(.internalError, "The statement has no position of an element.") }
        return position
    }

    package mutating func elementMember(_ keys: [String]) throws(FerryError) -> String? {
        guard let column = jsonElements?.column(of: keys), let jsonElements else { return nil }
        parameters.set(jsonElements.paths, .blob(JSONElementTable.encode(jsonElements.members)))
        return column
    }

    package mutating func parameter(_ bound: BoundComputation) -> String { parameters.add(.evaluator(bound)) }

    package mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .now: parameters.add(.now)
        case .constant(let constant): parameters.add(constant.stored.map { .stored($0) } ?? .null)
        }
    }
}

/// The table-valued function of the engine that gives the elements of a JSON array, in one statement.
package struct JSONElementTable {
    package static let function = "ferry_json_each"
    package static let memberColumns = (0..<8).map { "member\($0)" }

    package let alias: String
    package let paths: String
    package private(set) var members: [[String]] = []

    /// The unary plus removes the column's affinity in comparisons: the value of a function has none.
    fileprivate mutating func column(of keys: [String]) -> String? {
        if !members.contains(keys) {
            guard members.count < JSONElementTable.memberColumns.count else { return nil }
            members.append(keys)
        }
        return members.firstIndex(of: keys).map { "+\(alias).\(JSONElementTable.memberColumns[$0])" }
    }

    /// Encodes paths: their number, for each its number of keys, and for each key its length and its UTF-8.
    package static func encode(_ paths: [[String]]) -> [UInt8] {
        var bytes = word(paths.count)
        for path in paths {
            bytes += word(path.count)
            for key in path { bytes += word(key.utf8.count) + key.utf8 }
        }
        return bytes
    }

    private static func word(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } }
}
