internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Reads and writes single objects of one destination entity.
final class EntityWriter {
    let entity: String
    let number: Int64
    let root: String
    let table: String
    /// The columns that the entity's objects have: attributes, then foreign keys with what belongs to them.
    let columns: [String]
    /// Column name to its place.
    let places: [String: Int]
    /// What a new object has by the model.
    let defaults: [Int: Value]
    private let attributes: [String: (attribute: Attribute, place: Int)]
    private let insert: Statement

    init(_ entity: String, in context: StepContext) throws {
        guard let number = context.destination.number(of: entity), let table = context.destination.table(of: entity)
        else {
            throw FerryError(
                .badMapping, "A migration policy names the entity \(entity), which the new model does not have.",
                remedy: "Correct the name; "
                    + NearNames.near(to: entity, among: context.destination.entityNumbers.keys).prefix(3)
                    .joined(separator: ", "))
        }
        guard context.destination.model.entities[entity]?.isAbstract == false else {
            throw FerryError(
                .badMapping, "A migration policy makes an object of \(entity), which is abstract.",
                remedy: "Make objects of one of its sub-entities.")
        }
        self.entity = entity
        self.number = number
        self.table = table.name
        root = table.root
        var columns: [String] = []
        var attributes: [String: (attribute: Attribute, place: Int)] = [:]
        var defaults: [Int: Value] = [:]
        for (key, column) in context.destination.attributeColumns(of: entity) {
            if let attribute = context.destination.attribute(key) {
                attributes[key.property] = (attribute, columns.count)
                defaults[columns.count] = ExpressionSQL.defaultValue(of: attribute, by: nil)
            }
            columns.append(column.name)
        }
        for (_, storage) in context.destination.relationshipStorage(of: entity) {
            guard case .foreignKey(_, let column, let entityColumn, let orderColumn) = storage else { continue }
            columns += [column, entityColumn, orderColumn].compactMap { $0 }
        }
        self.columns = columns
        self.attributes = attributes
        self.defaults = defaults
        places = Dictionary(columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns
        let values = names.indices.map { "?\($0 + 1)" }
        insert = try context.connection.prepare(
            "INSERT INTO main.\(table.name) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
        )
        try insert.bind(number, at: 2)
    }

    func attribute(_ name: String) throws(FerryError) -> (attribute: Attribute, place: Int) {
        if let known = attributes[name] { return known }
        let near = NearNames.near(to: name, among: attributes.keys).prefix(3).joined(separator: ", ")
        throw FerryError(
            .badMapping, "A migration policy names \(entity).\(name), which is no stored attribute.",
            remedy: near.isEmpty ? "Name an attribute of the new model." : "Did you mean \(near)?",
            place: .init(entity: entity, property: name))
    }

    /// Writes a new object's row.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - version: Its `Z_OPT`.
    ///   - bind: Binds the value of a column's place at a parameter; says whether there is one.
    /// - Throws: ``DatabaseError``, and what `bind` throws.
    func insert(key: Int64, version: Value, _ bind: (Int, Statement, Int) throws -> Bool) throws {
        try insert.bind(key, at: 1)
        try insert.bind(version, at: 3)
        for place in columns.indices where try !bind(place, insert, place + 4) {
            try insert.bindNull(at: place + 4)
        }
        try insert.run()
    }
}
