internal import FerryBase
internal import FerryModel

/// A clause of a CREATE TABLE statement that Core Data never writes, and with which the app may not be able to save.
package struct ForeignClause: Sendable, Hashable {
    package let table: String
    /// Nil for a clause of the table.
    package let column: String?
    /// The first word of the clause.
    package let word: String

    private static let ofColumns: Set<String> = [
        "NOT", "CHECK", "COLLATE", "DEFAULT", "REFERENCES", "UNIQUE", "PRIMARY",
    ]
    private static let ofTables: Set<String> = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]

    /// Finds the first clause of a table; old systems wrote UNIQUE for the constraints of a model.
    package init?(inTable name: String, _ sql: String, allowsUnique: Bool) {
        for definition in Self.definitions(of: sql) {
            guard let first = definition.first else { continue }
            let words = definition.compactMap(\.word)
            let allowed: Set<String> = allowsUnique ? ["UNIQUE"] : []
            if let start = first.word, Self.ofTables.contains(start) {
                // The primary key of a join table.
                let known = allowed.union(["CONSTRAINT", "PRIMARY"])
                guard let found = words.first(where: { Self.ofTables.contains($0) && !known.contains($0) }) else {
                    continue
                }
                (table, column, word) = (name, nil, found)
                return
            }
            // A generated column is an object of the app, with a rule of its own.
            if words.contains("GENERATED") || words.contains("AS") { continue }
            let known = first.name == "Z_PK" ? allowed.union(["PRIMARY"]) : allowed
            guard
                let found = words.dropFirst(first.word == nil ? 0 : 1)
                    .first(where: { Self.ofColumns.contains($0) && !known.contains($0) })
            else { continue }
            (table, column, word) = (name, first.name, found)
            return
        }
        return nil
    }

    /// The tokens of each column and table constraint, without those within their parentheses.
    private static func definitions(of sql: String) -> [[SQLNames.Token]] {
        var (depth, definitions) = (0, [[SQLNames.Token]]())
        for token in SQLNames.tokens(of: sql) {
            if case .sign("(") = token {
                depth += 1
                if depth == 1 { definitions.append([]) }
            } else if case .sign(")") = token {
                depth -= 1
                if depth == 0 { break }
            } else if case .sign(",") = token, depth == 1 {
                definitions.append([])
            } else if depth == 1 {
                definitions[definitions.count - 1].append(token)
            }
        }
        return definitions
    }

    /// The place and the clause, as text.
    package var title: String { "\(table)\(column.map { ".\($0)" } ?? "") \(word == "NOT" ? "NOT NULL" : word)" }
}

extension StoreLayout {
    /// The first clause in a table of the model that Core Data never writes; nil if there is none.
    package func foreignClause(in catalog: StoreCatalog) -> ForeignClause? {
        let tables = tablesInOrder.map { table in
            (table.name, model.family(of: table.root).contains { model.entities[$0]?.uniquenessConstraints != [] })
        }
        for (name, allowsUnique) in tables + joinTables.map({ ($0.name, false) }) {
            guard let sql = catalog.table(name)?.sql,
                let clause = ForeignClause(inTable: name, sql, allowsUnique: allowsUnique)
            else { continue }
            return clause
        }
        return nil
    }
}
