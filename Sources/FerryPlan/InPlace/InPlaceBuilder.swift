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

    init(
        _ step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        keptPart: KeptPart? = nil
    ) {
        self.step = step
        self.keptPart = keptPart
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
    }

    mutating func add(
        _ sql: String, values: Parameters = Parameters(), _ reason: String,
        _ form: ProgramStatement.Form = .schema, alteration: ProgramStatement.Alteration? = nil,
        tables: StatementTables = .schema
    ) {
        add([ProgramStatement(sql, values: values, form, reason: reason, alteration: alteration, tables: tables)])
    }

    mutating func add(_ added: [ProgramStatement]) { statements += added }

    mutating func close(with added: [ProgramStatement]) { closing += added }

    /// Alters a table; `change` is the part of ALTER TABLE after the table's name.
    mutating func alter(_ table: String, _ change: String, newName: String? = nil, _ reason: String) {
        add(
            "ALTER TABLE \(table) \(change)", reason, alteration: .init(table: table, newName: newName ?? table))
    }

    mutating func build() throws(StepObstacle) {
        try findMoves()
        dropTriggers()
        raiseHighestKeys()
        cutLinks()
        deleteRemovedRows()
        moveAside()
        createTables()
        fillTables()
        dropTables()
        dropIndexes()
        alterTables()
        addWriting(moves.tables.map { ($0.destination.name, $0.numberings) })
        addWriting(moves.joinTables.map { ($0.destination.name, $0.numberings) })
        mirrorKeys()
        writeEntityNumbers()
        translateHistory()
        translateMirroring()
        completeEntityColumns()
        renameIndexes()
        createIndexes()
        close()
    }

    // MARK: Moves

    private mutating func findMoves() throws(StepObstacle) {
        guard sources.values.allSatisfy({ $0.count == 1 }) else {
            throw StepObstacle("two hierarchies are merged into one")
        }
        let relationships = RelationshipRules(step, source: source, destination: destination)
        let contents = ColumnSlots.Contents(step, destination)
        for table in destination.tablesInOrder { moves.tables.append(try move(of: table, relationships, contents)) }
        for table in destination.joinTables {
            moves.joinTables.append(
                try JoinMove(table, relationships, keys: schema.joinKeys))
        }
    }

    func move(
        of table: EntityTable, _ relationships: RelationshipRules, _ contents: ColumnSlots.Contents
    ) throws(StepObstacle) -> TableMove {
        let root = sources[table.root]?.first
        let old = root.flatMap { source.tables[$0] }
        return TableMove(
            try ColumnSlots(relationships, contents, table: table, keptPart: keptPart), source: old,
            continuesSource: root.map { continuations[$0] ?? table.root } == table.root,
            mustRebuild: old.flatMap { uniqueClause(in: $0, for: table) })
    }

    private static func continuations(
        _ sources: [String: String], _ step: ResolvedStep, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [String: String] {
        var found: [String: String] = [:]
        for (root, old) in sources.inOrder(by: { $0.key < $1.key }) {
            let name = source.tables[old]?.name.uppercased()
            let isSame = { (root: String?) in root.flatMap { destination.tables[$0]?.name.uppercased() } == name }
            let holdsRoot = step.entityMappings.contains {
                $0.source == old && destination.model.root(of: $0.destination) == root
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
            let mapping = step.entityMappings.first { $0.source == entity }
            return source.model.entities[entity]?.isAbstract == true
                || mapping.map { step.source.hashes[entity] == step.destination.hashes[$0.destination] } == true
        }
        return isSame ? nil : "the old table declares uniqueness"
    }

    // MARK: Triggers, links and removed rows

    private mutating func dropTriggers() {
        // Triggers first: dropping a view drops its triggers.
        for trigger in schema.appTriggers { add("DROP TRIGGER \(quoted(trigger.name))", "recreated at the end") }
        for view in schema.views { add("DROP VIEW \(quoted(view.name))", "recreated at the end") }
        for name in schema.triggers {
            add("DROP TRIGGER \(quoted(name))", "it would run on rows that Ferry writes")
        }
    }

    private mutating func raiseHighestKeys() {
        for root in Set(moves.tables.compactMap(\.source?.root)).sorted() {
            source.raisedHighestKey(ofRoot: root).map { add($0, "highest keys in use") }
        }
    }

    private mutating func cutLinks() {
        for move in moves.tables where !move.cuts.isEmpty {
            add(move.cuts)
            move.source.map { touchContinuations(of: $0.name) }
        }
        addWriting(moves.joinTables.map { ($0.destination.name, $0.cuts) })
    }

    /// Adds statements that write rows of tables of the new version.
    private mutating func addWriting(_ found: [(table: String, statements: [ProgramStatement])]) {
        for (table, statements) in found where !statements.isEmpty {
            add(statements)
            moves.touched.insert(table)
        }
    }

    private mutating func touchContinuations(of table: String) {
        for move in moves.tables where move.source?.name == table { moves.touched.insert(move.destination.name) }
    }

    private mutating func deleteRemovedRows() {
        for move in moves.tables where move.kept != nil {
            guard let table = move.source else { continue }
            let entities = Set(source.entities(inTableOf: table.root))
            let removed = droppedNumbers.filter {
                entities.contains($0.entity) && source.model.entities[$0.entity]?.isAbstract == false
            }
            delete(removed.map(\.number), from: table, "their entities are not in the new version")
        }
    }

    private mutating func delete(_ numbers: [Int64], from table: EntityTable, _ reason: String) {
        guard !numbers.isEmpty else { return }
        add(
            "DELETE FROM \(current[table.name] ?? table.name) WHERE \(numbers.sorted().rowCondition())", reason,
            .once, tables: .delete(from: current[table.name] ?? table.name, rowsOf: numbers))
        touchContinuations(of: table.name)
    }

    // MARK: Names of tables

    /// Frees the names that new tables need, then renames altered tables.
    private mutating func moveAside() {
        let tables = moves.tables.map(\.destination.name) + moves.joinTables.map(\.destination.name)
        let wanted = Set(tables.map { $0.uppercased() })
        let renamed = moves.kept.map { (from: $0.name, to: $0.newName) }.filter { $0.from != $0.to }
        for table in schema.leftoverTables.sorted() where wanted.contains(table.uppercased()) {
            add("DROP TABLE \(quoted(table))", "a leftover of an earlier version is in the way")
            occupied.remove(table.uppercased())
        }
        for table in droppedTables.sorted() where wanted.contains(table.uppercased()) { setAside(table) }
        let taken = occupied
        func waits(_ table: (from: String, to: String)) -> Bool {
            taken.contains(table.to.uppercased()) && table.to.uppercased() != table.from.uppercased()
        }
        for table in renamed where waits(table) { setAside(table.from) }
        // The others free the names for which these wait.
        for (from, to) in renamed.filter({ !waits($0) }) + renamed.filter(waits) {
            rename(from, to: to, "the entity or relationship has another name or number")
        }
    }

    private mutating func setAside(_ table: String) { rename(table, to: freeName(), "another table takes its name") }

    mutating func freeName() -> String {
        repeat { asides += 1 } while schema.tables["FERRY_\(asides)"] != nil
        return "ferry_\(asides)"
    }

    private mutating func rename(_ table: String, to name: String, _ reason: String) {
        let now = current[table] ?? table
        alter(now, "RENAME TO \(name)", newName: name, reason)
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

    private mutating func fillTables() {
        add(moves.tables.compactMap { $0.fill(current) } + moves.joinTables.flatMap { $0.fills(current) })
        // Rows that a split table has copied are deleted from their old table.
        for move in moves.tables where move.way == .split {
            guard let old = move.source else { continue }
            delete(move.rows.map(\.numbers.old), from: old, "their entities have a table of their own now")
        }
    }

    private mutating func dropTables() {
        for table in droppedTables {
            add(
                "DROP TABLE \(current[table] ?? table)", "the new version does not need it, or all of it was copied",
                tables: .drop(current[table] ?? table))
        }
    }

    private var droppedTables: [String] {
        let kept = Set(moves.kept.map(\.name))
        return (source.tablesInOrder.map(\.name) + source.joinTables.map(\.name)).filter { !kept.contains($0) }
    }

    func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
