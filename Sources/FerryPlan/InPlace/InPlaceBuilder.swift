internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Puts the statements of a step in place into execution order.
struct InPlaceBuilder {
    let step: ResolvedStep
    let source: StoreLayout
    let schema: InPlaceSchema
    let destination: StoreLayout
    /// The part of a copy step that the statements do; nil for a whole step in place.
    let keptPart: KeptPart?
    /// Whether a table may be made anew from an old one; a copy step fills such a table instead.
    private let rebuilds: Bool
    /// What keeps rows or links from staying where they are, table by table; keys in a table that can stay have none.
    private(set) var obstacles: [(place: Place, table: String?, reason: String)] = []
    /// The store's numbers of the entities that the new version lacks.
    let droppedNumbers: [(entity: String, number: Int64)]
    var moves = TableMoves()
    /// In execution order.
    private(set) var statements: [ProgramStatement] = []
    /// What follows when all tables are filled: triggers, and the app's views.
    private var closing: [ProgramStatement] = []
    var operations: [StepOperation] {
        StepOperation.altering(statements, closing: closing, in: keptPart == nil ? .rows : .indexes)
    }

    /// The source roots whose objects come into each destination root.
    private let sources: [String: Set<String>]
    /// The destination root whose table continues each source root's table.
    private let continuations: [String: String]

    /// Updates of the rows of altered tables, by the name of the new table.
    var updates: [String: ProgramStatement] = [:]
    /// The current name of each of the store's tables.
    var current: [String: String] = [:]
    /// Upper-case names in use.
    private var occupied: Set<String>
    private var asides = 0
    /// Names of indexes of the new version that the store already has.
    var keptIndexes: Set<String> = []
    var renamedIndexes: [(from: String, to: IndexDefinition)] = []

    enum Place {
        case rows(ofRoot: String)
        case links(PropertyKey)
    }

    init(
        _ step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        keptPart: KeptPart? = nil, rebuilds: Bool = true
    ) {
        self.step = step
        self.keptPart = keptPart
        self.rebuilds = rebuilds
        self.source = source
        self.schema = schema
        self.destination = destination
        droppedNumbers = step.droppedEntities.compactMap { entity in source.number(of: entity).map { (entity, $0) } }
        occupied = Set(schema.tables.keys)
        var sources: [String: Set<String>] = [:]
        for mapping in step.entityMappings {
            sources[destination.model.root(of: mapping.destination), default: []]
                .insert(source.model.root(of: mapping.source))
        }
        self.sources = sources
        continuations = Self.continuations(sources.compactMapValues(\.first), step, source, destination)
        findMoves()
    }

    /// Throws the first reason why not all tables can stay or be made from others by statements.
    init(
        checking step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        keptPart: KeptPart? = nil
    ) throws(StepObstacle) {
        for mapping in step.entityMappings where !mapping.readsEveryObject || !mapping.unique.isEmpty {
            throw StepObstacle("entity mapping \(mapping.name) chooses, multiplies or merges objects")
        }
        try step.checkThatKeysAreKept()
        self.init(step, source: source, schema: schema, destination: destination, keptPart: keptPart)
        guard sources.values.allSatisfy({ $0.count == 1 }) else {
            throw StepObstacle("two hierarchies are merged into one")
        }
        if let first = obstacles.first { throw StepObstacle(first.reason) }
    }

    mutating func add(
        _ sql: String, values: Parameters = Parameters(), _ reason: String,
        _ form: ProgramStatement.Form = .schema, tables: StatementTables = .schema
    ) {
        add([ProgramStatement(sql, values: values, form, reason: reason, tables: tables)])
    }

    mutating func add(_ added: [ProgramStatement]) { statements += added }

    mutating func close(with added: [ProgramStatement]) { closing += added }

    /// Alters a table; `change` is the part of ALTER TABLE after the table's name.
    mutating func alter(_ table: String, _ change: String, _ reason: String) {
        add("ALTER TABLE \(table) \(change)", reason)
    }

    mutating func build() {
        dropTriggers()
        raiseHighestKeys()
        cutLinks()
        deleteRemovedRows()
        drop(unneededTables)
        moveAside()
        createTables()
        add(
            moves.tables.compactMap { $0.fill(current, in: source) } + moves.joinTables.compactMap { $0.fill(current) })
        drop(rebuiltTables)
        dropIndexes()
        alterTables()
        writeEntityNumbers()
        translateHistory()
        translateMirroring()
        renameIndexes()
        createIndexes()
        close()
    }

