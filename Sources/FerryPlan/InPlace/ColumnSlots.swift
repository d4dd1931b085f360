internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Finds, for every column of a destination table, what each entity mapping puts into it.
struct ColumnSlots {
    let relationships: RelationshipSources
    let table: EntityTable
    /// The mappings whose objects stand in the table.
    let mappings: [ResolvedEntityMapping]

    var source: StoreLayout { relationships.source }
    var destination: StoreLayout { relationships.destination }

    private(set) var slots: [String: ColumnSlot] = [:]
    /// Keys to objects that the new version does not relate any more.
    private(set) var cuts: [KeyCut] = []
    /// Order columns that must be numbered, each with the key column of the group.
    private(set) var numberings: [(order: String, group: String)] = []
    /// To-one relationships whose keys only the other side held so far: the side that becomes one of two.
    private(set) var mirrors: [PropertyKey] = []

    /// What all tables of a version have, sorted once by the tables.
    struct Contents {
        /// By root.
        let mappings: [String: [ResolvedEntityMapping]]
        let columns: [String: [(key: PropertyKey, value: Column)]]
        /// By the name of the table.
        let stored: [String: [(key: PropertyKey, value: RelationshipStorage)]]

        init(_ step: ResolvedStep, _ destination: StoreLayout) {
            mappings = Dictionary(grouping: step.entityMappings) { destination.model.root(of: $0.destination) }
            columns = Dictionary(grouping: destination.attributeColumns) { destination.model.root(of: $0.key.entity) }
            stored = Dictionary(grouping: destination.relationshipStorage) { $0.value.table }
        }
    }

    init(
        _ relationships: RelationshipSources, _ contents: Contents, table: EntityTable
    ) throws(InPlaceObstacle) {
        self.table = table
        self.relationships = relationships
        mappings = contents.mappings[table.root] ?? []
        for (key, column) in (contents.columns[table.root] ?? []).sorted(by: { $0.key < $1.key }) {
            slots[column.name] = try attribute(key, column)
        }
        for (key, storage) in (contents.stored[table.name] ?? []).sorted(by: { $0.key < $1.key }) {
            switch storage {
            case .foreignKey(table.name, let column, let entityColumn, let orderColumn):
                try addKey(key, column, entityColumn, orderColumn)
            case .inverseless(table.name, let column): try addInverseless(key, column)
            default: break
            }
        }
    }

    /// In the order of the new table's columns.
    var inOrder: [ColumnSlot] { table.columns.compactMap { slots[$0.name] } }

    // MARK: Attributes

    private func attribute(_ key: PropertyKey, _ column: Column) throws(InPlaceObstacle) -> ColumnSlot {
        var slot = ColumnSlot(column: column, property: key)
        guard let attribute = destination.attribute(key) else { return slot }
        for mapping in mappings where destination.model.isKind(mapping.destination, of: key.entity) {
            if destination.model.isComputedByStore(attribute, of: key.entity) {
                if let before = source.model.attribute(key.property, of: mapping.source), before.isDerived,
                    let old = source.column(of: key.property, in: mapping.source)
                {
                    slot.values[mapping.position] = .column(old.name)
                }
                continue
            }
            guard let resolved = mapping.attributes.first(where: { $0.name == key.property }) else {
                throw .needsCopy("\(key.title) is an element of a composite attribute")
            }
            slot.values[mapping.position] = try value(resolved, attribute, mapping)
        }
        return slot
    }

    private func value(
        _ resolved: ResolvedAttribute, _ attribute: Attribute, _ mapping: ResolvedEntityMapping
    ) throws(InPlaceObstacle) -> SlotValue? {
        guard let value = ColumnSource(resolved, for: attribute, of: mapping, in: source) else { return nil }
        do throws(FerryError) {
            var values = InPlaceValues()
            if case .expression = value { _ = try SlotValue.source(value).sql(names: [:], source, &values) }
        } catch {
            throw .needsCopy("\(mapping.destination).\(attribute.name) is not a plain value of its own row")
        }
        return .source(value)
    }

