internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// An object of the source store, as a policy reads it.
///
/// It is its key: attributes are read when they are asked for, relationships are followed when they are asked for, and
/// nothing is kept. It belongs to the thread that writes, and no access to one of its variables lasts while other code
/// runs.
public final class SourceObject {
    /// The object's own entity.
    public let entityName: String
    /// Its `Z_PK`.
    @exclusivity(unchecked) public private(set) var primaryKey: Int64
    let manager: MigrationManager
    /// The row of the run that it stands for, if it is the one at work.
    @exclusivity(unchecked) private var row: Int?
    /// Where that row is.
    private let source: CurrentSource?

    init(entity: String, key: Int64, _ manager: MigrationManager) {
        entityName = entity
        primaryKey = key
        self.manager = manager
        source = nil
    }

    /// Stands for one row after another of a mapping.
    init(_ source: CurrentSource, _ manager: MigrationManager) {
        entityName = source.mapping.sourceEntityName
        primaryKey = source.key
        self.manager = manager
        self.source = source
    }

    /// Stands for the source object at work.
    func stand(for key: Int64, row: Int) {
        primaryKey = key
        self.row = row
    }

    /// The value of an attribute, or of one at the end of a path of to-one relationships; nil at its end gives null.
    public func value(forKey key: String) throws -> MigrationValue {
        if let source, isAtWork(source), manager.current === source, let value = source.value(key) { return value }
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(try object.stored(attribute, contents: true), of: attribute.type)
    }

    /// The value as SQLite has it, with nothing converted: what a column of external storage holds begins with a byte
    /// that says where the contents are.
    public func rawValue(forKey key: String) throws -> MigrationValue {
        let (object, attribute) = try end(of: key)
        guard let object, let attribute else { return .null }
        return MigrationValue(raw: try object.stored(attribute, contents: false))
    }

    public func string(forKey key: String) throws -> String? {
        if let source, isAtWork(source), manager.current === source, let text = source.text(key) { return text }
        return try value(forKey: key).string
    }

    public func integer(forKey key: String) throws -> Int64? { try value(forKey: key).integer }
    public func double(forKey key: String) throws -> Double? { try value(forKey: key).double }
    public func boolean(forKey key: String) throws -> Bool? { try value(forKey: key).boolean }

    /// The object at the end of a to-one relationship, or of a path of them.
    public func object(forKey key: String) throws -> SourceObject? {
        var object: SourceObject? = self
        for name in key.split(separator: ".").map(String.init) {
            guard let known = object else { return nil }
            object = try known.related(name)
        }
        return object
    }

    /// Hands out the objects at the end of a relationship, in their order if it has one, else by key.
    public func forEachObject(forKey key: String, _ body: (SourceObject) throws -> Void) throws {
        // One of its own: the body may ask for the same relationship of another object.
        let statement = try manager.context.connection.prepare(manager.sourceObjectsSQL(key, of: entityName))
        try statement.bind(primaryKey, at: 1)
        defer { statement.reset() }
        while try statement.step() {
            if let object = manager.sourceObject(number: statement.integer(1), key: statement.integer(0)) {
                try body(object)
            }
        }
    }

    /// The objects at the end of a relationship.
    ///
    /// ``forEachObject(forKey:_:)`` holds only one of them at a time.
    public func objects(forKey key: String) throws -> [SourceObject] {
        var objects: [SourceObject] = []
        try forEachObject(forKey: key) { objects.append($0) }
        return objects
    }

    /// Whether it stands for the row at work.
    func isAtWork(_ current: CurrentSource) -> Bool { row == current.number }

    // MARK: Reading

    private func related(_ name: String) throws -> SourceObject? {
        try manager.context.first(manager.sourceObjectsSQL(name, of: entityName), for: primaryKey) {
            manager.sourceObject(number: $0.integer(1), key: $0.integer(0))
        } ?? nil
    }

    /// The object and the attribute that a key path names.
    private func end(of key: String) throws -> (SourceObject?, Attribute?) {
        let model = manager.context.source.model
        // Before anything else: elements of composites are named with a dot too.
        if manager.context.source.column(of: key, in: entityName) != nil,
            let attribute = model.attribute(key, of: entityName)
        {
            return (self, attribute)
        }
        guard let dot = key.firstIndex(of: "."), model.relationship(String(key[..<dot]), of: entityName) != nil
        else {
            let names = model.attributes(of: entityName).map(\.name)
            let near = NearNames.near(to: key, among: names).prefix(3).joined(separator: ", ")
            throw FerryError(
                .badMapping, "A migration policy reads \(entityName).\(key), which is no stored attribute.",
                remedy: near.isEmpty ? "Name an attribute of the old model." : "Did you mean \(near)?",
                place: .init(entity: entityName, property: key))
        }
        guard let next = try related(String(key[..<dot])) else { return (nil, nil) }
        return try next.end(of: String(key[key.index(after: dot)...]))
    }

    private func stored(_ attribute: Attribute, contents: Bool) throws -> Value {
        if !(contents && attribute.allowsExternalStorage), let row,
            let value = manager.currentValue(of: attribute.name, inRow: row)
        {
            return value
        }
        guard let column = manager.context.source.column(of: attribute.name, in: entityName),
            let table = manager.context.source.table(of: entityName)
        else {
            throw FerryError(.internalError, "The source store has no column for \(entityName).\(attribute.name).")
        }
        let value =
            contents && attribute.allowsExternalStorage
            ? "\(ScalarFunction.fromExternalName)(\(column.name))" : column.name
        let sql = "SELECT \(value) FROM source.\(table.name) WHERE Z_PK = ?1"
        return try manager.context.first(sql, for: primaryKey) { $0.value(0) } ?? .null
    }
}
