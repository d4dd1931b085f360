internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Finds the value of every column of a destination table for each entity mapping.
struct ColumnSlots {
    let relationships: RelationshipRules
    let table: EntityTable
    let mappings: [ResolvedEntityMapping]
    /// The rules of each mapping by attribute: a table may have thousands.
    private let rules: [[String: ResolvedAttribute]]
    /// The part of a copy step whose table it is; the engine links some of its relationships.
    private let keptPart: KeptPart?

    var source: StoreLayout { relationships.source }
    var destination: StoreLayout { relationships.destination }

    private(set) var slots: [String: ColumnSlot] = [:]
    /// Statements that clear keys to objects that the new version no longer relates.
    private(set) var cuts: [ProgramStatement] = []
    /// The relationships whose keys the rows do not hold already, with the reasons.
    private(set) var unheld: [PropertyKey: StepObstacle] = [:]

    /// The contents of all tables of a version, grouped once.
    struct Contents {
        /// By root entity.
        let mappings: [String: [ResolvedEntityMapping]]
        let columns: [String: [(key: PropertyKey, value: Column)]]
        /// By table name.
        let stored: [String: [(key: PropertyKey, value: RelationshipStorage)]]

        init(_ step: ResolvedStep, _ destination: StoreLayout) {
            mappings = Dictionary(grouping: step.entityMappings) { destination.model.root(of: $0.destination) }
            columns = Dictionary(grouping: destination.attributeColumns) { destination.model.root(of: $0.key.entity) }
            stored = Dictionary(grouping: destination.relationshipStorage) { $0.value.table }
        }
    }

    init(
        _ relationships: RelationshipRules, _ contents: Contents, table: EntityTable, keptPart: KeptPart? = nil
    ) throws(StepObstacle) {
        self.table = table
        self.keptPart = keptPart
        self.relationships = relationships
        mappings = contents.mappings[table.root] ?? []
        rules = mappings.map { Dictionary(first: $0.attributes.map { ($0.name, $0) }) }
        for (key, column) in (contents.columns[table.root] ?? []).inOrder(by: { $0.key < $1.key }) {
            slots[column.name] = try attribute(key, column)
        }
        for (key, storage) in (contents.stored[table.name] ?? []).inOrder(by: { $0.key < $1.key }) {
            do throws(StepObstacle) {
                switch storage {
                case .foreignKey(table.name, let column, let entityColumn, let orderColumn):
                    try addKey(key, column, entityColumn, orderColumn)
                case .inverseless(table.name, let column): try addKey(key, column, nil, nil, isInverseless: true)
                default: break
                }
            } catch {
                unheld[key] = error
            }
        }
    }

    var inOrder: [ColumnSlot] { table.columns.compactMap { slots[$0.name] } }

    // MARK: Attributes

    private func attribute(_ key: PropertyKey, _ column: Column) throws(StepObstacle) -> ColumnSlot {
        var slot = ColumnSlot(column: column, property: key)
        guard let attribute = destination.attribute(key) else { return slot }
        for (mapping, rules) in zip(mappings, rules) where destination.model.isKind(mapping.destination, of: key.entity)
        {
            if destination.model.isComputedByStore(attribute, of: key.entity) {
                if let before = source.model.attribute(key.property, of: mapping.source), before.isDerived,
                    let old = source.column(of: key.property, in: mapping.source)
                {
                    slot.values[mapping.position] = .column(old.name)
                }
                continue
            }
            guard let resolved = rules[key.property] else {
                throw StepObstacle("\(key.title) is an element of a composite attribute")
            }
            slot.values[mapping.position] = try value(resolved, attribute, mapping)
        }
        return slot
    }

    private func value(
        _ resolved: ResolvedAttribute, _ attribute: Attribute, _ mapping: ResolvedEntityMapping
    ) throws(StepObstacle) -> SlotValue? {
        do throws(FerryError) {
            return try ColumnSource(resolved, for: attribute, of: mapping, in: source)
                .map { value throws(FerryError) in try SlotValue(value, in: source) }
        } catch {
            throw StepObstacle("\(mapping.destination).\(attribute.name) is not a plain value of its own row")
        }
    }

