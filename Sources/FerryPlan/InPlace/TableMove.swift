internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// How the rows of one destination table come to be.
struct TableMove {
    enum Way {
        /// The source's table itself, with columns renamed and added.
        case alter(Alteration)
        /// A new table that takes rows of the source's one, which goes when all is done; why.
        case rebuild(String)
        /// A new table beside the source's one, which another table continues.
        case split
        /// A new table without rows.
        case create
    }

    struct Alteration {
        var renames: [(from: String, to: String)] = []
        var additions: [Column] = []
        /// Destination column to the source column that becomes it.
        var carriers: [String: String] = [:]
    }

    let source: EntityTable?
    let slots: ColumnSlots
    let way: Way
    var destination: EntityTable { slots.table }
    private var sourceLayout: StoreLayout { slots.source }
    /// Source entity to the columns that can hold something in its rows; of one entity alone it is not asked.
    private let columnsOfRows: [String: Set<String>]

    init(_ slots: ColumnSlots, source: EntityTable?, isHeir: Bool, mustRebuild: String?) {
        self.source = source
        self.slots = slots
        let entities = slots.mappings.count > 1 ? Set(slots.mappings.map(\.source)) : []
        columnsOfRows = Dictionary(
            entities.map { ($0, Self.columns(ofRowsOf: $0, in: slots.source)) }, uniquingKeysWith: { first, _ in first }
        )
        guard let source else {
            way = .create
            return
        }
        if !isHeir {
            way = .split
        } else if let mustRebuild {
            way = .rebuild(mustRebuild)
        } else {
            way = Self.alteration(of: source, to: slots, in: slots.source)
        }
    }

    // MARK: Carriers

    /// Which source column becomes which destination column; a rebuild when one is left over.
    private static func alteration(of source: EntityTable, to slots: ColumnSlots, in layout: StoreLayout) -> Way {
        let declared = Dictionary(
            source.columns.map { ($0.name, $0.type.uppercased()) }, uniquingKeysWith: { first, _ in first })
        var alteration = Alteration()
        var taken: Set<String> = []
        let ordered = slots.inOrder
        for keepsName in [true, false] {
            for slot in ordered where alteration.carriers[slot.column.name] == nil {
                let candidates = slots.mappings.compactMap { slot.values[$0.position]?.base }
                let carrier = candidates.first {
                    !taken.contains($0) && declared[$0] == slot.column.type.uppercased()
                        && (!keepsName || $0 == slot.column.name)
                }
                guard let carrier else { continue }
                alteration.carriers[slot.column.name] = carrier
                taken.insert(carrier)
            }
        }
        let known = layout.knownColumns(of: source)
        if let lost = source.columns.first(where: { known.contains($0.name) && !taken.contains($0.name) }) {
            return .rebuild("column \(lost.name) is dropped or changes its type")
        }
        let dead = Set(source.columns.filter { !known.contains($0.name) }.map { $0.name.uppercased() })
        for slot in ordered {
            let name = slot.column.name
            if dead.contains(name.uppercased()) { return .rebuild("a dead column stands in the way of \(name)") }
            if let carrier = alteration.carriers[name] {
                if carrier != name { alteration.renames.append((carrier, name)) }
            } else {
                alteration.additions.append(slot.column)
            }
        }
        return .alter(alteration)
    }

    /// The columns that can hold something in the rows of an entity.
    private static func columns(ofRowsOf entity: String, in sourceLayout: StoreLayout) -> Set<String> {
        let lineage = Set(sourceLayout.model.lineageNames(of: entity))
        var columns: Set<String> = []
        for (key, column) in sourceLayout.attributeColumns where lineage.contains(key.entity) {
            columns.insert(column.name)
        }
        for (key, storage) in sourceLayout.relationshipStorage {
            switch storage {
            case .foreignKey(_, let column, let entityColumn, let orderColumn)
            where lineage.contains(key.entity):
                columns.formUnion([column, entityColumn, orderColumn].compactMap { $0 })
            case .inverseless(_, let column):
                let target = sourceLayout.model.relationship(key.property, of: key.entity)?.destinationEntity ?? ""
                if sourceLayout.model.isKind(entity, of: target) { columns.insert(column) }
            default: break
            }
        }
        return columns
    }

    // MARK: Rows

    var numbers: [NumberPair] {
        slots.mappings.compactMap { mapping in
            guard let old = sourceLayout.number(of: mapping.source),
                let new = slots.destination.number(of: mapping.destination)
            else { return nil }
            return NumberPair(old: old, new: new)
        }
    }

    /// Fills the table from rows that stand under another name.
    func fill(from table: String) throws(InPlaceObstacle) -> InPlaceStatement? {
        let numbers = numbers
        guard !numbers.isEmpty else { return nil }
        var values = InPlaceValues()
        var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
        var selected = ["Z_PK", Self.translation(numbers), "Z_OPT"]
        for slot in slots.inOrder {
            guard let sql = try selection(slot, &values) else { continue }
            columns.append(slot.column.name)
            selected.append(sql)
        }
        let reason: String
        if case .rebuild(let why) = way { reason = why } else { reason = "its entities leave their hierarchy" }
        var statement = InPlaceStatement(
            "INSERT INTO \(destination.name) (\(columns.joined(separator: ", "))) "
                + "SELECT \(selected.joined(separator: ", ")) FROM \(table) WHERE \(numbers.map(\.old).sorted().rowCondition("+"))",
            values: values, writesObjects: true, reason: reason)
        statement.countedEntity = onlyEntity
        return statement
    }

