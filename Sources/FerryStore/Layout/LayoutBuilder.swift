internal import FerryBase
internal import FerryModel

/// A builder of a layout from a model and its entity numbers, with an extension for each part.
///
/// Cases without a rule become refusals: a new store must have none, but a read of an existing store ignores them.
struct LayoutBuilder {
    let model: ManagedObjectModel
    let order: EntityOrder
    let numbers: [String: Int64]
    var layout: StoreLayout
    var refusals: [FerryError] = []
    /// Derived attributes whose triggers can only be copied from a store, with the reason.
    var foundOnly: [(key: PropertyKey, reason: String)] = []
    /// Relationships whose join tables share column names with other join tables of the entity.
    var ambiguousJoins: Set<PropertyKey> = []
    /// By entity: its own stored properties, sorted by name.
    private let ownAttributes: [String: [Attribute]]
    private let ownRelationships: [String: [Relationship]]
    /// By destination: to-many relationships without inverse, in the order of the declaring entities.
    private(set) var inverseless: [String: [(source: String, relationship: Relationship)]] = [:]
    /// By root: the entities of one table, in the order of their numbers.
    private let families: [String: [String]]
    /// By the naming entity's root.
    var joinIndexes: [String: [IndexDefinition]] = [:]

    /// `numbers` maps entity names to `Z_ENT`; nil for the numbers of a new store.
    init(_ model: ManagedObjectModel, numbers: [String: Int64]? = nil) {
        self.model = model
        order = EntityOrder(model)
        self.numbers = numbers ?? model.knownSchema?.entityNumbers ?? order.numbers
        layout = StoreLayout(model: model)
        layout.entityNumbers = self.numbers
        (ownAttributes, ownRelationships) = LayoutBuilder.declarations(in: model)
        families = Dictionary(grouping: order.numbered) { model.root(of: $0) }
        for entity in order.numbered {
            for relationship in relationships(of: entity) where relationship.isToMany && relationship.inverseName == nil
            {
                inverseless[relationship.destinationEntity, default: []].append((entity, relationship))
            }
        }
        checkNames()
        addEntityTables()
        addJoinTables()
        linkToManySides()
        addIndexes()
        addRTrees()
        addDerivedAttributes()
    }

    mutating func refuse(_ entity: String, _ property: String?, _ reason: String, remedy: Remedy) {
        let subject = property.map { "\(entity).\($0)" } ?? entity
        refusals.append(
            FerryError(
                .unsupported, "The layout of \(subject) is not known: \(reason).", remedy: remedy,
                place: .init(entity: entity, property: property)))
    }

    // MARK: Properties of one entity

    /// Models made in code repeat inherited properties in subentities; the result has them only in the ancestor.
    private static func declarations(
        in model: ManagedObjectModel
    ) -> (attributes: [String: [Attribute]], relationships: [String: [Relationship]]) {
        var attributes: [String: [Attribute]] = [:]
        var relationships: [String: [Relationship]] = [:]
        for entity in model.entities.values {
            let ancestors = model.lineage(of: entity.name).dropFirst()
            let inherited = Set(ancestors.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) })
            attributes[entity.name] = entity.attributes
                .filter { !$0.isTransient && !inherited.contains($0.name) }
                .inOrder { codeUnitOrder($0.name, $1.name) }
            relationships[entity.name] = entity.relationships
                .filter { !$0.isTransient && !inherited.contains($0.name) }
                .inOrder { codeUnitOrder($0.name, $1.name) }
        }
        return (attributes, relationships)
    }

    func attributes(of entity: String) -> [Attribute] { ownAttributes[entity] ?? [] }

    func relationships(of entity: String) -> [Relationship] { ownRelationships[entity] ?? [] }

    func family(of root: String) -> [String] { families[root] ?? [] }

    /// Returns the stored inverse of a relationship with its declaring entity, or nil if it has none.
    func inverse(of relationship: Relationship) -> (key: PropertyKey, relationship: Relationship)? {
        guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return nil }
        // The topmost entity, if subentities repeat the property.
        let entity = model.lineage(of: relationship.destinationEntity).last { entity in
            entity.relationships.contains { $0.name == inverse.name }
        }
        return entity.map { (PropertyKey($0.name, inverse.name), inverse) }
    }

    // MARK: Names

    func columnName(_ property: String) -> String { "Z" + property.uppercased() }

    private mutating func checkNames() {
        let remedy: Remedy = "Rename it in the model, keeping the old name as renaming identifier."
        var tables: Set<String> = []
        for entity in order.numbered {
            if !entity.utf8.allSatisfy({ $0 < 128 }) {
                refuse(
                    entity, nil, "how Core Data sorts and upper-cases names outside ASCII is not known", remedy: remedy)
            }
            if model.root(of: entity) == entity, !tables.insert(entity.uppercased()).inserted {
                refuse(entity, nil, "another entity has the same name in a different case", remedy: remedy)
            }
            let names = attributes(of: entity).map(\.name) + relationships(of: entity).map(\.name)
            for name in names where !name.utf8.allSatisfy({ $0 < 128 }) {
                refuse(entity, name, "how Core Data upper-cases names outside ASCII is not known", remedy: remedy)
            }
        }
    }
}
