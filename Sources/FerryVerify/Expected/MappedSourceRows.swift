internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The rows of one source root table in key order, with the columns that entity mappings need.
final class MappedSourceRows {
    let root: String
    let row: TableRows
    private let places: [String: Int]
    /// The values at the end of paths; their columns follow those of the row itself.
    private let paths: JoinedPaths
    private let firstPathColumn: Int
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
        var paths = JoinedPaths(in: context)
        for mapping in mappings {
            for attribute in Self.attributes(of: mapping, withValues: withValues, adding: &paths, in: context) {
                guard let column = context.source.column(of: attribute, in: mapping.source),
                    let declared = context.sourceModel.attribute(attribute, of: mapping.source)
                else { continue }
                columns[mapping.source, default: [:]][attribute] = (place(of: column.name), declared)
            }
        }
        (self.paths, firstPathColumn) = (paths, names.count + 3)
        attributeColumns = columns
        self.places = places
        let table = try context.sourceTable(of: root).name
        row = try TableRows(
            of: table, schema: "source", columns: ["Z_PK", "Z_ENT", "Z_OPT"] + names,
            and: paths.columns, joining: paths.joins,
            where: try entity.map {
                "\(paths.joins.isEmpty ? "" : "o.")Z_ENT = \(try context.sourceNumber(of: $0))"
            }, range: range, in: context)
    }

    private static func keys(ofPath expression: Expression) -> [String]? {
        guard case .keyPath(.variable("source"), let steps) = expression.fromSource, let keys = steps.keys,
            keys.count > 1
        else { return nil }
        return keys
    }

    /// The column of the value at the end of a path, if ``isOwn``.
    func column(along path: Expression, of entity: String) -> (column: Int, attribute: Attribute)? {
        guard let keys = Self.keys(ofPath: path), let (place, attribute) = paths[keys, of: entity] else { return nil }
        return (firstPathColumn + place, attribute)
    }

    /// Whether all values that expressions read are in the current row's statement.
    var isOwn: Bool { row.isWhole }

    /// The attributes of `$source` with which a mapping's expressions begin; adds the paths through its relationships to
    /// an attribute.
    private static func attributes(
        of mapping: ResolvedEntityMapping, withValues: Bool, adding paths: inout JoinedPaths,
        in context: VerificationContext
    ) -> Set<String> {
        var names = Set<String>()
        func visit(_ expression: Expression, joining: Bool) {
            guard case .keyPath(.variable("source"), let steps) = expression.fromSource else {
                return expression.parts.forEach { visit($0, joining: joining) }
            }
            if joining, let keys = keys(ofPath: expression) { paths.add(keys, of: mapping.source) }
            var name = ""
            for case .key(let key) in steps {
                name += (name.isEmpty ? "" : ".") + key
                let attribute = context.sourceModel.attribute(name, of: mapping.source)
                if let attribute, attribute.type != .composite { names.insert(name) }
                if attribute?.type != .composite { break }
            }
        }
        let values = withValues ? mapping.attributes.compactMap(\.expression) : []
        for expression in values + (mapping.filter?.parts ?? []) { visit(expression, joining: true) }
        // The evaluator reads the elements.
        mapping.iteration.map { visit($0.elements, joining: false) }
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
            let number = row.integer(MappedSourceRows.entityColumn)
            // Usually a row has the entity of the one before.
            if number != entityNumber || entity == nil {
                entityNumber = number
                entity = objects.entity(numbered: number)
            }
            if entity != nil { return true }
        }
        return false
    }

    var key: Int64 { row.integer(MappedSourceRows.keyColumn) }

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
