internal import FerryModel

/// What of Core Data's tables changes, by which the app's objects are judged: their meaning follows from the names in
/// them.
struct TableChanges {
    private struct Change {
        /// Whether any object that names the table may change its meaning.
        var isWhole: Bool
        /// The columns that the new table does not have, or has with another type, and the entity numbers if they change.
        var columns: Set<String> = []
    }

    /// By upper-case name; without tables to which columns are added at most.
    private let changes: [String: Change]

    init(source: StoreLayout, destination: StoreLayout, catalog: StoreCatalog) {
        var changes: [String: Change] = [:]
        for name in ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE"] { changes[name] = Change(isWhole: true) }
        for (root, table) in source.tables {
            let change = Self.change(of: table, root, source, destination)
            if change.isWhole || !change.columns.isEmpty { changes[table.name.uppercased()] = change }
        }
        for table in source.joinTables {
            if !destination.joinTables.contains(where: { $0.sql.uppercased() == table.sql.uppercased() }) {
                changes[table.name.uppercased()] = Change(isWhole: true)
            }
        }
        for table in StoreObjects(catalog, layout: source).leftoverTables {
            changes[table.uppercased()] = Change(isWhole: true)
        }
        self.changes = changes
    }

    private static func change(
        of table: EntityTable, _ root: String, _ source: StoreLayout, _ destination: StoreLayout
    ) -> Change {
        guard let other = destination.tables[root], other.name.uppercased() == table.name.uppercased() else {
            return Change(isWhole: true)
        }
        let kept = Set(other.columns)
        var columns = Set(table.columns.filter { !kept.contains($0) }.map { $0.name.uppercased() })
        let numbers = source.entities(inTableOf: root).allSatisfy {
            source.number(of: $0) == destination.number(of: $0)
        }
        if !numbers { columns.insert("Z_ENT") }
        return Change(isWhole: false, columns: columns)
    }

    /// Says in words which of the names in an SQL text change; nil if none does.
    ///
    /// A text that takes all columns (`SELECT *`) names each of them.
    func changedName(in sql: String) -> String? {
        let names = SQLNames.names(in: sql)
        for name in names {
            guard let change = changes[name] else { continue }
            if change.isWhole { return "\(name), a table of Core Data that changes" }
            let used = names.first(where: change.columns.contains)
            let all = Self.takesAllColumns(sql) ? change.columns.sorted().first : nil
            if let column = used ?? all { return "\(column) of \(name), which changes" }
        }
        return nil
    }

    /// Whether a text has an asterisk that is not that of `count(*)`.
    private static func takesAllColumns(_ sql: String) -> Bool {
        let signs = sql.filter { !$0.isWhitespace }.lowercased()
        return signs.replacing("count(*)", with: "").contains("*")
    }
}
