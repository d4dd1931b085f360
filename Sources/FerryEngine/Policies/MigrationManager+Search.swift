internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension MigrationManager {
    /// Associates a destination object with a source object.
    ///
    /// Relationship mappings find associated objects only, and the second pass visits them only.
    public func associate(
        sourceInstance: SourceObject, withDestinationInstance destination: DestinationObject,
        for mapping: PolicyEntityMapping
    ) throws {
        let made = (destination.primaryKey, destination.writer.number)
        if let current, current.mapping === mapping, sourceInstance.isAtWork(current) {
            return try current.associate(made)
        }
        guard mapping.resolved.policy != nil, sourceInstance.entityName == mapping.sourceEntityName else {
            throw FerryError(
                .unsupported,
                "A migration policy associates an object of \(sourceInstance.entityName) for entity mapping \(mapping.name).",
                remedy: "Associate objects of the mapping's own source entity, for a mapping that has a policy.",
                place: .init(entityMapping: mapping.name))
        }
        if let current, current.mapping === mapping, current.key == sourceInstance.primaryKey {
            try current.associate(made)
        } else {
            try associations(of: mapping).add(made, to: sourceInstance.primaryKey)
        }
    }

    /// The destination objects that an entity mapping has created from source objects so far.
    ///
    /// In the first pass, only earlier mappings have created all of theirs.
    public func destinationInstances(
        forEntityMappingName name: String, sourceInstances: [SourceObject]
    ) throws -> [DestinationObject] {
        // The usual request of a policy: the one object that it has just created.
        if let current, sourceInstances.count == 1, sourceInstances[0].isAtWork(current), current.mapping.name == name,
            let made = current.onlyMade
        {
            return [try destinationObject(number: made.entity, key: made.key)]
        }
        let mapping = try mapping(named: name)
        var objects: [DestinationObject] = []
        for source in sourceInstances where source.entityName == mapping.sourceEntityName {
            if mapping.resolved.policy != nil {
                for made in try made(of: source.primaryKey, in: mapping) {
                    objects.append(try destinationObject(number: made.entity, key: made.key))
                }
                continue
            }
            if rowsToCome.hold(mapping.resolved) { continue }
            try flush()
            let number = try context.sql.destinationNumber(of: mapping.resolved)
            let sql =
                mapping.resolved.keepsPrimaryKey
                ? """
                SELECT Z_PK FROM main.\(try context.sql.destinationTable(of: mapping.resolved))
                WHERE Z_PK = ?1 AND Z_ENT = \(number)
                """
                : """
                SELECT destination FROM \(ScratchTables.association(of: mapping.resolved))
                WHERE source = ?1 ORDER BY element
                """
            try context.forEachRow(sql, for: source.primaryKey) {
                objects.append(try destinationObject(number: number, key: $0.integer(0)))
            }
        }
        return objects
    }

    private func made(of source: Int64, in mapping: PolicyEntityMapping) throws -> [PolicyAssociations.Made] {
        let associations = try associations(of: mapping)
        if let current, current.mapping === mapping, current.key == source {
            if let made = associations.made(of: current) { return made }
            try associations.storeNow(current)
        }
        return try associations.made(of: source)
    }

    /// The source objects from which an entity mapping has created destination objects so far.
    public func sourceInstances(
        forEntityMappingName name: String, destinationInstances: [DestinationObject]
    ) throws -> [SourceObject] {
        let mapping = try mapping(named: name)
        var objects: [SourceObject] = []
        for destination in destinationInstances {
            for key in try sources(of: destination, in: mapping) {
                objects.append(SourceObject(entity: mapping.sourceEntityName, key: key, self))
            }
        }
        return objects
    }

    private func sources(of destination: DestinationObject, in mapping: PolicyEntityMapping) throws -> [Int64] {
        if mapping.resolved.policy != nil {
            let associations = try associations(of: mapping)
            if let current, current.mapping === mapping { try associations.storeNow(current) }
            return try associations.sources(of: (destination.primaryKey, destination.writer.number))
        }
        guard destination.entityName == mapping.destinationEntityName else { return [] }
        if mapping.resolved.keepsPrimaryKey {
            return try context.isSource(destination.primaryKey, of: mapping.resolved) ? [destination.primaryKey] : []
        }
        var sources: [Int64] = []
        try context.forEachRow(
            """
            SELECT source FROM \(ScratchTables.association(of: mapping.resolved))
            WHERE destination = ?1 ORDER BY source, element
            """, for: destination.primaryKey
        ) { sources.append($0.integer(0)) }
        return sources
    }

    private func mapping(named name: String) throws -> PolicyEntityMapping {
        if let current, current.mapping.name == name { return current.mapping }
        return entityMappings[try context.sql.mapping(named: known(name)).position]
    }

    /// The name of an entity mapping in the step, which may be qualified with that of its mapping model.
    private func known(_ name: String) throws(FerryError) -> String {
        let mappings = context.step.resolved.entityMappings
        if mappings.contains(where: { $0.name == name }) { return name }
        let qualified = mappings.filter { $0.name.hasSuffix("/" + name) }
        if qualified.count == 1 { return qualified[0].name }
        throw FerryError(
            .badMapping, "A migration policy names the entity mapping \(name), which the step does not have.",
            remedy: "There are: \(mappings.map(\.name).joined(separator: ", ")).")
    }

    func relateDefault(_ destination: DestinationObject, in mapping: PolicyEntityMapping) throws {
        isRelatedByDefault = true
        guard !links.isEmpty else { return }
        try flush()
        let origins: [Int64]
        if let origin {
            origins = [origin]
        } else {
            origins = try sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [destination])
                .map(\.primaryKey)
        }
        for origin in origins {
            for link in links {
                try link.bind(.integer(origin - 1), named: ":low")
                try link.bind(.integer(origin), named: ":high")
                try link.bind(.integer(destination.primaryKey), named: ":only")
                try link.run()
            }
        }
    }
}

