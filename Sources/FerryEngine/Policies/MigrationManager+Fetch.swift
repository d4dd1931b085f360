internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Reading objects of either store by a predicate.
extension MigrationManager {
    /// Hands out the source objects of an entity that a predicate lets through, by key.
    ///
    /// - Parameters:
    ///   - entityName: The entity.
    ///   - predicate: In the language of mapping models, over attributes and to-one paths: `price > 10 AND owner != nil`.
    ///   - includesSubentities: Whether objects of its sub-entities count too.
    ///   - body: Receives one object after another.
    /// - Throws: `FerryError` `.badExpression` when the predicate does not fit the model, or what the body throws.
    public func forEachSourceObject(
        ofEntity entityName: String, where predicate: String = "TRUEPREDICATE", includesSubentities: Bool = true,
        _ body: (SourceObject) throws -> Void
    ) throws {
        try forEachObject(
            of: entityName, in: context.source, "source", predicate, includesSubentities, limit: nil
        ) { key, number in
            if let object = sourceObject(number: number, key: key) { try body(object) }
        }
    }

    /// Hands out the destination objects of an entity that a predicate lets through, by key.
    ///
    /// Objects that the body makes are not among them.
    public func forEachDestinationObject(
        ofEntity entityName: String, where predicate: String = "TRUEPREDICATE", includesSubentities: Bool = true,
        _ body: (DestinationObject) throws -> Void
    ) throws {
        try flush()
        try forEachObject(
            of: entityName, in: context.destination, "main", predicate, includesSubentities, limit: nil
        ) { key, number in try body(destinationObject(number: number, key: key)) }
    }

    /// The first destination object of an entity that a predicate lets through.
    ///
    /// It looks at one object after another: to find or create, use a ``lookup(_:)``.
    public func firstDestinationObject(
        ofEntity entityName: String, where predicate: String
    ) throws -> DestinationObject? {
        try flush()
        var first: DestinationObject?
        try forEachObject(of: entityName, in: context.destination, "main", predicate, true, limit: 1) { key, number in
            first = try destinationObject(number: number, key: key)
        }
        return first
    }

    /// Objects that are held between two reads, so that the body may write to the table that is read.
    private static let page: Int64 = 256

    private func forEachObject(
        of entity: String, in layout: StoreLayout, _ schema: String, _ predicate: String, _ includesSubentities: Bool,
        limit: Int64?, _ body: (_ key: Int64, _ number: Int64) throws -> Void
    ) throws {
        guard let table = layout.table(of: entity) else {
            let near = NearNames.near(to: entity, among: layout.entityNumbers.keys)
            throw FerryError(
                .badMapping, "A migration policy fetches objects of \(entity), which the model does not have.",
                remedy: near.isEmpty ? "Name an entity of the model." : "Did you mean \(near.joined(separator: ", "))?")
        }
        let names = includesSubentities ? layout.model.family(of: entity) : [entity]
        let numbers = names.compactMap { layout.number(of: $0) }.sorted().sqlList
        var scope = SourceScope(
            layout: layout, from: "\(schema).\(table.name) AS s", source: .init(alias: "s", entity: entity),
            schema: schema)
        scope.require("s.Z_PK > :low AND s.Z_PK <= :high AND s.Z_ENT IN (\(numbers))")
        let resolver = StatementResolver(scope: scope, now: context.options.now, variable: nil)
        var translator = SQLTranslator(
            scope: ExpressionScope(model: layout.model, entity: entity), resolver: resolver)
        let condition = try translator.condition(try Predicate.parse(predicate))
        scope = translator.resolver.scope
        scope.require("(\(condition))")
        let statement = try prepare(
            "SELECT s.Z_PK, s.Z_ENT FROM \(scope.from)\(scope.where) ORDER BY s.Z_PK LIMIT :limit")
        try scope.parameters.bind(to: statement)
        let high = try single("SELECT max(Z_PK) FROM \(schema).\(table.name)", []).integer ?? 0
        try statement.bind(.integer(high), named: ":high")
        try statement.bind(.integer(limit ?? Self.page), named: ":limit")
        var low = Int64.min
        while true {
            try statement.bind(.integer(low), named: ":low")
            var rows: [(key: Int64, number: Int64)] = []
            while try statement.step() { rows.append((statement.integer(0), statement.integer(1))) }
            for row in rows { try body(row.key, row.number) }
            guard limit == nil, rows.count == Int(Self.page), let last = rows.last else { return }
            if schema == "main" { try flush() }
            low = last.key
        }
    }

    // MARK: Related objects

    /// The SQL of the objects at the end of a relationship of the object of key `?1`: their keys and numbers.
    func relatedObjectsSQL(
        _ name: String, of entity: String, layout: StoreLayout, schema: String
    ) throws(FerryError) -> String {
        guard let table = layout.table(of: entity) else {
            throw FerryError(.internalError, "There is no table for entity \(entity).")
        }
        var scope = SourceScope(
            layout: layout, from: "\(schema).\(table.name) AS s", source: .init(alias: "s", entity: entity),
            schema: schema)
        let end = try scope.expand(name, from: .init(alias: "s", entity: entity))
        let key = "\(end.object.alias).Z_PK"
        let order = [end.order, key].compactMap { $0 }.joined(separator: ", ")
        return "SELECT \(key), \(end.object.alias).Z_ENT FROM \(scope.from) WHERE s.Z_PK = ?1 ORDER BY \(order)"
    }

    func relatedObjects(
        _ name: String, of entity: String, layout: StoreLayout, schema: String
    ) throws -> Statement {
        try prepare(relatedObjectsSQL(name, of: entity, layout: layout, schema: schema))
    }
}
