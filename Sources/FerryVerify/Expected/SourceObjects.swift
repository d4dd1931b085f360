internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The source store for the plain evaluator: one object at a time, read by key.
final class SourceObjects: PlainObjectSource {
    private enum Kind { case relationship, composite, other }

    /// A row that a check has open; attributes of its object are read from it.
    final class OpenRow {
        fileprivate(set) var object: PlainObject
        let row: StoredRows
        let columns: [String: (column: Int, attribute: Attribute)]

        init(_ row: StoredRows, of entity: String, columns: [String: (column: Int, attribute: Attribute)]) {
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
    private var lastKind: (key: PropertyKey, kind: Kind)?
    private var lastEntity: (number: Int64, name: String)?
    private var kinds: [PropertyKey: Kind] = [:]
    private(set) var openRow: OpenRow?

    private let sound: Set<SoundLinks>

    init(_ context: VerificationContext, sound: Set<SoundLinks> = []) {
        (self.context, self.sound) = (context, sound)
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

    func isComposite(_ name: String, of entity: String) -> Bool { kind(of: name, in: entity) == .composite }

    private func kind(of name: String, in entity: String) -> Kind {
        let key = PropertyKey(entity, name)
        if let lastKind, lastKind.key == key { return lastKind.kind }
        if let known = kinds[key] {
            lastKind = (key, known)
            return known
        }
        let kind: Kind =
            context.sourceModel.relationship(name, of: entity) != nil
            ? .relationship : context.sourceModel.attribute(name, of: entity)?.type == .composite ? .composite : .other
        kinds[key] = kind
        return kind
    }

    // MARK: Relationships

    func isRelationship(_ name: String, of entity: String) -> Bool { kind(of: name, in: entity) == .relationship }

    func isToMany(_ name: String, of entity: String) -> Bool {
        context.sourceModel.relationship(name, of: entity)?.isToMany ?? false
    }

    func destination(of relationship: String, in entity: String) -> String? {
        context.sourceModel.relationship(relationship, of: entity)?.destinationEntity
    }

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
        of entity: String, where name: String, equals value: PlainValue, options: String,
        _ body: (PlainObject) throws -> Void
    ) throws -> Bool {
        let key = EqualValues.Key(entity: entity, name: name, options: options)
        guard let known = try context.equalValues(key) else { return false }
        return try known.each(value) { try body(PlainObject(entity: entity, key: $0)) }
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
        let statement = try walks[key]?.popLast() ?? links(key, ofOwners: "= ?1")
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
        let walk = try orderedWalks[key] ?? RelatedWalk(links(key, ofOwners: ">= ?1"))
        orderedWalks[key] = walk
        lastWalk = (key, walk)
        return walk
    }

    /// SQL of a relationship's links by owner and position: owner, related key, its `Z_ENT` (known for sound links).
    private func links(_ relationship: PropertyKey, ofOwners condition: String) throws -> Statement {
        guard let declared = context.sourceModel.relationship(relationship.property, of: relationship.entity),
            let storage = context.source.storage(of: relationship.property, in: relationship.entity)
        else { throw PlainFailure("\(relationship.entity) has no stored relationship \(relationship.property)") }
        let links = StoredLinks(storage)
        let link = links.areInRowsOfA ? "o" : links.areInRowsOfB ? "t" : "j"
        var (related, tables) = ("t.Z_PK, t.Z_ENT", "source.\(links.table) \(link)")
        if let known = SoundLinks(relationship.property, of: relationship.entity, in: context), sound.contains(known) {
            related = "\(link).\(links.b), \(known.number)"
            tables += " WHERE \(link).\(links.b) IS NOT NULL AND"
        } else if links.areInRowsOfB {
            tables += " WHERE"
        } else {
            let other = try context.sourceTable(of: declared.destinationEntity).name
            tables += " CROSS JOIN source.\(other) t ON t.Z_PK = \(link).\(links.b) WHERE"
        }
        let order = [links.a, links.bOrder, links.b].compactMap { $0 }.map { "\(link).\($0)" }.joined(separator: ", ")
        return try context.connection.prepare(
            "SELECT \(link).\(links.a), \(related) FROM \(tables) \(link).\(links.a) \(condition) ORDER BY \(order)")
    }
}

/// The rows of one source root table in key order, with the columns that entity mappings need.
final class SourceRows {
    let root: String
    let row: StoredRows
    private let places: [String: Int]
    /// The values at the end of paths; their columns follow those of the row itself.
    private let paths: JoinedPaths
    private let firstPathColumn: Int
    /// The column that is 1 if the values of paths can be taken; nil without paths.
    let soundColumn: Int?
    private var attributeColumns: [String: [String: (column: Int, attribute: Attribute)]] = [:]
    private let context: VerificationContext
    private let objects: SourceObjects
    /// `Z_ENT` of the current row, and the entity of that number.
    private(set) var entityNumber: Int64 = 0
    private var entity: String?
    private var openRow: SourceObjects.OpenRow?

    static let keyColumn = 0
    static let entityColumn = 1
    static let versionColumn = 2

