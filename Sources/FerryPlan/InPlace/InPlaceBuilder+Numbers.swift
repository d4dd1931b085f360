internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

extension InPlaceBuilder {
    // MARK: Z_PRIMARYKEY

    /// Rewrites the entities' rows; those of history and CloudKit, with numbers of their own, stay.
    mutating func writeEntityNumbers() {
        let reason = "numbers and names of the new version"
        add("UPDATE Z_PRIMARYKEY SET Z_ENT = -Z_ENT WHERE Z_ENT < \(HistoryTables.firstNumber)", reason)
        for (entity, number) in destination.entityNumbers.sorted(by: { $0.value < $1.value }) {
            let parent = destination.model.entities[entity]?.superentity.flatMap { destination.number(of: $0) }
            var values = InPlaceValues()
            let name = values.add(.text(entity))
            plan.statements.append(
                InPlaceStatement(
                    "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) "
                        + "VALUES (\(number), \(name), \(parent ?? 0), \(highestKey(ofRoot: entity)))",
                    values: values, reason: reason))
        }
        add("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 0", reason)
    }

    private func highestKey(ofRoot entity: String) -> String {
        guard let move = moves.first(where: { $0.destination.root == entity }), let old = move.source,
            let number = source.number(of: old.root)
        else { return "0" }
        return "ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -\(number)), 0)"
    }

    // MARK: History

    /// Changes name their entity by number; those of entities that are no more name nothing.
    mutating func translateHistory() {
        guard let history = schema.history else { return }
        let table = history.changes.quotedName
        for column in history.missingTombstones(for: step) {
            add("ALTER TABLE \(table) ADD COLUMN \(column) BLOB", "an entity preserves more values after deletion")
        }
        let translations = step.entityMappings.compactMap {
            HistoryTables.translation(by: $0, of: step, source, destination)
        }
        let carried = Set(translations.map(\.source))
        let removed = source.entityNumbers.filter { !carried.contains($0.key) }.map(\.value)
        if !removed.isEmpty {
            add("DELETE FROM \(table) WHERE ZENTITY IN (\(TableMove.list(removed)))", "their entities are no more")
        }
        let columns = history.changes.columns.filter { $0.hasPrefix("\"ZTOMBSTONE") }
        let sets =
            [
                translations.contains { !$0.keepsColumns }
                    ? "ZCOLUMNS = " + choice(translations, "ZCOLUMNS") { $0.keepsColumns } : nil
            ]
            + columns.map { column in
                translations.contains { !$0.keepsTombstones }
                    ? "\(column) = " + choice(translations, column) { $0.keepsTombstones } : nil
            }
        let moved = translations.filter { $0.from != $0.to }
        let number =
            moved.isEmpty
            ? nil
            : "ZENTITY = CASE ZENTITY \(moved.map { "WHEN \($0.from) THEN \($0.to)" }.joined(separator: " ")) ELSE ZENTITY END"
        let all = ([number] + sets).compactMap { $0 }
        guard !all.isEmpty else { return }
        add("UPDATE \(table) SET \(all.joined(separator: ", "))", "changes name the same entities as before")
    }

    private func choice(
        _ translations: [HistoryTables.Translation], _ column: String, _ isKept: (HistoryTables.Translation) -> Bool
    ) -> String {
        let lost = translations.filter { !isKept($0) }.map(\.from)
        return "CASE WHEN ZENTITY IN (\(TableMove.list(lost))) THEN NULL ELSE \(column) END"
    }

    // MARK: CloudKit

    private var movedNumbers: [NumberPair] {
        step.entityMappings.compactMap { mapping in
            guard let old = source.number(of: mapping.source), let new = destination.number(of: mapping.destination),
                old != new
            else { return nil }
            return NumberPair(old: old, new: new)
        }.sorted { $0.old < $1.old }
    }

