internal import FerryBase
internal import FerryModel
internal import FerryStore

extension InPlaceBuilder {
    /// The indexes that statements make or keep; those of filled columns follow later.
    private var wantedIndexes: [IndexDefinition] { destination.indexes.filter { keptPart?.fills($0) != true } }

    /// Drops the indexes that change, before their columns change.
    mutating func dropIndexes() {
        var indexes = IndexMoves(wanted: wantedIndexes)
        let updates = Dictionary(
            uniqueKeysWithValues: moves.tables.compactMap { move in
                move.update(in: source).map { (move.destination.name, $0) }
            })
        self.updates = updates.mapValues(\.statement)
        for table in moves.kept {
            var names = Dictionary(first: table.renames.map { ($0.from.uppercased(), $0.to.uppercased()) })
            names[table.name.uppercased()] = table.newName.uppercased()
            dropIndexes(of: table.name, &indexes, names: names, written: updates[table.newName]?.columns ?? [])
        }
    }

    private mutating func dropIndexes(
        of table: String, _ moves: inout IndexMoves, names: [String: String], written: Set<String>
    ) {
        var others: [IndexDefinition] = []
        for index in schema.indexes where index.table == table {
            if let successor = moves.successor(of: index, names: names, written: written) {
                keptIndexes.insert(successor.name)
            } else {
                others.append(index)
            }
        }
        // The other indexes with wanted names are matched first, before one of these can take a name.
        for index in others {
            if let namesake = moves.namesake(of: index, names: names, written: written),
                keptIndexes.insert(namesake.name).inserted
            {
                renamedIndexes.append((index.name, namesake))
            } else {
                add("DROP INDEX \(quoted(index.name))", "indexes that the new version lacks or defines differently")
            }
        }
    }

    /// Renames indexes in the schema itself: creating them anew would read every row.
    mutating func renameIndexes() {
        guard !renamedIndexes.isEmpty else { return }
        let reason = "the index is the same under a new name"
        add("PRAGMA writable_schema = ON", reason)
        var values = Parameters()
        var (names, texts, old) = ("", "", [String]())
        for (name, new) in renamedIndexes {
            let from = values.add(.text(name))
            names += " WHEN \(from) THEN \(values.add(.text(new.name)))"
            texts += " WHEN \(from) THEN \(values.add(.text(new.sql)))"
            old.append(from)
        }
        // One statement for all, since one index may get the name of another.
        add(
            "UPDATE sqlite_master SET name = CASE name\(names) END, sql = CASE name\(texts) END "
                + "WHERE type = 'index' AND name IN (\(old.joined(separator: ", ")))", values: values, reason)
        // RESET reads the schema again; creating and dropping a table makes all other connections read it, too.
        add("PRAGMA writable_schema = RESET", reason)
        let name = freeName()
        add("CREATE TABLE \(name) (x)", reason)
        add("DROP TABLE \(name)", reason)
    }

    mutating func createIndexes() {
        for index in wantedIndexes where !keptIndexes.contains(index.name) {
            add(index.sql, "index of the new version", tables: .index(index))
        }
        let remade = Set(moves.tables.filter { $0.kept == nil }.map { $0.destination.name.uppercased() })
        let own = schema.appIndexes.filter { remade.contains($0.table.uppercased()) }.map {
            ProgramStatement(
                $0.sql, .schema, reason: "the app's index of a table that is recreated", tables: .index($0))
        }
        if keptPart == nil { add(own) } else { close(with: own) }
    }

    mutating func alterTables() {
        for table in moves.kept {
            rename(table.renames, in: table.newName, having: table.columns)
            for column in table.additions {
                alter(table.newName, "ADD COLUMN \(column.name) \(column.type)", "columns of new properties")
            }
            guard let update = updates[table.newName] else { continue }
            add([update])
            moves.touched.insert(table.newName)
        }
    }

    /// Renames columns; a column whose new name is still in use gets a temporary name first.
    private mutating func rename(_ renames: [Renaming], in table: String, having columns: [String]) {
        var names = Set(columns.map { $0.uppercased() })
        let reason = "columns with another name or number"
        var waiting: [Renaming] = []
        for (index, rename) in renames.enumerated() {
            let isTaken = names.contains(rename.to.uppercased()) && rename.to.uppercased() != rename.from.uppercased()
            let to = isTaken ? "ferry_column_\(index)" : rename.to
            alter(table, "RENAME COLUMN \(rename.from) TO \(to)", reason)
            names.remove(rename.from.uppercased())
            names.insert(to.uppercased())
            if isTaken { waiting.append(Renaming(from: to, to: rename.to)) }
        }
        for rename in waiting { alter(table, "RENAME COLUMN \(rename.from) TO \(rename.to)", reason) }
    }
}

/// Finds the indexes that survive a migration in place.
struct IndexMoves {
    /// By upper-case name.
    private let wanted: [String: IndexDefinition]
    /// The wanted statements without their names; needed only for an index without successor.
    private lazy var nameless: [(index: IndexDefinition, tokens: [String])] = wanted.values.map {
        ($0, Self.withoutName(SQLNames.parts(of: $0.sql)))
    }

    init(wanted: [IndexDefinition]) {
        self.wanted = Dictionary(first: wanted.map { ($0.name.uppercased(), $0) })
    }

    /// The index of the new version that an altered table's index becomes; nil if it must be dropped.
    ///
    /// `names` has the new names of table and columns, in upper case. Indexes on `written` columns are faster to make
    /// anew.
    func successor(
        of index: IndexDefinition, names: [String: String], written: Set<String>
    ) -> IndexDefinition? {
        guard let successor = wanted[index.name.uppercased()] else { return nil }
        // Most indexes do not change, and splitting statements into tokens is slow.
        let isSame = index.sql == successor.sql && names.allSatisfy { $0.key == $0.value }
        if isSame, written.isEmpty { return successor }
        let isEqual = isSame || Self.renamed(index, names) == SQLNames.parts(of: successor.sql)
        return isEqual && !Self.names(written, in: successor) ? successor : nil
    }

    /// The index of the new version that differs in its name alone; SQLite has no statement that renames it.
    mutating func namesake(
        of index: IndexDefinition, names: [String: String], written: Set<String>
    ) -> IndexDefinition? {
        let renamed = Self.withoutName(Self.renamed(index, names))
        let found = nameless.filter { $0.tokens == renamed }
        guard found.count == 1, !Self.names(written, in: found[0].index) else { return nil }
        return found[0].index
    }

    private static func renamed(_ index: IndexDefinition, _ names: [String: String]) -> [String] {
        SQLNames.parts(of: index.sql).map { names[$0] ?? $0 }
    }

    /// Whether an index is over one of these columns.
    static func names(_ columns: Set<String>, in index: IndexDefinition) -> Bool {
        !columns.isEmpty && !Set(columns.map { $0.uppercased() }).isDisjoint(with: SQLNames.parts(of: index.sql))
    }

    private static func withoutName(_ upper: [String]) -> [String] {
        guard let place = upper.firstIndex(of: "INDEX"), place + 1 < upper.count else { return upper }
        return Array(upper[...place]) + upper[(place + 2)...]
    }
}
