internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

extension InPlaceBuilder {
    /// Rewrites the rows of entities; rows of history and CloudKit have numbers of their own and stay.
    mutating func writeEntityNumbers() {
        let reason = "numbers and names of the new version"
        add("UPDATE Z_PRIMARYKEY SET Z_ENT = -Z_ENT WHERE Z_ENT < \(HistoryTables.firstNumber)", reason)
        for (entity, number) in destination.entityNumbers.inOrder(by: { $0.value < $1.value }) {
            let parent = destination.model.entities[entity]?.superentity.flatMap { destination.number(of: $0) }
            var values = Parameters()
            let name = values.add(.text(entity))
            add(
                "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) "
                    + "VALUES (\(number), \(name), \(parent ?? 0), \(highestKey(ofRoot: entity)))", values: values,
                reason)
        }
        add("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 0", reason)
    }

    private func highestKey(ofRoot entity: String) -> String {
        guard let move = moves.tables.first(where: { $0.destination.root == entity }), let old = move.source,
            let number = source.number(of: old.root)
        else { return "0" }
        return "ifnull((SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = -\(number)), 0)"
    }

    /// Renumbers the entities of history changes, and deletes changes of dropped entities.
    mutating func translateHistory() {
        guard let history = schema.history else { return }
        let table = history.changes.quotedName
        let whole = keptPart?.whole ?? step
        for column in history.missingTombstones(for: whole) {
            alter(table, "ADD COLUMN \(column) BLOB", "columns for values preserved after deletion")
        }
        let translations = HistoryTables.translations(by: whole, source, destination)
        let dropped = droppedHistory(besides: translations).sorted()
        if !dropped.isEmpty {
            moves.droppedHistory = dropped
            moves.touchedBeside.insert(history.changes.name)
            add("DELETE FROM \(table) WHERE ZENTITY IN (\(dropped.sqlList))", "their entities were removed", .once)
        }
        func kept(_ column: String, _ isKept: KeyPath<HistoryTables.Translation, Bool>) -> String? {
            let lost = translations.filter { !$0[keyPath: isKept] }.map(\.from).sorted()
            return lost.isEmpty
                ? nil : "\(column) = CASE WHEN ZENTITY IN (\(lost.sqlList)) THEN NULL ELSE \(column) END"
        }
        let moved = translations.filter { $0.from != $0.to }.map { NumberPair(old: $0.from, new: $0.to) }
        let number = moved.isEmpty ? nil : "ZENTITY = CASE ZENTITY \(moved.cases) ELSE ZENTITY END"
        let tombstones = history.changes.columns.filter { $0.hasPrefix("\"ZTOMBSTONE") }
        let all = [number, kept("ZCOLUMNS", \.keepsColumns)] + tombstones.map { kept($0, \.keepsTombstones) }
        guard all.contains(where: { $0 != nil }) else { return }
        moves.touchedBeside.insert(history.changes.name)
        add(
            "UPDATE \(table) SET \(all.compactMap(\.self).joined(separator: ", "))",
            "changes name the same entities as before", .once)
    }

    /// The numbers of the entities whose changes name no object any more.
    private func droppedHistory(besides translations: [HistoryTables.Translation]) -> [Int64] {
        guard keptPart != nil else { return droppedNumbers.map(\.number) }
        return Array(Set(source.entityNumbers.values).subtracting(translations.map(\.from)))
    }

    /// Negative numbers come between old and new ones, since number and key are unique together.
    mutating func translateMirroring() {
        // With a kept part the engine fills the tables of other mirrored objects, which keep their keys, too.
        let moved = (keptPart?.whole ?? step).entityMappings.compactMap { mapping -> NumberPair? in
            guard let old = source.number(of: mapping.source), let new = destination.number(of: mapping.destination),
                old != new
            else { return nil }
            return NumberPair(old: old, new: new)
        }.inOrder { $0.old < $1.old }
        guard !moved.isEmpty else { return }
        let reason = "mirrored objects have the same entities as before"
        for table in schema.numberedCloudKitTables {
            moves.touchedBeside.insert(table)
            let cases = moved.map { "WHEN \($0.old) THEN -\($0.new)" }.joined(separator: " ")
            add(
                "UPDATE \(quoted(table)) SET ZENTITYID = CASE ZENTITYID \(cases) END "
                    + "WHERE ZENTITYID IN (\(moved.map(\.old).sorted().sqlList))", reason, .once)
            add(
                "UPDATE \(quoted(table)) SET ZENTITYID = -ZENTITYID WHERE ZENTITYID < 0", reason, .once)
        }
    }