    // MARK: Keys

    private mutating func addKey(
        _ key: PropertyKey, _ column: String, _ entityColumn: String?, _ orderColumn: String?
    ) throws(InPlaceObstacle) {
        var slot = ColumnSlot(column: Column(name: column, type: "INTEGER"), property: key)
        var numbers = ColumnSlot(column: Column(name: entityColumn ?? "", type: "INTEGER"), property: key)
        var order = ColumnSlot(column: Column(name: orderColumn ?? "", type: "INTEGER"), property: key)
        var unordered = 0
        let holders = mappings.filter { destination.model.isKind($0.destination, of: key.entity) }
        let pairs = holders.isEmpty ? [] : try relationships.pairs(of: key)
        for mapping in holders {
            if relationships.isHeldByOtherSide(key, pairs, in: mapping) {
                if !mirrors.contains(key) { mirrors.append(key) }
                continue
            }
            guard let old = try relationships.key(pairs, in: mapping) else { continue }
            addCut(old, mapping)
            slot.values[mapping.position] = .column(old.column)
            numbers.values[mapping.position] = try number(old)
            if let oldOrder = old.orderColumn {
                order.values[mapping.position] = .column(oldOrder)
            } else {
                unordered += 1
            }
        }
        slots[column] = slot
        if let entityColumn { slots[entityColumn] = numbers }
        guard let orderColumn else { return }
        if unordered > 0 {
            guard order.values.isEmpty else {
                throw .needsCopy("\(key.title) has an order for some of its objects only")
            }
            numberings.append((orderColumn, column))
        }
        slots[orderColumn] = order
    }

    private func number(_ key: RelationshipSources.Key) throws(InPlaceObstacle) -> SlotValue {
        var pairs: [NumberPair] = []
        for mapping in relationships.step.entityMappings where key.allowed.contains(mapping.source) {
            guard let old = source.number(of: mapping.source), let new = destination.number(of: mapping.destination)
            else { continue }
            pairs.append(NumberPair(old: old, new: new))
        }
        pairs.sort { $0.old < $1.old }
        if let old = key.entityColumn {
            return pairs.allSatisfy { $0.old == $0.new } && key.possible.isSubset(of: key.allowed)
                ? .column(old) : .number(key: key.column, old: old, pairs)
        }
        guard pairs.count == 1 else { throw .needsCopy("a key does not say to which entity it leads") }
        return .number(key: key.column, old: nil, pairs)
    }

    private mutating func addInverseless(_ key: PropertyKey, _ column: String) throws(InPlaceObstacle) {
        guard let target = destination.model.relationship(key.property, of: key.entity)?.destinationEntity else {
            return
        }
        var slot = ColumnSlot(column: Column(name: column, type: "INTEGER"), property: key)
        for mapping in mappings where destination.model.isKind(mapping.destination, of: target) {
            guard let old = try relationships.key(ofInverseless: key, in: mapping) else { continue }
            addCut(old, mapping)
            slot.values[mapping.position] = .column(old.column)
        }
        slots[column] = slot
    }

    private mutating func addCut(_ key: RelationshipSources.Key, _ mapping: ResolvedEntityMapping) {
        let lost = key.possible.subtracting(key.allowed).compactMap { source.number(of: $0) }.sorted()
        guard !lost.isEmpty, let table = source.table(of: mapping.source)?.name,
            let number = source.number(of: mapping.source)
        else { return }
        cuts.append(
            KeyCut(
                table: table, number: number,
                key: key.column, others: [key.entityColumn, key.orderColumn],
                targetTable: key.targetTable, lost: lost))
    }
}

/// Keys of one entity's rows that lead to objects which go, or leave the relationship.
struct KeyCut {
    var table: String
    var number: Int64
    var key: String
    /// What goes with the key.
    var others: [String?]
    var targetTable: String
    /// `Z_ENT` of the objects.
    var lost: [Int64]