extension MigrationManager {
    /// Passes the source objects of an entity that match a predicate to the body, in the order of their keys.
    ///
    /// - Parameters:
    ///   - entityName: The entity.
    ///   - predicate: In the language of mapping models, over attributes and to-one paths: `price > 10 AND owner != nil`.
    ///   - includesSubentities: Whether objects of its sub-entities count too.
    ///   - body: Receives one object after another.
    /// - Throws: `FerryError` `.badExpression` when the predicate does not fit the model, or the error of the body.
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

    /// Passes the destination objects of an entity that match a predicate to the body, in the order of their keys.
    ///
    /// Objects that the body inserts are not among them.
    public func forEachDestinationObject(
        ofEntity entityName: String, where predicate: String = "TRUEPREDICATE", includesSubentities: Bool = true,
        _ body: (DestinationObject) throws -> Void
    ) throws {
        try flush()
        try forEachObject(
            of: entityName, in: context.destination, "main", predicate, includesSubentities, limit: nil
        ) { key, number in try body(destinationObject(number: number, key: key)) }
    }

    /// The first destination object of an entity that matches a predicate.
    ///
    /// The search reads one object after another: to find or create objects, use a ``lookup(_:)``.
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

    /// Objects that are read before the body runs, so that the body may write to the same table.
    private static let page: Int64 = 256

    private func forEachObject(
        of entity: String, in layout: StoreLayout, _ schema: String, _ predicate: String, _ includesSubentities: Bool,
        limit: Int64?, _ body: (_ key: Int64, _ number: Int64) throws -> Void
    ) throws {
        guard let table = layout.table(of: entity) else {
            throw FerryError(
                .badMapping, "A migration policy fetches objects of \(entity), which the model does not have.",
                remedy: NearNames.remedy(
                    for: entity, among: layout.entityNumbers.keys, otherwise: "Name an entity of the model."))
        }
        let names = includesSubentities ? layout.model.family(of: entity) : [entity]
        let numbers = names.compactMap { layout.number(of: $0) }.sorted().rowCondition("s.")
        var scope = scope(from: table.name, of: entity, layout, schema)
        scope.require("s.Z_PK > :low AND s.Z_PK <= :high AND \(numbers)")
        scope.require(try scope.condition(try Predicate.parse(predicate)))
        let statement = try context.connection.prepare(
            "SELECT s.Z_PK, s.Z_ENT FROM \(scope.from)\(scope.where) ORDER BY s.Z_PK LIMIT :limit")
        try scope.parameters.bind(to: statement, now: context.options.now)
        let high = try context.single("SELECT max(Z_PK) FROM \(schema).\(table.name)", []).integer ?? 0
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

    /// A statement over the objects of an entity in either store.
    private func scope(from table: String, of entity: String, _ layout: StoreLayout, _ schema: String) -> SourceScope {
        let rowsToCome = schema == "main" ? rowsToCome : .none
        let from = schema == "main" ? rowsToCome.others(in: table) : "\(schema).\(table)"
        return SourceScope(
            ExpressionScope(model: layout.model, entity: entity), from: "\(from) AS s", of: layout, in: schema,
            rows: schema == "main" ? { rowsToCome.others(in: $0) } : nil)
    }

    /// SQL of the keys and entity numbers of the objects that a relationship of source object `?1` leads to.
    func sourceObjectsSQL(_ name: String, of entity: String) throws(FerryError) -> String {
        let table = try context.source.knownTable(of: entity, in: "source")
        var scope = scope(from: table, of: entity, context.source, "source")
        let end = try scope.expand(name, from: scope.source)
        let key = "\(end.object.alias).Z_PK"
        let order = [end.order, key].compactMap { $0 }.joined(separator: ", ")
        return "SELECT \(key), \(end.object.alias).Z_ENT FROM \(scope.from) WHERE s.Z_PK = ?1 ORDER BY \(order)"
    }
}
