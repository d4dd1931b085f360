internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The source store for the plain evaluator: one object at a time, read by key.
final class SourceObjects: PlainObjectSource {
    /// A row that a check has open; attributes of its object are read from it.
    final class OpenRow {
        fileprivate(set) var object: PlainObject
        let row: TableRows
        let columns: [String: (column: Int, attribute: Attribute)]

        init(_ row: TableRows, of entity: String, columns: [String: (column: Int, attribute: Attribute)]) {
            object = PlainObject(entity: entity, key: 0)
            (self.row, self.columns) = (row, columns)
        }
    }

    private let context: VerificationContext
    private let entityNames: [Int64: String]
    private var attributeStatements: [PropertyKey: (statement: Statement, attribute: Attribute)] = [:]
    /// Statements not in use: a walk inside a walk needs one of its own.
    private var walks: [PropertyKey: [Statement]] = [:]
    /// Walks through the links of the current object and of later ones.
    private var orderedWalks: [PropertyKey: RelatedWalk] = [:]
    // Usually the next object needs the same as the one before.
    private var lastWalk: (key: PropertyKey, walk: RelatedWalk)?
    private var lastProperty: (key: PropertyKey, property: PlainProperty)?
    private var lastEntity: (number: Int64, name: String)?
    private var properties: [PropertyKey: PlainProperty] = [:]
    private(set) var openRow: OpenRow?

    init(_ context: VerificationContext) {
        self.context = context
        entityNames = context.sourceEntities
    }

    /// The entity of a source row, or nil if the model has none of this number.
    func entity(numbered number: Int64) -> String? {
        if let lastEntity, lastEntity.number == number { return lastEntity.name }
        guard let name = entityNames[number] else { return nil }
        lastEntity = (number, name)
        return name
    }

    /// Reads attributes of a row's object from that row, until it is closed or another one is opened.
    func open(_ row: OpenRow, key: Int64) {
        row.object.key = key
        openRow = row
    }

    func closeRow() { openRow = nil }

    // MARK: Attributes

    func value(of attribute: String, in object: PlainObject) throws -> PlainValue {
        if let openRow, openRow.object.key == object.key, openRow.object.entity == object.entity,
            let (column, declared) = openRow.columns[attribute], !openRow.row.isLarge(column)
        {
            return try StoredValue.decode(openRow.row.current, column, as: .init(declared))
        }
        let (statement, declared) = try statement(for: attribute, of: object.entity)
        try statement.bind(object.key, at: 1)
        defer { statement.reset() }
        return try statement.step() ? try StoredValue.decode(statement, 0, as: .init(declared)) : .null
    }

    func longText(of attribute: String, in object: PlainObject) throws -> PlainText? {
        guard let openRow, openRow.object.key == object.key, openRow.object.entity == object.entity,
            let (column, declared) = openRow.columns[attribute], !declared.allowsExternalStorage,
            let content = openRow.row.content(column)
        else { return nil }
        let connection = context.connection
        return PlainText(count: try content.count(on: connection)) { try content.bytes($0, on: connection) }
    }

    func rawValue(of attribute: String, in object: PlainObject) throws -> PlainValue {
        let (statement, _) = try statement(for: attribute, of: object.entity)
        try statement.bind(object.key, at: 1)
        defer { statement.reset() }
        return try statement.step() ? StoredValue.raw(statement, 0) : .null
    }

    /// The location of a value too large to be read with its row; nil for other values.
    func largeContent(of attribute: String, in object: PlainObject) throws -> LargeContent? {
        guard let column = context.source.column(of: attribute, in: object.entity) else { return nil }
        let table = try context.sourceTable(of: object.entity).name
        let type = try context.connection.value(
            "SELECT typeof(\(column.name)) FROM source.\(table) WHERE Z_PK = ?", [.integer(object.key)])?.text
        guard type == "text" || type == "blob" else { return nil }
        let size = try BlobHandle(
            column.name, of: table, row: object.key, schema: "source", on: context.connection
        ).count
        guard size > context.verification.valueLimit / 2 else { return nil }
        return LargeContent(
            schema: "source", table: table, column: column.name, row: object.key, isText: type == "text")
    }

    private func statement(
        for attribute: String, of entity: String
    ) throws -> (statement: Statement, attribute: Attribute) {
        let key = PropertyKey(entity, attribute)
        if let known = attributeStatements[key] { return known }
        guard let declared = context.sourceModel.attribute(attribute, of: entity),
            let column = context.source.column(of: attribute, in: entity)
        else { throw PlainFailure("\(entity) has no stored attribute \(attribute)") }
        let table = try context.sourceTable(of: entity)
        let statement = try context.connection.prepare(
            "SELECT \(column.name) FROM source.\(table.name) WHERE Z_PK = ?")
        attributeStatements[key] = (statement, declared)
        return (statement, declared)
    }

    /// The contents after 01, or of the file named after 02; nil if the migration drops a missing file's value.
    func contents(ofExternal value: [UInt8]) throws -> [UInt8]? {
        if value.first == 1 { return Array(value.dropFirst()) }
        guard value.first == 2, value.count == 38 else { throw PlainFailure("the value does not name a file") }
        let folder =
            context.verification.externalFolder
            ?? ExternalData.folder(forStore: context.verification.sourcePath)
        let path = folder + "/" + String(decoding: value[1..<37], as: UTF8.self)
        let files = FileLayer()
        if context.verification.dropsMissingContents, try !files.exists(path) { return nil }
        return try files.read(path, limit: context.connection.limit(.length))
    }