    // MARK: Moves

    private mutating func findMoves() {
        let relationships = RelationshipRules(step, source: source, destination: destination)
        let contents = ColumnSlots.Contents(step, destination)
        for table in destination.tablesInOrder {
            do throws(StepObstacle) {
                let slots = try ColumnSlots(relationships, contents, table: table, keptPart: keptPart)
                guard slots.unheld.isEmpty else {
                    obstacles += slots.unheld.inOrder { $0.key < $1.key }.map { (.links($0), nil, $1.reason) }
                    continue
                }
                let move = try move(slots)
                if !rebuilds, case .rebuild(let reason) = move.way { throw StepObstacle(reason) }
                moves.tables.append(move)
            } catch {
                obstacles.append((.rows(ofRoot: table.root), table.name, error.reason))
            }
        }
        for table in destination.joinTables {
            do throws(StepObstacle) {
                let move = try JoinMove(table, relationships, keys: schema.joinKeys)
                if !rebuilds, case .rebuild = move.way { throw StepObstacle("columns change") }
                moves.joinTables.append(move)
            } catch {
                obstacles.append((.links(table.relationship), table.name, error.reason))
            }
        }
    }

    private func move(_ slots: ColumnSlots) throws(StepObstacle) -> TableMove {
        let root = sources[slots.table.root]?.first
        if let root, continuations[root] ?? slots.table.root != slots.table.root {
            throw StepObstacle("entities leave their hierarchy")
        }
        let old = root.flatMap { source.tables[$0] }
        return TableMove(slots, source: old, mustRebuild: old.flatMap { uniqueClause(in: $0, for: slots.table) })
    }