    var statement: InPlaceStatement {
        InPlaceStatement(
            "UPDATE \(table) SET \(([key] + others).emptied) WHERE Z_ENT = \(number) "
                + "AND \(key) IN (SELECT Z_PK FROM \(targetTable) WHERE \(lost.rowCondition()))",
            writesObjects: true,
            reason: "objects at the end of \(key) go, or are no longer related")
    }
}

/// A column of a destination table and what each entity mapping puts into it; a mapping that is not named leaves it
/// empty.
struct ColumnSlot {
    var column: Column
    /// By the mapping's position.
    var values: [Int: SlotValue] = [:]
    /// The declared name, for messages.
    var property: PropertyKey
}

/// The value of a column in the rows of one entity mapping, from columns of the same row.
enum SlotValue: Hashable {
    case source(ColumnSource)
    /// The number of the entity that a key leads to: translated from the old number, or the only possible one.
    case number(key: String, old: String?, [NumberPair])

    /// As it stands in a column of the source table.
    static func column(_ name: String) -> SlotValue { .source(.column(name)) }

    /// The column whose values it takes over as they stand.
    var column: String? { if case .source(.column(let column)) = self { column } else { nil } }

    /// The source column whose values it converts, when it reads no other.
    var base: String? {
        switch self {
        case .source(let source): source.base
        case .number(_, let old, _): old
        }
    }

    /// The SQL of the value.
    ///
    /// - Parameters:
    ///   - names: What the source's columns are called when the statement runs.
    ///   - source: The source's layout.
    ///   - values: Takes constants.
    /// - Returns: The SQL.
    /// - Throws: ``FerryError`` when an expression is more than SQL can say of one row.
    func sql(
        names: [String: String], _ source: StoreLayout, _ values: inout InPlaceValues
    ) throws(FerryError) -> String {
        let name = { (column: String) in names[column] ?? column }
        switch self {
        case .source(.column(let column)): return name(column)
        case .source(.constant(let value)): return values.add(value)
        case .number(let key, nil, let pairs):
            return "CASE WHEN \(name(key)) IS NOT NULL THEN \(pairs.first.map { String($0.new) } ?? "NULL") END"
        case .number(_, let old?, let pairs):
            let cases = pairs.map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ")
            return cases.isEmpty ? "NULL" : "CASE \(name(old)) \(cases) END"
        case .source(.expression(let expression)):
            let mapping = expression.mapping
            var translator = SQLTranslator(
                scope: mapping.expressionScope(in: source.model),
                resolver: RowColumns(source: source, mapping: mapping, names: names, values: values))
            let sql = try translator.sql(expression.computation(in: source.model))
            values = translator.resolver.values
            return sql
        }
    }
}

/// An entity's number in the store and in the new version.
struct NumberPair: Hashable {
    var old: Int64
    var new: Int64
}

/// Finds the columns of an expression in the row at hand.
private struct RowColumns: PathResolver {
    let source: StoreLayout
    let mapping: ResolvedEntityMapping
    let names: [String: String]
    var values: InPlaceValues

    mutating func column(_ path: ResolvedPath) throws(FerryError) -> String {
        guard path.start == .source, path.hops.isEmpty, case .attribute(_, let property) = path.end,
            let column = source.column(of: property.joined(separator: "."), in: mapping.source)?.name
        else { throw Self.tooMuch }
        return names[column] ?? column
    }

    mutating func elementText() throws(FerryError) -> String { throw Self.tooMuch }

    mutating func parameter(program: [UInt8]) -> String { values.add(.blob(program)) }

    mutating func parameter(_ value: SQLParameter) -> String {
        // Nothing that is inferred asks for the time.
        guard case .constant(let constant) = value, let stored = constant.stored else { return "NULL" }
        return values.add(stored)
    }

    private static var tooMuch: FerryError {
        FerryError(.unsupported, "An expression reads more than the attributes of its own object.")
    }
}
