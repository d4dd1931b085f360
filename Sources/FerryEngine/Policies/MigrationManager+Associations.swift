internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

/// Which destination objects became of which source objects, by entity mapping.
extension MigrationManager {
    /// Records that a destination object became of a source object.
    ///
    /// Relationships lead to associated objects only, and only they are visited in the second pass.
    public func associate(
        sourceInstance: SourceObject, withDestinationInstance destination: DestinationObject,
        for mapping: PolicyEntityMapping
    ) throws {
        guard mapping.resolved.policy != nil, sourceInstance.entityName == mapping.sourceEntityName else {
            throw FerryError(
                .unsupported,
                "A migration policy associates an object of \(sourceInstance.entityName) for entity mapping \(mapping.name).",
                remedy: "Associate objects of the mapping's own source entity, for a mapping that has a policy.",
                place: .init(entityMapping: mapping.name))
        }
        try run(
            """
            INSERT INTO \(ScratchDatabase.association(of: mapping.resolved)) (source, element, destination, entity)
            SELECT ?1, last + 1, ?2, ?3 FROM (
                SELECT ifnull(max(element), 0) AS last, total(destination = ?2 AND entity = ?3) AS known
                FROM \(ScratchDatabase.association(of: mapping.resolved)) WHERE source = ?1)
            WHERE known = 0
            """,
            [
                .integer(sourceInstance.primaryKey), .integer(destination.primaryKey),
                .integer(destination.writer.number),
            ])
        if let current, current.mapping === mapping, current.key == sourceInstance.primaryKey {
            current.associated += 1
        }
    }

    /// What an entity mapping has made of source objects so far.
    ///
    /// In the first pass that is what the mappings before made.
    public func destinationInstances(
        forEntityMappingName name: String, sourceInstances: [SourceObject]
    ) throws -> [DestinationObject] {
        let mapping = try context.mapping(named: known(name))
        var objects: [DestinationObject] = []
        for source in sourceInstances where source.entityName == mapping.source {
            let statement: Statement
            if mapping.keepsPrimaryKey {
                try flush()
                statement = try cached(
                    "SELECT Z_PK, Z_ENT FROM main.\(context.destinationTable(of: mapping)) WHERE Z_PK = ?1 AND Z_ENT = ?2"
                )
            } else {
                let entity = mapping.policy == nil ? "?2" : "entity"
                statement = try cached(
                    """
                    SELECT destination, \(entity) FROM \(ScratchDatabase.association(of: mapping))
                    WHERE source = ?1 AND ?2 IS NOT NULL ORDER BY element
                    """)
            }
            try statement.bind(source.primaryKey, at: 1)
            try statement.bind(try context.destinationNumber(of: mapping), at: 2)
            defer { statement.reset() }
            while try statement.step() {
                objects.append(try destinationObject(number: statement.integer(1), key: statement.integer(0)))
            }
        }
        return objects
    }

    /// The source objects from which an entity mapping has made destination objects so far.
    public func sourceInstances(
        forEntityMappingName name: String, destinationInstances: [DestinationObject]
    ) throws -> [SourceObject] {
        let mapping = try context.mapping(named: known(name))
        var objects: [SourceObject] = []
        for destination in destinationInstances {
            let statement: Statement
            if mapping.keepsPrimaryKey {
                guard destination.entityName == mapping.destination else { continue }
                statement = try cached(
                    "SELECT Z_PK FROM source.\(context.sourceTable(of: mapping)) WHERE Z_PK = ?1 AND Z_ENT = ?2")
                try statement.bind(try context.sourceNumber(of: mapping), at: 2)
            } else {
                if mapping.policy == nil, destination.entityName != mapping.destination { continue }
                let entity = mapping.policy == nil ? "?2" : "entity"
                statement = try cached(
                    """
                    SELECT source FROM \(ScratchDatabase.association(of: mapping))
                    WHERE destination = ?1 AND \(entity) = ?2 ORDER BY source, element
                    """)
                try statement.bind(destination.writer.number, at: 2)
            }
            try statement.bind(destination.primaryKey, at: 1)
            defer { statement.reset() }
            while try statement.step() {
                objects.append(SourceObject(entity: mapping.source, key: statement.integer(0), self))
            }
        }
        return objects
    }

    /// The name of an entity mapping in the step: its own, or the one that tells it from that of another mapping model.
    private func known(_ name: String) throws(FerryError) -> String {
        let mappings = context.step.resolved.entityMappings
        if mappings.contains(where: { $0.name == name }) { return name }
        let qualified = mappings.filter { $0.name.hasSuffix("/" + name) }
        if qualified.count == 1 { return qualified[0].name }
        throw FerryError(
            .badMapping, "A migration policy names entity mapping \(name), which the step does not have.",
            remedy: "There are: \(mappings.map(\.name).joined(separator: ", ")).")
    }

    // MARK: The default relationships

    /// Sets the relationships that the mapping gives to one of its objects.
    func relateDefault(_ destination: DestinationObject, in mapping: PolicyEntityMapping) throws {
        try flush()
        isRelatedByDefault = true
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