    /// Records on the server are known by their entities' names: those must stay.
    func refuseMirroring() throws(InPlaceObstacle) {
        guard schema.mirrorsToCloudKit else { return }
        let kept = Set(step.entityMappings.filter { Set($0.entities).count == 1 }.map(\.source))
        let lost = source.model.sortedEntityNames.first {
            !kept.contains($0) && source.model.entities[$0]?.isAbstract == false
        }
        guard let lost else { return }
        throw .refused(
            FerryError(
                .unsupported,
                "The store mirrors its objects to CloudKit, and \(lost) is renamed or removed: what the mirroring tables "
                    + "say about its records on the server would name nothing.",
                remedy: "Let the app migrate this store.", place: .init(entity: lost)))
    }

    /// Over negative numbers, since number and key are unique together.
    mutating func translateMirroring() {
        let moved = movedNumbers
        guard !moved.isEmpty else { return }
        let reason = "mirrored objects have the same entities as before"
        for table in schema.numberedCloudKitTables {
            let cases = moved.map { "WHEN \($0.old) THEN -\($0.new)" }.joined(separator: " ")
            add(
                "UPDATE \(quoted(table)) SET ZENTITYID = CASE ZENTITYID \(cases) END "
                    + "WHERE ZENTITYID IN (\(TableMove.list(moved.map(\.old))))", reason)
            add("UPDATE \(quoted(table)) SET ZENTITYID = -ZENTITYID WHERE ZENTITYID < 0", reason)
        }
    }

    // MARK: The end

    /// An entity number that was never set beside its key is damage; where rows are written anyway it is set right.
    mutating func completeEntityColumns() {
        for (key, storage) in destination.relationshipStorage.sorted(by: { $0.key < $1.key }) {
            guard case .foreignKey(let table, let column, let entityColumn?, _) = storage,
                let relationship = destination.model.relationship(key.property, of: key.entity),
                let target = destination.table(of: relationship.destinationEntity),
                plan.touched.contains(table) || plan.touched.contains(target.name)
            else { continue }
            add(
                "UPDATE \(table) SET \(entityColumn) = (SELECT t.Z_ENT FROM \(target.name) AS t "
                    + "WHERE t.Z_PK = \(table).\(column)) WHERE \(column) IS NOT NULL AND \(entityColumn) IS NULL",
                "a key without the number of its entity")
        }
    }

    /// Derived values, then triggers: nothing may be written after them, since they call functions of Apple's.
    mutating func close() {
        let old = Dictionary(
            schema.derivedValues.map { ($0.attribute, $0) }, uniquingKeysWith: { first, _ in first })
        for value in destination.derivedValues {
            let isKept = old[value.attribute].map { before in
                !plan.touched.contains(value.table) && !plan.touched.contains(value.countedTable)
                    && plan.continued[value.table] == before.table
                    && plan.continued[value.countedTable] == before.countedTable
                    && isCarried(before.countedColumn, to: value.countedColumn, in: value.countedTable)
                    && isCarried(before.column, to: value.column, in: value.table)
            }
            guard isKept != true else { continue }
            var values = InPlaceValues()
            // The statement takes a range of keys; here it is all of them.
            values.addNamed(":low", .integer(.min))
            values.addNamed(":high", .integer(.max))
            plan.statements.append(
                InPlaceStatement(value.update(), values: values, reason: "\(value.attribute.property) is derived"))
            plan.touched.insert(value.table)
        }
        for trigger in destination.triggers {
            plan.closing.append(InPlaceStatement(trigger.sql, reason: "keeps a derived attribute up to date"))
        }
        for view in schema.views { plan.closing.append(InPlaceStatement(view.sql, reason: "the app's own view")) }
        for trigger in schema.appTriggers {
            plan.closing.append(InPlaceStatement(trigger.sql, reason: "the app's own trigger"))
        }
    }

    private func isCarried(_ old: String, to new: String, in table: String) -> Bool {
        guard let move = moves.first(where: { $0.destination.name == table }), case .alter(let alteration) = move.way
        else { return false }
        return alteration.carriers[new] == old
    }
}
