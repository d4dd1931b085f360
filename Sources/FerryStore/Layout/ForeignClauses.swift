internal import FerryBase
internal import FerryModel
internal import FerrySQLite

/// Clauses of CREATE TABLE statements that Core Data never writes, and with which the app may not be able to save.
extension StoreLayout {
    private static let clausesOfColumns: Set<String> = [
        "NOT", "CHECK", "COLLATE", "DEFAULT", "REFERENCES", "UNIQUE", "PRIMARY",
    ]
    private static let clausesOfTables: Set<String> = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]

    /// The place and the first word of the first such clause in a table of the model; nil if there is none.
    package func foreignClause(in catalog: StoreCatalog) -> (table: String, title: String)? {
        let tables = tablesInOrder.map { table in
            (table.name, model.family(of: table.root).contains { model.entities[$0]?.uniquenessConstraints != [] })
        }
        for (name, allowsUnique) in tables + joinTables.map({ ($0.name, false) }) {
            let sql = catalog.table(name)?.sql ?? ""
            if let clause = Self.foreignClause(in: sql, allowsUnique: allowsUnique) { return (name, name + clause) }
        }
        return nil
    }

    /// The place within a table and the clause, as text; old systems wrote UNIQUE for the constraints of a model.
    package static func foreignClause(in sql: String, allowsUnique: Bool) -> String? {
        for definition in definitions(of: sql) {
            guard let first = definition.first else { continue }
            let isOfTable = first.word.map(clausesOfTables.contains) == true
            let words = definition.dropFirst(isOfTable ? 0 : 1).compactMap(\.word)
            // A generated column is an object of the app, with a rule of its own.
            if !isOfTable, words.contains("GENERATED") || words.contains("AS") { continue }
            var known: Set<String> = allowsUnique ? ["UNIQUE"] : []
            // The primary key of a join table.
            if isOfTable { known.formUnion(["CONSTRAINT", "PRIMARY"]) }
            if first.name == "Z_PK" { known.insert("PRIMARY") }
            let foreign = (isOfTable ? clausesOfTables : clausesOfColumns).subtracting(known)
            guard let found = words.first(where: foreign.contains) else { continue }
            return (isOfTable ? "" : ".\(first.name ?? "")") + " " + (found == "NOT" ? "NOT NULL" : found)
        }
        return nil
    }

    /// The tokens of each column and table constraint, without those within their parentheses.
    private static func definitions(of sql: String) -> [[SQLToken]] {
        var (depth, definitions) = (0, [[SQLToken]]())
        for token in SQLNames.tokens(of: sql) {
            if case .sign(UInt8(ascii: "(")) = token {
                depth += 1
                if depth == 1 { definitions.append([]) }
            } else if case .sign(UInt8(ascii: ")")) = token {
                depth -= 1
                if depth == 0 { break }
            } else if case .sign(UInt8(ascii: ",")) = token, depth == 1 {
                definitions.append([])
            } else if depth == 1 {
                definitions[definitions.count - 1].append(token)
            }
        }
        return definitions
    }
}
