internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What must hold in a store that was migrated in place before that is committed.
///
/// The rows of tables that no statement wrote are not read: renaming takes as long in a large store as in a small one.
struct InPlaceChecks {
    let step: StepPlan
    let source: StoreLayout
    let destination: StoreLayout
    let plan: InPlacePlan
    let connection: Connection
    /// What was wrong with the store before; nil where the scan was left out.
    let damage: [StoreDamage]?

    /// What is known of the old version.
    struct Before {
        /// Rows of exactly each source entity.
        var rows: [String: Int64]
        var metadata: StoreMetadata
        var highestKeys: [Int64: Int64]
        /// Rows of no known entity, by table.
        var ofUnknownEntities: [String: Int64]
        /// What of the app's is named as Ferry's own tables are.
        var namedAsOurs: Set<String>
        /// Links of join tables that lead to objects of other entities than are declared.
        var wrongLinks: Int64
    }

    // MARK: Before

    func before() throws -> Before {
        // What was counted by others is not counted again, but for what they say is there beside it. Where no row is
        // written, none is counted.
        let isCounted = (step.sourceRows != nil && !mayHave(.unknownEntity)) || isEstimated
        let counted =
            isCounted ? (known: estimatedRows, ofUnknownEntities: [:]) : try Self.rows(of: source, on: connection)
        let writesLinks = destination.joinTables.contains { plan.touched.contains($0.name) }
        return Before(
            rows: step.sourceRows ?? counted.known, metadata: try StoreMetadata.read(from: connection),
            highestKeys: try highestKeys(), ofUnknownEntities: counted.ofUnknownEntities,
            namedAsOurs: try namedAsOurs(),
            wrongLinks: writesLinks && mayHave(.danglingKey) ? try wrongLinks(of: source, tables: nil).rows : 0)
    }

    /// Whether the numbers of rows are those of the plan, which were not counted.
    private var isEstimated: Bool { plan.touched.isEmpty && step.sourceRows == nil }

    private var estimatedRows: [String: Int64] {
        let mappings = step.partitions.flatMap(\.entityMappings)
        return Dictionary(mappings.map { ($0.mapping.source, $0.rows) }, uniquingKeysWith: { first, _ in first })
    }

    private func mayHave(_ kind: StoreDamage.Kind) -> Bool { damage?.contains { $0.kind == kind } ?? true }

    /// Rows of exactly each entity, and those of none, by table; in all tables or in some.
    static func rows(
        of layout: StoreLayout, in tables: Set<String>? = nil, on connection: Connection
    ) throws -> (known: [String: Int64], ofUnknownEntities: [String: Int64]) {
        var rows: [String: Int64] = [:]
        var ofUnknownEntities: [String: Int64] = [:]
        for table in layout.tablesInOrder where tables?.contains(table.name) ?? true {
            var byNumber: [Int64: Int64] = [:]
            let counts = try connection.rows(
                "SELECT Z_ENT, count(*) FROM \(Connection.quoted(table.name)) GROUP BY Z_ENT")
            for row in counts { byNumber[row[0].integer ?? 0] = row[1].integer ?? 0 }
            for entity in layout.entities(inTableOf: table.root) {
                rows[entity] = layout.number(of: entity).flatMap { byNumber.removeValue(forKey: $0) } ?? 0
            }
            if !byNumber.isEmpty { ofUnknownEntities[table.name] = byNumber.values.reduce(0, +) }
        }
        return (rows, ofUnknownEntities)
    }

    private func namedAsOurs() throws -> Set<String> {
        let names = try connection.rows("SELECT name FROM sqlite_master WHERE name LIKE 'ferry\\_%' ESCAPE '\\'")
        return Set(names.compactMap { $0[0].text })
    }

