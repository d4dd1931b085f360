internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The expected columns of the rows that one entity mapping makes, without relationships.
final class ExpectedRow {
    indirect enum Cell {
        /// The source row's column, unchanged.
        case copy(Int)
        /// The source row's column, unchanged; a constant if the column is NULL.
        case copyUnlessNull(Int, PlainValue)
        /// The raw value of an attribute at the end of a path of to-one relationships; in the other form if only one of the
        /// two attributes allows external storage.
        case carry(Expression, attribute: String, toExternal: Bool? = nil)
        /// One of two cells by a condition, if one is an attribute with external storage, which is not decoded.
        case choose(Predicate, Cell, Cell)
        case compute(Expression, AttributeType)
        case constant(PlainValue)
        /// A column of a relationship, or one that only the store or a policy can fill.
        case notCompared
    }

    let mapping: ResolvedEntityMapping
    let position: Int
    /// The search for an object before one is made; nil if the mapping has no `unique`.
    let search: UniqueSearch?
    var isLookedUp = false
    /// Whether the source object of each object must be recorded.
    var isAssociated = false
    /// The links of new objects to what became of their source objects.
    var links: [MadeLinksSum] = []
    /// Whether no other row and no filter decides on the object or its cells.
    var isPlain = false
    let entityNumber: Int64
    /// The cells, in the order of the destination table's columns.
    let cells: [Cell]
    let columns: [Column]
    private let affinities: [ColumnAffinity]
    private let conversion: ColumnConversion
    /// The number of cells that cannot be computed again: they depend on a policy, or on the time of the run.
    let notRecomputed: Int64
    /// Destination attribute to its place in ``cells``.
    private let places: [String: Int]
    /// The cells of the attributes of `unique`; nil for one that is not stored.
    private let uniqueCells: [Int?]
    /// The values of `unique` that were sought last.
    private var sought: [PlainValue] = []
    /// Whether a policy makes the objects.
    let hasPolicy: Bool
    let filter: RowFilter?

    /// The first column of a table in a row that is read, after `Z_PK`, `Z_ENT` and `Z_OPT`.
    static let firstColumn = 3
    /// The cells that are copied, as columns of the two rows.
    let copies: [ColumnPair]
    /// The columns of the rows that must be NULL: those of other entities, often most of a table.
    let nulls: [Int32]
    let constants: [(place: Int, value: PlainValue)]
    /// Cells computed from the source's row alone.
    let ownComputed: [OwnCell]

    struct OwnCell {
        let place: Int
        let expression: RowExpression
        let type: AttributeType
        let affinity: ColumnAffinity
    }
    /// Whether cells other than ``computed`` take something from the source's row.
    let takesFromRow: Bool
    /// The places of cells that need an evaluator or another row, but those of `unique`.
    let computed: [Int]
    /// Those of `unique`, with their places among its attributes: they were computed for the search.
    private let computedForSearch: [(place: Int, value: Int)]

    private let evaluator: PlainEvaluator
    private let objects: SourceObjects

