internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The rows of one source root table in key order, with the columns that some entity mappings need.
final class SourceRows {
    let root: String
    let row: StoredRows
    /// Column name to its place in the row.
    private let places: [String: Int]
    /// Entity name to the columns of its attributes in the row.
    private var attributeColumns: [String: [String: (column: Int, attribute: Attribute)]] = [:]
    private let context: VerificationContext
    private let objects: SourceObjects
    /// `Z_ENT` of the row at hand, and the entity of that number.
    private(set) var entityNumber: Int64 = 0
    private var entity: String?
    private var openRow: SourceObjects.OpenRow?

    static let keyColumn = 0
    static let entityColumn = 1
    static let versionColumn = 2

    /// The rows of a range that mappings below one source root read: those of exactly one entity, or all; with what their
    /// attributes need, or only with what filters and iterations need; and with further columns.
    init(
        for mappings: [ResolvedEntityMapping], onlyEntity entity: String?, withValues: Bool,
        beside columns: [String] = [], range: KeyRange = .all, objects: SourceObjects, in context: VerificationContext
    ) throws {
        self.context = context
        self.objects = objects
        root = context.sourceModel.root(of: mappings[0].source)
        var names: [String] = []
        for column in columns where !names.contains(column) { names.append(column) }
        var columns: [String: [String: (column: Int, attribute: Attribute)]] = [:]
        for mapping in mappings {
            for attribute in SourceRows.attributes(of: mapping, withValues: withValues, in: context) {
                guard let column = context.source.column(of: attribute, in: mapping.source),
                    let declared = context.sourceModel.attribute(attribute, of: mapping.source)
                else { continue }
                let place = names.firstIndex(of: column.name) ?? names.endIndex
                if place == names.endIndex { names.append(column.name) }
                columns[mapping.source, default: [:]][attribute] = (place + 3, declared)
            }
        }
        attributeColumns = columns
        places = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0 + 3) })
        let table = try context.sourceTable(of: root).name
        row = try StoredRows(
            of: table, schema: "source", columns: ["Z_PK", "Z_ENT", "Z_OPT"] + names,
            where: try entity.map { "Z_ENT = \(try context.sourceNumber(of: $0))" }, range: range, in: context)
    }

    /// The attributes of `$source` that a mapping's expressions begin with.
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

    /// The place of an entity's attribute in the row, if it is among the columns.
    func column(of attribute: String, in entity: String) -> Int? { attributeColumns[entity]?[attribute]?.column }

    /// The place of a column that was asked for beside those of attributes.
    func place(ofColumn name: String) -> Int {
        guard let place = places[name] else { preconditionFailure("\(name) is not read with its row") }
        return place
    }

    // MARK: Walking

    /// Goes to the next row.
    ///
    /// - Returns: False at the end. Rows of no known entity are passed over.
    func step() throws -> Bool {
        while try row.step() {
            let number = row.integer(SourceRows.entityColumn)
            // As a rule a row is of the same entity as the one before.
            if number != entityNumber || entity == nil {
                entityNumber = number
                entity = objects.entity(numbered: number)
            }
            if entity != nil { return true }
        }
        return false
    }

    /// `Z_PK` of the row at hand.
    var key: Int64 { row.integer(SourceRows.keyColumn) }

    /// Goes to the next row, which the evaluator reads from until the next call.
    ///
    /// - Returns: The object, or nil at the end. Rows of no known entity are passed over.
    func next() throws -> PlainObject? { try step() ? object : nil }

    /// The object of the row at hand.
    var object: PlainObject { PlainObject(entity: entity ?? "", key: key) }

    /// Lets the evaluator read the attributes of the current row's object from it.
    func open(_ object: PlainObject) {
        let known = openRow.flatMap { $0.object.entity == object.entity ? $0 : nil }
        let opened = known ?? .init(row, of: object.entity, columns: attributeColumns[object.entity] ?? [:])
        openRow = opened
        objects.open(opened, key: object.key)
    }
}