    /// The rows of a range that mappings of one source root read, of exactly one entity or of all.
    ///
    /// Without values, only the attributes of filters and iterations are read.
    init(
        for mappings: [ResolvedEntityMapping], onlyEntity entity: String?, withValues: Bool,
        beside columns: [String] = [], range: KeyRange = .all, objects: SourceObjects, in context: VerificationContext
    ) throws {
        self.context = context
        self.objects = objects
        root = context.sourceModel.root(of: mappings[0].source)
        var names: [String] = []
        var places: [String: Int] = [:]
        func place(of column: String) -> Int {
            if let known = places[column] { return known }
            names.append(column)
            places[column] = names.count + 2
            return names.count + 2
        }
        for column in columns { _ = place(of: column) }
        var columns: [String: [String: (column: Int, attribute: Attribute)]] = [:]
        for mapping in mappings {
            for attribute in SourceRows.attributes(of: mapping, withValues: withValues, in: context) {
                guard let column = context.source.column(of: attribute, in: mapping.source),
                    let declared = context.sourceModel.attribute(attribute, of: mapping.source)
                else { continue }
                columns[mapping.source, default: [:]][attribute] = (place(of: column.name), declared)
            }
        }
        var paths = JoinedPaths(in: context)
        for mapping in mappings { SourceRows.addPaths(of: mapping, withValues: withValues, to: &paths) }
        (self.paths, firstPathColumn) = (paths, names.count + 3)
        soundColumn = paths.columns.isEmpty ? nil : firstPathColumn + paths.columns.count
        attributeColumns = columns
        self.places = places
        let table = try context.sourceTable(of: root).name
        row = try StoredRows(
            of: table, schema: "source", columns: ["Z_PK", "Z_ENT", "Z_OPT"] + names,
            and: paths.columns.isEmpty ? [] : paths.columns + [paths.checks.joined(separator: " AND ")],
            joining: paths.joins,
            where: try entity.map {
                "\(paths.joins.isEmpty ? "" : "o.")Z_ENT = \(try context.sourceNumber(of: $0))"
            }, range: range, in: context)
    }

    /// Adds the paths through the relationships of `$source` to an attribute.
    private static func addPaths(
        of mapping: ResolvedEntityMapping, withValues: Bool, to paths: inout JoinedPaths
    ) {
        func visit(_ expression: Expression) {
            if let keys = keys(ofPath: expression) { return paths.add(keys, of: mapping.source) }
            expression.parts.forEach(visit)
        }
        if withValues { mapping.attributes.compactMap(\.expression).forEach(visit) }
        mapping.filter?.parts.forEach(visit)
    }

    private static func keys(ofPath expression: Expression) -> [String]? {
        guard case .keyPath(let base, let steps) = expression, base == .variable("source") || base == .evaluatedObject
        else { return nil }
        var keys: [String] = []
        for case .key(let key) in steps { keys.append(key) }
        return keys.count == steps.count && keys.count > 1 ? keys : nil
    }

    /// The column of the value at the end of a path, if ``isOwn``.
    func column(along path: Expression, of entity: String) -> (column: Int, attribute: Attribute)? {
        guard let keys = Self.keys(ofPath: path), let (place, attribute) = paths[keys, of: entity] else { return nil }
        return (firstPathColumn + place, attribute)
    }

    /// Whether all values that expressions read are in the current row's statement.
    var isOwn: Bool { row.isWhole && (soundColumn.map { row.walk.integer($0) == 1 } ?? true) }

    /// The attributes of `$source` with which a mapping's expressions begin.
    private static func attributes(
        of mapping: ResolvedEntityMapping, withValues: Bool, in context: VerificationContext
    ) -> Set<String> {
        var names = Set<String>()
        func visit(_ expression: Expression) {
            switch expression {
            case .keyPath(.variable("source"), let steps), .keyPath(.evaluatedObject, let steps):
                var name = ""
                for case .key(let key) in steps {
                    name += (name.isEmpty ? "" : ".") + key
                    let attribute = context.sourceModel.attribute(name, of: mapping.source)
                    if let attribute, attribute.type != .composite { names.insert(name) }
                    if attribute?.type != .composite { break }
                }
            default: expression.parts.forEach(visit)
            }
        }
        if withValues { mapping.attributes.compactMap(\.expression).forEach(visit) }
        mapping.filter?.parts.forEach(visit)
        mapping.iteration.map { visit($0.elements) }
        return names
    }

    func column(of attribute: String, in entity: String) -> Int? { attributeColumns[entity]?[attribute]?.column }

    func place(ofColumn name: String) -> Int {
        guard let place = places[name] else { preconditionFailure("\(name) is not read with its row") }
        return place
    }

    // MARK: Walking

    /// Begins a range, with the same statement.
    func move(to range: KeyRange) throws(DatabaseError) { try row.move(to: range) }

    /// Steps to the next row of a known entity; false at the end.
    func step() throws -> Bool {
        while try row.step() {
            let number = row.integer(SourceRows.entityColumn)
            // Usually a row has the entity of the one before.
            if number != entityNumber || entity == nil {
                entityNumber = number
                entity = objects.entity(numbered: number)
            }
            if entity != nil { return true }
        }
        return false
    }

    var key: Int64 { row.integer(SourceRows.keyColumn) }

    func next() throws -> PlainObject? { try step() ? object : nil }

    var object: PlainObject { PlainObject(entity: entity ?? "", key: key) }

    /// Makes the current row the one from which the evaluator reads its object's attributes.
    func open(_ object: PlainObject) {
        let known = openRow.flatMap { $0.object.entity == object.entity ? $0 : nil }
        let opened = known ?? .init(row, of: object.entity, columns: attributeColumns[object.entity] ?? [:])
        openRow = opened
        objects.open(opened, key: object.key)
    }
}