    // MARK: Keys

    /// `isInverseless`: the rows are those of the related objects.
    private mutating func addKey(
        _ key: PropertyKey, _ column: String, _ entityColumn: String?, _ orderColumn: String?,
        isInverseless: Bool = false
    ) throws(StepObstacle) {
        var slot = ColumnSlot(column: Column(name: column, type: "INTEGER"), property: key)
        var numbers = ColumnSlot(column: Column(name: entityColumn ?? "", type: "INTEGER"), property: key)
        var order = ColumnSlot(column: Column(name: orderColumn ?? "", type: "INTEGER"), property: key)
        let related = destination.model.relationship(key.property, of: key.entity)?.destinationEntity
        let holder = isInverseless ? related ?? key.entity : key.entity
        let holders = mappings.filter { destination.model.isKind($0.destination, of: holder) }
        var pairs = holders.isEmpty ? [] : try relationships.pairs(of: key)
        if isInverseless { pairs = pairs.map { $0.mirrored(in: source) } }
        for mapping in holders {
            if !isInverseless, keptPart?.linked.contains(key) == true {
                let old = keptPart?.emptiedKey(key, column, of: mapping, in: source)
                slot.emptied[mapping.position] = old?.column
                numbers.emptied[mapping.position] = old?.entityColumn
                order.emptied[mapping.position] = old?.orderColumn
                continue
            }
            guard let old = try relationships.key(pairs, in: mapping) else { continue }
            addCut(old, mapping)
            slot.values[mapping.position] = .column(old.column)
            if isInverseless { continue }
            numbers.values[mapping.position] = try number(old)
            guard orderColumn != nil else { continue }
            guard let oldOrder = old.orderColumn else { throw StepObstacle("\(key.title) is given an order") }
            order.values[mapping.position] = .column(oldOrder)
        }
        slots[column] = slot
        if let entityColumn { slots[entityColumn] = numbers }
        if let orderColumn { slots[orderColumn] = order }
    }

    private func number(_ key: RelationshipRules.Key) throws(StepObstacle) -> SlotValue {
        var pairs: [NumberPair] = []
        for entity in key.allowed {
            guard let old = source.number(of: entity) else { continue }
            for mapping in relationships.step.entityMappings(of: entity) {
                guard let new = destination.number(of: mapping.destination) else { continue }
                pairs.append(NumberPair(old: old, new: new))
            }
        }
        pairs.sort { $0.old < $1.old }
        if let old = key.entityColumn {
            return pairs.allSatisfy { $0.old == $0.new } && key.possible.isSubset(of: key.allowed)
                ? .column(old) : .number(key: key.column, old: old, pairs)
        }
        guard pairs.count == 1 else { throw StepObstacle("a key does not name the entity that it refers to") }
        return .number(key: key.column, old: nil, pairs)
    }

    private mutating func addCut(_ key: RelationshipRules.Key, _ mapping: ResolvedEntityMapping) {
        let lost = key.possible.subtracting(key.allowed).compactMap { source.number(of: $0) }.sorted()
        guard !lost.isEmpty, let table = source.table(of: mapping.source)?.name,
            let number = source.number(of: mapping.source)
        else { return }
        cuts.append(
            ProgramStatement(
                "UPDATE \(table) SET \([key.column, key.entityColumn, key.orderColumn].emptied) WHERE Z_ENT = \(number) "
                    + "AND \(key.column) IN (SELECT Z_PK FROM \(key.targetTable) WHERE \(lost.rowCondition()))",
                .once, reason: "objects at the end of \(key.column) are removed or no longer related",
                tables: .search(table)))
    }
}

