internal import FerrySQLite

/// The tables whose pages, with those of all their indexes, are those of a table of the source.
struct SameTrees {
    private typealias Tree = (root: Int64, name: String, table: String, isTable: Bool)

    private let walk: PageWalk
    private let context: VerificationContext
    /// By root page, and the destination's also by the name of the table.
    private let source: [Int64: Tree]
    private let destination: [String: [Tree]]

    init(_ walk: PageWalk, in context: VerificationContext) throws {
        (self.walk, self.context) = (walk, context)
        func trees(_ schema: String) throws -> [Tree] {
            try context.connection.rows(
                "SELECT rootpage, name, tbl_name, type = 'table' FROM \(schema).sqlite_master WHERE rootpage > 0"
            ).map { ($0[0].integer ?? 0, $0[1].text ?? "", $0[2].text ?? "", $0[3].integer == 1) }
        }
        source = Dictionary(try trees("source").map { ($0.root, $0) }, uniquingKeysWith: { first, _ in first })
        destination = Dictionary(grouping: try trees("destination")) { $0.table }
    }

    func hold(_ table: String, as old: String) -> Bool {
        let trees = destination[table] ?? []
        return !trees.isEmpty
            && trees.allSatisfy { tree in
                guard walk.sameTrees.contains(tree.name), let before = source[tree.root], before.table == old,
                    before.isTable == tree.isTable
                else { return false }
                return tree.isTable || haveSameForm(tree.name, before.name)
            }
    }

    /// Whether two indexes have the same columns, by place, in the same order; one of an expression or of a part of the
    /// rows never has.
    private func haveSameForm(_ index: String, _ old: String) -> Bool {
        func form(_ name: String, _ schema: String) throws -> [[Value]] {
            let isPartial = try context.connection.integer(
                "SELECT sql LIKE '% WHERE %' FROM \(schema).sqlite_master WHERE type = 'index' AND name = ?",
                [.text(name)])
            guard isPartial != 1 else { return [] }
            return try context.connection.rows(
                "SELECT cid, \"desc\", coll FROM pragma_index_xinfo(?1, ?2) ORDER BY seqno",
                [.text(name), .text(schema)])
        }
        do {
            let (new, before) = (try form(index, "destination"), try form(old, "source"))
            return !new.isEmpty && new == before && new.allSatisfy { ($0[0].integer ?? -2) >= -1 }
        } catch {
            return false
        }
    }
}