    init(
        _ mapping: ResolvedEntityMapping, rows: MappedSourceRows, by evaluator: PlainEvaluator,
        _ objects: SourceObjects,
        in context: VerificationContext
    ) throws {
        (self.mapping, self.evaluator, self.objects) = (mapping, evaluator, objects)
        (position, search) = (mapping.position, mapping.unique.isEmpty ? nil : UniqueSearch(mapping))
        entityNumber = try context.destinationNumber(of: mapping.destination)
        let table = try context.destinationTable(of: mapping.destination)
        columns = table.columns
        affinities = columns.map { ColumnAffinity(declaredType: $0.type) }
        conversion = context.conversion
        let byName = Dictionary(columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        // Columns of other entities in the same table are NULL.
        var cells = [Cell](repeating: .constant(.null), count: columns.count)
        var places: [String: Int] = [:]
        var notRecomputed: Int64 = 0
        for attribute in context.destinationModel.leaves(of: mapping.destination) where !attribute.isTransient {
            guard let column = context.destination.column(of: attribute.name, in: mapping.destination),
                let place = byName[column.name]
            else { continue }
            places[attribute.name] = place
            if context.destinationModel.isComputedByStore(attribute, of: mapping.destination) {
                // DerivedAttributesCheck computes the value.
                cells[place] = .notCompared
            } else if mapping.policy != nil,
                context.verification.policies.isTouched(attribute.name, of: mapping.destination)
                    || mapping.attributes.first(where: { $0.name == attribute.name })?.expression?
                        .contains(where: { $0 == .variable("entityPolicy") }) == true
            {
                cells[place] = .notCompared
                notRecomputed += 1
            } else if let rule = mapping.attributes.first(where: { $0.name == attribute.name }) {
                // A value that only Core Data derives must be the source's; whether it is right is not known.
                if context.destinationModel.isCarriedAsFound(attribute, of: mapping.destination) { notRecomputed += 1 }
                if context.verification.now == nil, rule.expression?.dependsOnTime == true {
                    cells[place] = .notCompared
                    notRecomputed += 1
                    continue
                }
                cells[place] = try ExpectedRow.cell(
                    attribute, rule.expression, mapping, column, rows, context,
                    defaultValue: rule.defaultValue(of: attribute))
            }
        }
        for relationship in context.destinationModel.relationships(of: mapping.destination) {
            guard let storage = context.destination.storage(of: relationship.name, in: mapping.destination),
                case .foreignKey = storage
            else { continue }
            for place in storage.columnNames.compactMap({ byName[$0] }) { cells[place] = .notCompared }
        }
        for (owner, column) in context.inverseless where owner == table.name {
            if let place = byName[column] { cells[place] = .notCompared }
        }
        for kept in ExpectedRow.relativesColumns(of: mapping, in: context) {
            if let place = byName[kept.column], case .constant(.null) = cells[place] {
                cells[place] = .copy(rows.place(ofColumn: kept.source))
            }
        }
        self.cells = cells
        self.places = places
        uniqueCells = mapping.unique.map { places[$0] }
        hasPolicy = mapping.policy != nil
        filter = RowFilter(mapping, of: rows, by: evaluator, in: context)
        self.notRecomputed = notRecomputed
        var copies: [ColumnPair] = []
        var nulls: [Int32] = []
        var constants: [(Int, PlainValue)] = []
        var ownComputed: [OwnCell] = []
        var computed: [Int] = []
        for (place, cell) in cells.enumerated() {
            switch cell {
            case .copy(let column): copies.append(ColumnPair(place + Self.firstColumn, column))
            case .constant(.null): nulls.append(Int32(place + Self.firstColumn))
            case .constant(let value): constants.append((place, value))
            case .compute(let expression, let type):
                if let own = RowExpression.make(expression, of: mapping, rows: rows, in: context) {
                    ownComputed.append(
                        OwnCell(place: place, expression: own, type: type, affinity: affinities[place]))
                } else {
                    computed.append(place)
                }
            case .carry(.keyPath(let base, let steps), let attribute, nil):
                if let (column, _) = rows.column(
                    along: .keyPath(base, steps + [.key(attribute)]), of: mapping.source)
                {
                    copies.append(ColumnPair(place + Self.firstColumn, column))
                } else {
                    computed.append(place)
                }
            case .copyUnlessNull, .carry, .choose: computed.append(place)
            case .notCompared: break
            }
        }
        (self.copies, self.nulls, self.constants) = (copies, nulls, constants)
        let forSearch = uniqueCells.enumerated().compactMap { value, place in
            place.flatMap { computed.contains($0) ? (place: $0, value: value) : nil }
        }
        (self.ownComputed, computedForSearch) = (ownComputed, forSearch)
        self.computed = computed.filter { place in !forSearch.contains { $0.place == place } }
        takesFromRow = !copies.isEmpty || !ownComputed.isEmpty
    }

    private static func cell(
        _ attribute: Attribute, _ expression: Expression?, _ mapping: ResolvedEntityMapping, _ column: Column,
        _ rows: MappedSourceRows, _ context: VerificationContext, defaultValue: DefaultValue?
    ) throws -> Cell {
        func constant(_ value: PlainValue) throws -> Cell {
            .constant(try context.conversion.stored(value, by: ColumnAffinity(declaredType: column.type)))
        }
        guard let expression else {
            let value = value(of: defaultValue)
            if attribute.allowsExternalStorage, case .blob(let bytes) = value {
                return try constant(.blob([1] + bytes))
            }
            return try constant(value)
        }
        if let source = SourceAttribute(expression, mapping, context.sourceModel) {
            let (old, new) = (source.attribute.allowsExternalStorage, attribute.allowsExternalStorage)
            if old != new { return .carry(source.object, attribute: source.attribute.name, toExternal: new) }
            if source.attribute.type == attribute.type {
                let place = source.isOwn ? rows.column(of: source.attribute.name, in: mapping.source) : nil
                return place.map { .copy($0) } ?? .carry(source.object, attribute: source.attribute.name)
            }
        }
        if case .constant(let value) = expression {
            return try constant(PlainConversion.stored(PlainEvaluator.value(ofConstant: value), as: attribute.type))
        }
        if case .ifNil(let value, let other) = expression,
            case .copy(let place) = try cell(attribute, value, mapping, column, rows, context, defaultValue: nil),
            case .constant(let substitute) = try cell(
                attribute, other, mapping, column, rows, context, defaultValue: nil)
        {
            return .copyUnlessNull(place, substitute)
        }
        if let (condition, first, second) = choice(expression),
            [first, second].contains(where: { isKeptAsFound($0, mapping, context.sourceModel) })
        {
            return .choose(
                condition, try cell(attribute, first, mapping, column, rows, context, defaultValue: nil),
                try cell(attribute, second, mapping, column, rows, context, defaultValue: nil))
        }
        return .compute(expression, attribute.type)
    }

    /// The two values of which an expression takes one, with the condition of the first one.
    private static func choice(_ expression: Expression) -> (condition: Predicate, Expression, Expression)? {
        switch expression {
        case .ternary(let condition, let first, let second): return (condition, first, second)
        case .ifNil(let value, let substitute):
            let isNotNil = Predicate.Comparison(left: value, comparator: .notEqual, right: .constant(.null))
            return (.comparison(isNotNil), value, substitute)
        default: return nil
        }
    }

    /// Whether a conversion would change a value that the run takes as it is: one in a file, or a Boolean beside 0 and 1.
    private static func isKeptAsFound(
        _ expression: Expression, _ mapping: ResolvedEntityMapping, _ model: ManagedObjectModel
    ) -> Bool {
        if let (_, first, second) = choice(expression) {
            return isKeptAsFound(first, mapping, model) || isKeptAsFound(second, mapping, model)
        }
        return SourceAttribute(expression, mapping, model).map {
            $0.attribute.allowsExternalStorage || $0.attribute.type == .boolean
        } == true
    }

    private static func value(of defaultValue: DefaultValue?) -> PlainValue {
        switch defaultValue {
        case nil: .null
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        case .text(let text): .string(text)
        case .blob(let bytes): .blob(bytes)
        }
    }

    /// The columns of other entities' properties that the step has left in the rows of a mapping's objects.
    ///
    /// A step in place leaves their values, as Core Data leaves the default of a subentity's attribute in all rows.
    static func relativesColumns(
        of mapping: ResolvedEntityMapping, in context: VerificationContext
    ) -> [KeptColumn] {
        let root = context.destinationModel.root(of: mapping.destination)
        guard mapping.mayKeepPrimaryKeys, context.verification.keepsTable(of: root) else { return [] }
        return context.keptColumns(of: root).filter { $0.isOnlyOfOthers(than: mapping, in: context) }
    }

    // MARK: Values

    /// The expected value of an attribute, as its column stores it.
    func value(of attribute: String, in scope: PlainScope, _ row: TableRows) throws -> PlainValue {
        guard let place = places[attribute] else { return .null }
        return try value(at: place, in: scope, row) ?? .null
    }

    /// The values of `unique`, as their columns store them.
    func uniqueValues(in scope: PlainScope, _ row: TableRows) throws -> [PlainValue] {
        sought = try uniqueCells.map { place in try place.flatMap { try value(at: $0, in: scope, row) } ?? .null }
        return sought
    }

    func holdsSought(_ found: Statement) -> Bool {
        computedForSearch.allSatisfy { StoredValue.isEqual(found, $0.place + Self.firstColumn, to: sought[$0.value]) }
    }

    /// The location of a cell's value, if it is a stored value too large to be read with its row.
    func largeContent(at place: Int, in scope: PlainScope, _ row: TableRows) throws -> LargeContent? {
        switch try chosen(cells[place], in: scope) {
        case .copy(let column), .copyUnlessNull(let column, _): return row.content(column)
        case .carry(let path, let attribute, let toExternal):
            guard case .object(let object) = try evaluator.value(of: path, in: scope),
                var content = try objects.largeContent(of: attribute, in: object)
            else { return nil }
            if let toExternal { (content.prefix, content.skipped) = toExternal ? ([1], 0) : ([], 1) }
            return content
        case .choose, .compute, .constant, .notCompared: return nil
        }
    }

    private func chosen(_ cell: Cell, in scope: PlainScope) throws -> Cell {
        guard case .choose(let condition, let first, let second) = cell else { return cell }
        return try chosen(evaluator.holds(condition, in: scope) ? first : second, in: scope)
    }

    /// The value of a cell, or nil if it is not compared.
    func value(at place: Int, in scope: PlainScope, _ row: TableRows) throws -> PlainValue? {
        switch try chosen(cells[place], in: scope) {
        case .choose: preconditionFailure("One was chosen.")
        case .copy(let column): return try stored(try row.raw(column), at: place)
        case .copyUnlessNull(let column, let substitute):
            let raw = try row.raw(column)
            return raw.isNull ? substitute : try stored(raw, at: place)
        case .carry(let path, let attribute, let toExternal):
            guard case .object(let object) = try evaluator.value(of: path, in: scope) else { return .null }
            let raw = try objects.rawValue(of: attribute, in: object)
            guard let toExternal else { return try stored(raw, at: place) }
            guard case .blob(let bytes) = raw else { return raw }
            if toExternal { return .blob([1] + bytes) }
            return try objects.contents(ofExternal: bytes).map { .blob($0) } ?? .null
        case .compute(let expression, let type):
            let value = try evaluator.value(of: expression, in: scope)
            return try stored(try PlainConversion.stored(value, as: type), at: place)
        case .constant(let value): return value
        case .notCompared: return nil
        }
    }

    func holdsOwnComputed(_ found: Statement, for source: Statement) throws -> Bool {
        for cell in ownComputed {
            let value = try PlainConversion.stored(cell.expression.value(source), as: cell.type)
            let stored = try conversion.stored(value, by: cell.affinity)
            guard StoredValue.isEqual(found, cell.place + Self.firstColumn, to: stored) else { return false }
        }
        return true
    }

    private func stored(_ value: PlainValue, at place: Int) throws -> PlainValue {
        try conversion.stored(value, by: affinities[place])
    }
}