    /// Makes R-Trees anew unless their rows and columns stayed unchanged: only triggers maintain them.
    private mutating func makeRTrees() {
        let kept = destination.rTrees.filter { new in
            source.rTrees.contains { old in
                old.name == new.name && old.sql == new.sql && old.entityNumbers == new.entityNumbers
                    && old.columns.count == new.columns.count
                    && zip(old.columns, new.columns).allSatisfy { isCarried(old.table, $0, to: new.table, $1) }
            }
        }
        for name in schema.rTrees where !kept.contains(where: { $0.name == name }) {
            add("DROP TABLE \(quoted(name))", "the R-Tree of the old version")
        }
        for rTree in destination.rTrees where keptPart == nil && !kept.contains(rTree) {
            add(rTree.sql, "an R-Tree of the new version")
            add(
                rTree.fill, "objects of the R-Tree \(rTree.name)", .once,
                tables: .rows(rTree.name, from: rTree.table))
        }
    }

    /// Adds derived values, the version, then triggers: triggers call Apple's functions, so nothing may be written after them.
    mutating func close() {
        let old = Dictionary(first: schema.derivedValues.map { ($0.attribute, $0) })
        for value in keptPart == nil ? destination.derivedValues : [] {
            if let before = old[value.attribute], isKept(before, value) { continue }
            add(
                value.update, "\(value.attribute.property) is derived", .once,
                tables: .rows(value.table, from: value.table))
            moves.touched.insert(value.table)
        }
        makeRTrees()
        if keptPart != nil, schema.hasStatistics {
            close(with: [ProgramStatement(Self.statistics, .once, reason: "statistics of filled tables")])
        }
        let closing =
            destination.allTriggers.map { ($0.sql, "keeps a derived attribute or an R-Tree up to date") }
            + schema.views.map { ($0.sql, "the app's own view") }
            + schema.appTriggers.map { ($0.sql, "the app's own trigger") }
        close(with: closing.map { ProgramStatement($0, .schema, reason: $1) })
    }

    /// Copies the ANALYZE statistics of filled tables, which went with the old ones.
    private static let statistics = """
        INSERT INTO sqlite_stat1 (tbl, idx, stat) SELECT tbl, idx, stat FROM source.sqlite_stat1 AS s
        WHERE s.tbl IN (SELECT name FROM main.sqlite_master WHERE type = 'table') AND (s.idx IS NULL OR s.idx = s.tbl OR
            s.idx IN (SELECT name FROM main.sqlite_master WHERE type = 'index' AND tbl_name = s.tbl))
            AND NOT EXISTS (SELECT 1 FROM main.sqlite_stat1 AS n WHERE n.tbl = s.tbl AND n.idx IS s.idx)
        """

    /// Whether the values of a derived attribute stay valid: none of their inputs was written.
    private func isKept(_ old: DerivedValue, _ new: DerivedValue) -> Bool {
        guard old.derivation.isSameForm(as: new.derivation), old.reads.count == new.reads.count,
            isCarried(old.table, old.column, to: new.table, new.column)
        else { return false }
        return zip(old.reads, new.reads).allSatisfy { isCarried($0.table, $0.column, to: $1.table, $1.column) }
    }

    /// Whether a column keeps all values of an old column.
    private func isCarried(_ oldTable: String, _ old: String, to table: String, _ new: String) -> Bool {
        guard !moves.touched.contains(table),
            let kept = moves.kept.first(where: { $0.name == oldTable && $0.newName == table })
        else { return false }
        return (kept.renames.first { $0.from == old }?.to ?? old) == new
    }
}