    private func highestKeys() throws -> [Int64: Int64] {
        let rows = try connection.rows("SELECT Z_ENT, Z_MAX FROM Z_PRIMARYKEY")
        return Dictionary(
            rows.map { ($0[0].integer ?? 0, $0[1].integer ?? 0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Objects of entities that the new version does not have.
    func unmapped(_ before: Before) -> [(entity: String, rows: Int64)] {
        let mapped = Set(step.resolved.entityMappings.map(\.source))
        return source.model.sortedEntityNames.filter { !mapped.contains($0) }
            .map { ($0, before.rows[$0] ?? 0) }.filter { $0.1 > 0 }
    }

    // MARK: After

    /// Looks at everything.
    ///
    /// - Parameters:
    ///   - before: The old version.
    ///   - written: Rows of entities that one statement has written, and that are alone in their tables.
    /// - Returns: The counts of the mappings.
    /// - Throws: ``FerryError`` `.verificationFailed` for the first difference.
    func after(_ before: Before, written: [String: Int64]) throws -> [EntityMappingCounts] {
        try checkSchema(before)
        try checkNumbers(before)
        try checkMetadata(before)
        // What SQLite has counted while it wrote is not counted again. Rows of no known entity it has not written; a
        // table with such rows is looked at.
        let counted = written.filter { entity, _ in
            destination.table(of: entity).map {
                plan.continued[$0.name].flatMap { before.ofUnknownEntities[$0] } == nil
            }
                == true
        }
        let counts = try checkCounts(before, counted)
        try checkMandatoryValues(counted)
        try checkEntityColumns()
        try checkJoinTables(before)
        return counts
    }

    private func fail(_ what: String, entity: String? = nil, property: String? = nil) -> FerryError {
        FerryError(
            .verificationFailed,
            "The store would not be a store of version \(step.resolved.destination.name): \(what). It is as before.",
            remedy: "Migrate to a new store with \(setting: .output), and report this.",
            place: .init(entity: entity, property: property))
    }

    /// Every table, column, index and trigger of a new store is there; only columns that were dead before are over.
    private func checkSchema(_ before: Before) throws {
        let catalog = try StoreCatalog(connection)
        for table in destination.tablesInOrder {
            let system = ["Z_PK", "Z_ENT", "Z_OPT"].map { Column(name: $0, type: "INTEGER") }
            try check(table.name, system + table.columns, key: ["Z_PK"], catalog)
        }
        for join in destination.joinTables {
            try check(
                join.name, join.columns.map { Column(name: $0, type: "INTEGER") }, key: join.keyColumns, catalog)
        }
        let indexes = Set(catalog.indexes.map { "\($0.table) \($0.name)" })
        if let missing = destination.indexes.first(where: { !indexes.contains("\($0.table) \($0.name)") }) {
            throw fail("the index \(missing.name) is missing")
        }
        let triggers = Set(catalog.triggers.map(\.name))
        if let missing = destination.allTriggers.first(where: { !triggers.contains($0.name) }) {
            throw fail("the trigger \(missing.name) is missing")
        }
        for rTree in destination.rTrees {
            guard catalog.others.contains(where: { $0.name == rTree.name && $0.type == "virtual table" }) else {
                throw fail("the R-Tree \(rTree.name) is missing")
            }
            let entries = try connection.integer("SELECT count(*) FROM \(rTree.name)")
            let objects = try connection.integer("SELECT count(*) FROM \(rTree.table) WHERE \(rTree.condition(""))")
            guard entries == objects else { throw fail("the R-Tree \(rTree.name) lacks objects, or has too many") }
        }
        if let left = catalog.tables.first(where: {
            $0.name.hasPrefix("ferry_") && !before.namedAsOurs.contains($0.name)
        }) {
            throw fail("the table \(left.name) was left behind")
        }
    }

    private func check(_ name: String, _ columns: [Column], key: [String], _ catalog: StoreCatalog) throws(FerryError) {
        guard let found = catalog.table(name), found.name == name else { throw fail("the table \(name) is missing") }
        let actual = Dictionary(found.columns.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first })
        for column in columns where actual[column.name]?.uppercased() != column.type.uppercased() {
            throw fail("\(name) has no column \(column.name) \(column.type)")
        }
        guard found.keyColumns == key else { throw fail("\(name) has another primary key") }
        let known = Set(columns.map(\.name))
        let dead = source.tables.values.first { $0.name == plan.continued[name] }.map { table in
            Set(table.columns.map(\.name)).subtracting(source.knownColumns(of: table))
        }
        if let extra = found.columns.first(where: { !known.contains($0.name) && dead?.contains($0.name) != true }) {
            throw fail("\(name) still has the column \(extra.name)")
        }
    }

    private func checkNumbers(_ before: Before) throws {
        let rows = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY")
        var numbers = destination.entityNumbers
        for row in rows {
            let number = row[0].integer ?? 0
            guard number < HistoryTables.firstNumber else { continue }
            guard let name = row[1].text, numbers.removeValue(forKey: name) == number else {
                throw fail("Z_PRIMARYKEY numbers its entities otherwise")
            }
            let parent = destination.model.entities[name]?.superentity.flatMap { destination.number(of: $0) } ?? 0
            guard row[2].integer == parent else { throw fail("Z_PRIMARYKEY gives \(name) another parent") }
            guard let table = destination.tables[name] else { continue }
            let highest = try connection.integer("SELECT max(Z_PK) FROM \(Connection.quoted(table.name))") ?? 0
            let root = source.tables.values.first { $0.name == plan.continued[table.name] }?.root
            let handedOut = root.flatMap { source.number(of: $0) }.flatMap { before.highestKeys[$0] } ?? 0
            guard let maximum = row[3].integer, maximum >= highest, maximum >= handedOut else {
                throw fail("Z_MAX of \(name) is too low", entity: name)
            }
        }
        if let missing = numbers.keys.sorted().first { throw fail("Z_PRIMARYKEY lacks \(missing)") }
        for (number, maximum) in before.highestKeys where number >= HistoryTables.firstNumber {
            guard rows.contains(where: { $0[0].integer == number && $0[3].integer == maximum }) else {
                throw fail("Z_PRIMARYKEY lost the row of number \(number)")
            }
        }
    }

    private func checkMetadata(_ before: Before) throws {
        let metadata = try StoreMetadata.read(from: connection)
        guard metadata == before.metadata.restamped(for: step.resolved.destination) else {
            throw fail("its metadata differ")
        }
        if let cached = try ModelCache.version(in: connection), cached.hashes != step.resolved.destination.hashes {
            throw fail("its cached model is another one")
        }
    }

    // MARK: Rows

    private func checkCounts(_ before: Before, _ counted: [String: Int64]) throws -> [EntityMappingCounts] {
        let tables = plan.touched.subtracting(counted.keys.compactMap { destination.table(of: $0)?.name })
        var (after, ofUnknownEntities) = try Self.rows(of: destination, in: tables, on: connection)
        after.merge(counted) { scanned, _ in scanned }
        for table in tables.sorted() {
            let old = plan.continued[table].flatMap { before.ofUnknownEntities[$0] } ?? 0
            guard ofUnknownEntities[table] ?? 0 == old else {
                throw fail("\(table) has other rows of unknown entities")
            }
        }
        var expected: [String: Int64] = [:]
        var counts: [EntityMappingCounts] = []
        for mapping in step.resolved.entityMappings {
            let rows = before.rows[mapping.source] ?? 0
            expected[mapping.destination, default: 0] += rows
            var count = EntityMappingCounts(
                name: mapping.name, source: mapping.source, destination: mapping.destination)
            count.read = rows
            count.written = rows
            if isEstimated { count.isEstimated = true }
            counts.append(count)
        }
        for (entity, rows) in after.sorted(by: { $0.key < $1.key }) where rows != expected[entity] ?? 0 {
            throw fail(
                "\(entity) has \(rows.counting("row")) instead of \((expected[entity] ?? 0).grouped)", entity: entity)
        }
        return counts
    }

    /// Attributes that were optional, or are new: in the others nothing became empty that was not before.
    ///
    /// Nor is a default empty that the statement gave which has written all rows of an entity, as counted.
    private func checkMandatoryValues(_ counted: [String: Int64]) throws {
        for mapping in step.resolved.entityMappings {
            for resolved in mapping.attributes {
                guard
                    let attribute = destination.model.attribute(resolved.name, of: mapping.destination),
                    !attribute.isOptional, !takesOverMandatory(resolved, mapping),
                    counted[mapping.destination] == nil || resolved.expression != nil
                        || resolved.defaultValue(of: attribute) == nil,
                    let table = destination.table(of: mapping.destination),
                    let column = destination.column(of: resolved.name, in: mapping.destination),
                    let number = destination.number(of: mapping.destination)
                else { continue }
                let empty = try EmptyValues(in: table.name, of: number, on: connection).rows(without: column.name)
                guard empty == 0 else {
                    throw FerryError(
                        .mandatoryValue,
                        "\(mapping.destination).\(resolved.name) is mandatory and would be empty in \(empty) rows.",
                        remedy: "Give it a default value in the model, or an expression in a mapping model.",
                        place: .init(
                            entityMapping: mapping.name, entity: mapping.destination, property: resolved.name))
                }
            }
        }
    }

    private func takesOverMandatory(_ resolved: ResolvedAttribute, _ mapping: ResolvedEntityMapping) -> Bool {
        guard let name = resolved.expression?.sourceKeys else { return false }
        return source.model.attribute(name, of: mapping.source)?.isOptional == false
    }

    // MARK: Relationships

    /// The entity number beside a key is that of the object at its end, as far as there is one.
    private func checkEntityColumns() throws {
        for (key, storage) in destination.relationshipStorage.sorted(by: { $0.key < $1.key }) {
            guard case .foreignKey(let table, let column, let entityColumn?, _) = storage,
                let relationship = destination.model.relationship(key.property, of: key.entity),
                let target = destination.table(of: relationship.destinationEntity),
                plan.touched.contains(table) || plan.touched.contains(target.name)
            else { continue }
            let wrong =
                try connection.integer(
                    "SELECT count(*) FROM \(table) AS a JOIN \(target.name) AS b ON b.Z_PK = a.\(column) "
                        + "WHERE a.\(entityColumn) IS NOT b.Z_ENT") ?? 0
            guard wrong == 0 else {
                throw fail(
                    "\(wrong) objects name another entity at the end of \(key.title)",
                    entity: key.entity, property: key.property)
            }
        }
    }

    /// Links of join tables that were written lead to objects of the declared entities, but for those that did not
    /// before.
    private func checkJoinTables(_ before: Before) throws {
        let wrong = try wrongLinks(of: destination, tables: plan.touched)
        guard wrong.rows > before.wrongLinks, let side = wrong.example else { return }
        throw fail(
            "\(wrong.rows.counting("link")) of \(side.title) "
                + "\(wrong.rows == 1 ? "leads to an object" : "lead to objects") of another entity",
            entity: side.entity, property: side.property)
    }

    private func wrongLinks(
        of layout: StoreLayout, tables: Set<String>?
    ) throws -> (rows: Int64, example: PropertyKey?) {
        var rows: Int64 = 0
        var example: PropertyKey?
        for join in layout.joinTables where tables?.contains(join.name) ?? true {
            for (column, side) in [(join.firstColumn, join.relationship), (join.secondColumn, join.inverse)] {
                guard let table = layout.table(of: side.entity) else { continue }
                let family = layout.numbers(ofFamily: side.entity)
                let wrong =
                    try connection.integer(
                        "SELECT count(*) FROM \(join.name) AS j JOIN \(table.name) AS t ON t.Z_PK = j.\(column) "
                            + "WHERE t.Z_ENT NOT IN (\(family.sqlList))") ?? 0
                if wrong > 0 {
                    rows += wrong
                    example = example ?? side
                }
            }
        }
        return (rows, example)
    }
}

/// What does not go along, for the report.
extension InPlaceChecks {
    /// Changes of entities that the new version does not have.
    func droppedHistory(_ history: HistoryTables?) throws -> [(kind: String, entity: String, rows: Int64)] {
        guard let changes = history?.changes else { return [] }
        let carried = Set(step.resolved.entityMappings.map(\.source))
        let removed = source.entityNumbers.filter { !carried.contains($0.key) }.sorted { $0.value < $1.value }
        return try removed.compactMap { entity, number in
            let rows =
                try connection.integer(
                    "SELECT count(*) FROM \(changes.quotedName) WHERE ZENTITY = ?", [.integer(number)]) ?? 0
            return rows > 0 ? ("droppedHistory", entity, rows) : nil
        }
    }

    /// The names of what earlier versions had left and what is not there any more: it stood in the way, or in a table
    /// that was made anew.
    func leftBehind(of leftovers: [Leftover]) throws -> [String] {
        let catalog = try StoreCatalog(connection)
        let known = Set(destination.tables.values.map(\.name) + destination.joinTables.map(\.name))
        let wanted = Set(destination.indexes.map(\.name))
        let indexes = Set(catalog.indexes.map(\.name)).subtracting(wanted)
        let lost = leftovers.filter { leftover in
            switch leftover.kind {
            case .table: known.contains(leftover.table) || catalog.table(leftover.table) == nil
            case .column:
                plan.altered[leftover.table].flatMap { catalog.table($0)?.column(leftover.part ?? "") } == nil
            case .index: !indexes.contains(leftover.name)
            case .entityName: true
            }
        }
        return lost.map(\.name)
    }
}