/// A destination column with its value for each entity mapping; a mapping without a value leaves it NULL.
struct ColumnSlot: Sendable, Equatable {
    var column: Column
    /// By the mapping's position.
    var values: [Int: SlotValue] = [:]
    /// The source columns whose keys the engine links anew, by the mapping's position.
    var emptied: [Int: String] = [:]
    /// The declared name, for messages.
    var property: PropertyKey
}

/// The value of a column in the rows of one entity mapping, from columns of the same row.
enum SlotValue: Sendable, Hashable {
    /// A source column, unchanged.
    case column(String)
    case constant(DefaultValue)
    case computed(ColumnExpression)
    /// The entity number beside a key: translated from the old number, or the only possible one.
    case number(key: String, old: String?, [NumberPair])

    /// - Throws: ``FerryError`` if SQL over one row cannot compute the expression.
    init(_ value: ColumnSource, in source: StoreLayout) throws(FerryError) {
        switch value {
        case .column(let column): self = .column(column)
        case .constant(let constant): self = .constant(constant)
        case .expression(let expression):
            var values = Parameters()
            _ = try expression.sql(in: source, names: [:], &values)
            self = .computed(expression)
        }
    }

    var column: String? { if case .column(let column) = self { column } else { nil } }

    /// The source column whose values are converted; nil if other columns are read.
    var base: String? {
        switch self {
        case .column(let column): column
        case .constant: nil
        case .computed(let expression): expression.base
        case .number(_, let old, _): old
        }
    }

    /// The SQL of the value; `names` has the current names of renamed columns of the source.
    func sql(in source: StoreLayout, names: [String: String] = [:], _ values: inout Parameters) -> String {
        let name = { (column: String) in names[column] ?? column }
        switch self {
        case .column(let column): return name(column)
        case .constant(let value): return values.add(value)
        case .computed(let expression):
            do throws(FerryError) {
                return try expression.sql(in: source, names: names, &values)
            } catch {
                preconditionFailure("the expression was translated when the value was made: \(error)")
            }
        case .number(let key, nil, let pairs):
            return "CASE WHEN \(name(key)) IS NOT NULL THEN \(pairs.first.map { String($0.new) } ?? "NULL") END"
        case .number(_, let old?, let pairs):
            return pairs.isEmpty ? "NULL" : "CASE \(name(old)) \(pairs.cases) END"
        }
    }
}

struct NumberPair: Sendable, Hashable {
    var old: Int64
    var new: Int64
}

extension [NumberPair] {
    var cases: String { map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ") }
}

extension ColumnExpression {
    /// The SQL over one row of the store, whose columns may have other names by then.
    ///
    /// - Throws: ``FerryError`` if the expression reads more than its own row.
    fileprivate func sql(
        in source: StoreLayout, names: [String: String], _ values: inout Parameters
    ) throws(FerryError) -> String {
        var translator = SQLTranslator(
            scope: mapping.expressionScope(in: source.model),
            resolver: RowOperands(source: source, entity: mapping.source, names: names, values: values))
        let sql = try translator.sql(computation(in: source.model))
        values = translator.resolver.values
        return sql
    }
}

/// The columns and constants of an expression over one row.
private struct RowOperands: PathResolver {
    let source: StoreLayout
    let entity: String
    let names: [String: String]
    private(set) var values: Parameters

    func column(_ path: ResolvedPath) throws(FerryError) -> String {
        guard path.start == .source, path.hops.isEmpty, case .attribute(_, let property) = path.end,
            let column = source.column(of: property.joined(separator: "."), in: entity)?.name
        else { throw Self.tooMuch }
        return names[column] ?? column
    }

    func elementText() throws(FerryError) -> String { throw Self.tooMuch }

    mutating func parameter(_ bound: BoundComputation) -> String { values.add(.evaluator(bound)) }

    mutating func parameter(_ value: SQLParameter) -> String {
        switch value {
        case .constant(let constant): constant.stored.map { values.add(.stored($0)) } ?? "NULL"
        case .now: values.add(.now)
        }
    }

    private static var tooMuch: FerryError {
        FerryError(.unsupported, "An expression reads more than the object's own attributes.")
    }
}