    private static func continuations(
        _ sources: [String: String], _ step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [String: String] {
        var found: [String: String] = [:]
        for (root, old) in sources.inOrder(by: { $0.key < $1.key }) {
            let name = source.tables[old]?.name.uppercased()
            let isSame = { (root: String?) in root.flatMap { destination.tables[$0]?.name.uppercased() } == name }
            let holdsRoot = step.entityMappings(of: old).contains {
                destination.model.root(of: $0.destination) == root
            }
            if isSame(root) || found[old] == nil || (holdsRoot && !isSame(found[old])) { found[old] = root }
        }
        return found
    }

    /// Old stores declare uniqueness in the table itself; the table is made anew if anything in it changes.
    private func uniqueClause(in table: EntityTable, for new: EntityTable) -> String? {
        let states = schema.tables[table.name.uppercased()]?.uppercased().contains(" UNIQUE") ?? false
        let isWanted = !new.uniqueLists.isEmpty
        guard states || isWanted else { return nil }
        if isWanted != states, destination.model.knownSchema != nil {
            return "the template store \(isWanted ? "declares" : "does not declare") uniqueness in the table"
        }
        let family = source.model.family(of: table.root)
        let isSame = family.allSatisfy { entity in
            let mapping = step.entityMappings(of: entity).first
            return source.model.entities[entity]?.isAbstract == true
                || mapping.map { step.source.hashes[entity] == step.destination.hashes[$0.destination] } == true
        }
        return isSame ? nil : "the old table declares uniqueness"
    }

    // MARK: Triggers, links and removed rows

    private mutating func dropTriggers() {
        // Triggers first: dropping a view drops its triggers.
        for trigger in schema.appTriggers {
            add("DROP TRIGGER \(quoted(trigger.name))", "triggers of the app, recreated at the end")
        }
        for view in schema.views { add("DROP VIEW \(quoted(view.name))", "views of the app, recreated at the end") }
        for name in schema.triggers {
            add("DROP TRIGGER \(quoted(name))", "triggers that would run on rows that Ferry writes")
        }
    }

    /// Raises `Z_MAX` to the highest key in use, so that no key is given twice.
    private mutating func raiseHighestKeys() {
        for root in Set(moves.tables.compactMap(\.source?.root)).sorted() {
            guard let table = source.tables[root]?.name, let number = source.number(of: root) else { continue }
            add(
                "UPDATE Z_PRIMARYKEY SET Z_MAX = max(ifnull(Z_MAX, 0), ifnull((SELECT max(Z_PK) FROM \(table)), 0)) "
                    + "WHERE Z_ENT = \(number)", "highest keys in use")
        }
    }

    private mutating func cutLinks() {
        let all =
            moves.tables.map { ($0.destination.name, $0.cuts) }
            + moves.joinTables.map { ($0.destination.name, $0.cuts) }
        for (name, cuts) in all where !cuts.isEmpty {
            add(cuts)
            moves.touched.insert(name)
        }
    }

    private mutating func deleteRemovedRows() {
        for move in moves.tables where move.kept != nil {
            guard let table = move.source else { continue }
            let entities = Set(source.entities(inTableOf: table.root))
            let removed = droppedNumbers.filter {
                entities.contains($0.entity) && source.model.entities[$0.entity]?.isAbstract == false
            }
            guard !removed.isEmpty else { continue }
            let numbers = removed.map(\.number).sorted()
            add(
                "DELETE FROM \(table.name) WHERE \(numbers.rowCondition())",
                "their entities are not in the new version", .once, tables: .rows(table.name, from: table.name))
            moves.touched.insert(move.destination.name)
        }
    }

    // MARK: Names of tables

    /// Frees the names that new tables need, then renames altered tables.
    private mutating func moveAside() {
        let tables = moves.tables.map(\.destination.name) + moves.joinTables.map(\.destination.name)
        let wanted = Set(tables.map { $0.uppercased() })
        let renamed = moves.kept.map { (from: $0.name, to: $0.newName) }.filter { $0.from != $0.to }
        let dropsLeftovers = keptPart?.isEmpty == true
        for table in schema.leftoverTables.sorted() where dropsLeftovers || wanted.contains(table.uppercased()) {
            add("DROP TABLE \(quoted(table))", "leftovers of an earlier version")
            occupied.remove(table.uppercased())
        }
        for table in rebuiltTables where wanted.contains(table.uppercased()) { setAside(table) }
        let taken = occupied
        func waits(_ table: (from: String, to: String)) -> Bool {
            taken.contains(table.to.uppercased()) && table.to.uppercased() != table.from.uppercased()
        }
        for table in renamed where waits(table) { setAside(table.from) }
        // The others free the names for which these wait.
        for (from, to) in renamed.filter({ !waits($0) }) + renamed.filter(waits) {
            rename(from, to: to, "tables with another name or number")
        }
    }

    private mutating func setAside(_ table: String) { rename(table, to: freeName(), "tables whose names others take") }

    mutating func freeName() -> String {
        repeat { asides += 1 } while schema.tables["FERRY_\(asides)"] != nil
        return "ferry_\(asides)"
    }

    private mutating func rename(_ table: String, to name: String, _ reason: String) {
        let now = current[table] ?? table
        alter(now, "RENAME TO \(name)", reason)
        occupied.remove(now.uppercased())
        occupied.insert(name.uppercased())
        current[table] = name
    }

    // MARK: Rows

    private mutating func createTables() {
        let tables = moves.tables.filter { $0.kept == nil }.map(\.destination)
        let joins = moves.joinTables.filter { $0.kept == nil }.map(\.destination)
        for (name, sql, reason) in tables.map({ ($0.name, $0.sql, "table of \($0.root)") })
            + joins.map({ ($0.name, $0.sql, "links of \($0.relationship.title)") })
        {
            add(sql, reason)
            moves.touched.insert(name)
        }
    }

    private mutating func drop(_ tables: [String]) {
        for table in tables {
            let name = current[table] ?? table
            moves.dropped.insert(name)
            add("DROP TABLE \(name)", "tables that the new version lacks or that were copied", tables: .drop(name))
            occupied.remove(name.uppercased())
        }
    }

    /// Tables from which others are made.
    private var rebuiltTables: [String] {
        moves.tables.filter { $0.kept == nil }.compactMap(\.source?.name)
            + moves.joinTables.filter { $0.kept == nil }.compactMap(\.origin)
    }

    private var unneededTables: [String] {
        let needed = Set(moves.kept.map(\.name) + rebuiltTables)
        return (source.tablesInOrder.map(\.name) + source.joinTables.map(\.name)).filter { !needed.contains($0) }
    }

    func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