    /// The entity of the table, where it is one and keeps its number.
    private var onlyEntity: String? {
        guard slots.mappings.count == 1, let number = numbers.first, number.old == number.new else { return nil }
        return slots.mappings[0].destination
    }

    private func selection(_ slot: ColumnSlot, _ values: inout InPlaceValues) throws(InPlaceObstacle) -> String? {
        var groups: [(sql: String, numbers: [Int64])] = []
        var isWhole = true
        for mapping in slots.mappings {
            guard let number = sourceLayout.number(of: mapping.source) else { continue }
            guard let value = slot.values[mapping.position] else {
                // A column that is empty in these rows anyway may be taken over with the others.
                let bases = slots.mappings.compactMap { slot.values[$0.position]?.base }
                let own = columnsOfRows[mapping.source, default: []]
                let isPlain = slots.mappings.allSatisfy { slot.values[$0.position].map { $0.column != nil } ?? true }
                if !isPlain || !Set(bases).isDisjoint(with: own) { isWhole = false }
                continue
            }
            Self.add(number, to: &groups, try sql(value, [:], &values))
        }
        guard !groups.isEmpty else { return nil }
        if groups.count == 1, isWhole { return groups[0].sql }
        return "CASE \(Self.cases(groups)) END"
    }

    /// Brings the rows of an altered table to their new values in one pass; nil when they have them.
    func update() throws(InPlaceObstacle) -> (statement: InPlaceStatement, columns: Set<String>)? {
        guard case .alter(let alteration) = way else { return nil }
        let names = Dictionary(
            alteration.carriers.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
        var values = InPlaceValues()
        var assignments: [(column: String, groups: [(sql: String, numbers: [Int64])])] = []
        for slot in slots.inOrder {
            var groups: [(sql: String, numbers: [Int64])] = []
            for mapping in slots.mappings {
                guard let number = sourceLayout.number(of: mapping.source) else { continue }
                let carrier = alteration.carriers[slot.column.name]
                if let value = slot.values[mapping.position] {
                    if let column = value.column, column == carrier { continue }
                    Self.add(number, to: &groups, try sql(value, names, &values))
                } else if let carrier, columnsOfRows[mapping.source, default: []].contains(carrier) {
                    Self.add(number, to: &groups, "NULL")
                }
            }
            if !groups.isEmpty { assignments.append((slot.column.name, groups)) }
        }
        let moved = numbers.filter { $0.old != $0.new }
        if !moved.isEmpty {
            assignments.insert(("Z_ENT", moved.map { ("\($0.new)", [$0.old]) }), at: 0)
        }
        guard !assignments.isEmpty else { return nil }
        let touched = Set(assignments.flatMap { $0.groups.flatMap(\.numbers) }).sorted()
        let sets = assignments.map { assignment in
            let groups = assignment.groups
            let isWhole = groups.count == 1 && Set(groups[0].numbers) == Set(touched)
            let value = isWhole ? groups[0].sql : "CASE \(Self.cases(groups)) ELSE \(assignment.column) END"
            return "\(assignment.column) = \(value)"
        }
        let columns = Set(assignments.map(\.column))
        var statement = InPlaceStatement(
            "UPDATE \(destination.name) SET \(sets.joined(separator: ", ")) WHERE \(touched.rowCondition("+"))",
            values: values, writesObjects: true, reason: "new values in \(columns.sorted().joined(separator: ", "))")
        // With one entity nothing is assigned that is not assigned to all of its rows.
        statement.countedEntity = onlyEntity
        return (statement, columns)
    }

    private func sql(
        _ value: SlotValue, _ names: [String: String], _ values: inout InPlaceValues
    ) throws(InPlaceObstacle) -> String {
        do throws(FerryError) {
            return try value.sql(names: names, sourceLayout, &values)
        } catch {
            throw .needsCopy(error.message)
        }
    }

    private static func add(_ number: Int64, to groups: inout [(sql: String, numbers: [Int64])], _ sql: String) {
        if let index = groups.firstIndex(where: { $0.sql == sql }) {
            groups[index].numbers.append(number)
        } else {
            groups.append((sql, [number]))
        }
    }

    private static func cases(_ groups: [(sql: String, numbers: [Int64])]) -> String {
        groups.map { "WHEN \($0.numbers.sorted().rowCondition()) THEN \($0.sql)" }.joined(separator: " ")
    }

    static func translation(_ numbers: [NumberPair]) -> String {
        guard numbers.contains(where: { $0.old != $0.new }) else { return "Z_ENT" }
        return "CASE Z_ENT \(numbers.map { "WHEN \($0.old) THEN \($0.new)" }.joined(separator: " ")) END"
    }
}