    func property(_ name: String, of entity: String) -> PlainProperty {
        let key = PropertyKey(entity, name)
        if let lastProperty, lastProperty.key == key { return lastProperty.property }
        let known = properties[key]
        let property = known ?? described(name, of: entity)
        if known == nil { properties[key] = property }
        lastProperty = (key, property)
        return property
    }

    private func described(_ name: String, of entity: String) -> PlainProperty {
        if let relationship = context.sourceModel.relationship(name, of: entity) {
            return .relationship(destination: relationship.destinationEntity, isToMany: relationship.isToMany)
        }
        return context.sourceModel.attribute(name, of: entity)?.type == .composite ? .composite : .other
    }

    // MARK: Relationships

    func eachObject(of entity: String, _ body: (PlainObject) throws -> Void) throws {
        let key = PropertyKey(entity, "")
        let statement =
            try walks[key]?.popLast()
            ?? context.connection.prepare(
                "SELECT Z_PK FROM source.\(try context.sourceTable(of: entity).name) WHERE Z_ENT = ? ORDER BY Z_PK")
        defer {
            statement.reset()
            walks[key, default: []].append(statement)
        }
        try statement.bind(try context.sourceNumber(of: entity), at: 1)
        while try statement.step() { try body(PlainObject(entity: entity, key: statement.integer(0))) }
    }

    func eachObject(
        of entity: String, meeting equality: PlainEvaluator.Equality, _ body: (PlainObject) throws -> Void
    ) throws -> Bool {
        let key = EqualValues.Key(entity: entity, name: equality.name, options: equality.options)
        guard let known = try context.equalValues(key) else { return false }
        return try known.each(equality.value) { try body(PlainObject(entity: entity, key: $0)) }
    }

    func eachRelated(_ relationship: String, of object: PlainObject, _ body: (PlainObject) throws -> Void) throws {
        let key = PropertyKey(object.entity, relationship)
        if let openRow, openRow.object == object {
            let walk = try orderedWalk(key)
            if walk.canRead(object.key) {
                return try walk.each(of: object.key) { related, number in
                    guard let entity = entity(numbered: number) else { return }
                    try body(PlainObject(entity: entity, key: related))
                }
            }
        }
        let statement = try walks[key]?.popLast() ?? links(key, ofAll: false)
        defer {
            statement.reset()
            walks[key, default: []].append(statement)
        }
        try statement.bind(object.key, at: 1)
        while try statement.step() {
            // A dangling key has no object, and neither has a row of no known entity.
            guard let entity = entity(numbered: statement.integer(2)) else { continue }
            try body(PlainObject(entity: entity, key: statement.integer(1)))
        }
    }

    private func orderedWalk(_ key: PropertyKey) throws -> RelatedWalk {
        if let lastWalk, lastWalk.key == key { return lastWalk.walk }
        let walk = try orderedWalks[key] ?? RelatedWalk(links(key, ofAll: true))
        orderedWalks[key] = walk
        lastWalk = (key, walk)
        return walk
    }

    /// The links of one owner, or of all from one on, by owner and position: owner, related key, its `Z_ENT`.
    private func links(_ relationship: PropertyKey, ofAll isWalk: Bool) throws -> Statement {
        guard let declared = context.sourceModel.relationship(relationship.property, of: relationship.entity),
            let storage = context.source.storage(of: relationship.property, in: relationship.entity)
        else { throw PlainFailure("\(relationship.entity) has no stored relationship \(relationship.property)") }
        let links = StoredLinks(storage)
        let link = links.areInRowsOfA ? "o" : links.areInRowsOfB ? "t" : "j"
        var (related, tables) = ("t.Z_PK, t.Z_ENT", "source.\(links.table) \(link)")
        if isWalk,
            let number = try context.soundLinks.number(
                ofRelated: relationship.property, of: relationship.entity, in: context)
        {
            related = "\(link).\(links.b), \(number)"
            tables += " WHERE \(link).\(links.b) IS NOT NULL AND"
        } else {
            if !links.areInRowsOfB {
                let other = try context.sourceTable(of: declared.destinationEntity).name
                tables += " CROSS JOIN source.\(other) t ON t.Z_PK = \(link).\(links.b)"
            }
            // A damaged key may lead to a row of another entity, which is not related. The plus keeps SQLite from the index
            // over the entity numbers.
            let isKind = context.source.isKind("+t.", of: declared.destinationEntity)
            tables += " WHERE" + (isKind.map { " \($0) AND" } ?? "")
        }
        let order = [links.a, links.bOrder, links.b].compactMap { $0 }.map { "\(link).\($0)" }.joined(separator: ", ")
        let owners = "\(link).\(links.a) \(isWalk ? ">=" : "=") ?1"
        return try context.connection.prepare(
            "SELECT \(link).\(links.a), \(related) FROM \(tables) \(owners) ORDER BY \(order)")
    }
}
