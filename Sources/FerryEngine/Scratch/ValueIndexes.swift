internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The indexes by which statements find the objects of an entity that have certain values.
///
/// The source is never written: an index that it lacks is made in scratch, from a copy of the values and keys. It is
/// made when the first statement needs it, in a transaction of its own, and found by its name when a run resumes.
final class ValueIndexes: MemberIndexes {
    private let layout: StoreLayout
    private let connection: Connection
    private let now: Double
    private let onStatement: StatementHook?

    init(of layout: StoreLayout, on connection: Connection, now: Double) {
        (self.layout, self.connection, self.now) = (layout, connection, now)
        onStatement = connection.onStatement
    }

    func index(
        of entity: String, by paths: [ResolvedPath], mayBeOfSource: Bool
    ) throws(FerryError) -> ValueIndexPlace {
        let name = ([entity] + paths.map(\.indexedName)).joined(separator: ",")
        do {
            if mayBeOfSource, let column = try indexedColumn(of: entity, at: paths) { return .column(column) }
            let table = "members_of_\(name)"
            let isMade = try connection.integer(
                "SELECT 1 FROM scratch.sqlite_master WHERE type = 'index' AND tbl_name = ?", [.text(table)])
            if isMade == nil { try make(table, of: entity, by: paths) }
            return .table("scratch.\(Connection.quoted(table))")
        } catch let error as FerryError {
            throw error
        } catch let error as DatabaseError {
            throw FerryError(database: error, whileDoing: "indexing the values of \(entity)")
        } catch {
            throw FerryError(.internalError, "The values of \(entity) cannot be indexed.", cause: error)
        }
    }

    /// The column of a single attribute, if an index of the source begins with it in the order of `IS`.
    private func indexedColumn(of entity: String, at paths: [ResolvedPath]) throws -> String? {
        guard paths.count == 1, paths[0].hops.isEmpty, case .attribute(_, let names) = paths[0].end,
            let column = layout.column(of: names.joined(separator: "."), in: entity)
        else { return nil }
        let found = try connection.integer(
            """
            SELECT 1 FROM pragma_index_list(?1, 'source') AS i WHERE NOT i.partial AND EXISTS (
                SELECT 1 FROM pragma_index_xinfo(i.name, 'source')
                WHERE seqno = 0 AND name = ?2 COLLATE NOCASE AND coll = 'BINARY')
            """,
            [.text(try layout.knownTable(of: entity, in: "source")), .text(column.name)])
        return found == nil ? nil : column.name
    }

    private func make(_ table: String, of entity: String, by paths: [ResolvedPath]) throws {
        let shown = connection.onStatement
        connection.onStatement = onStatement
        defer { connection.onStatement = shown }
        // A statement may be made within a unit, which then writes the index too.
        if connection.isInTransaction {
            try fill(table, of: entity, by: paths)
        } else {
            try connection.transaction { try fill(table, of: entity, by: paths) }
        }
    }

    private func fill(_ table: String, of entity: String, by paths: [ResolvedPath]) throws {
        var scope = SourceScope(
            ExpressionScope(model: layout.model, entity: entity),
            from: "source.\(try layout.knownTable(of: entity, in: "source")) AS s", of: layout)
        var values: [String] = []
        for (place, path) in paths.enumerated() {
            var path = path
            path.start = .source
            values.append("\(try scope.column(path)) AS v\(place)")
        }
        scope.require("s.Z_ENT = \(try layout.knownNumber(of: entity, in: "source"))")
        // The columns of such a table have the affinities of the source's columns, so that they compare like these.
        try connection.execute(
            """
            CREATE TABLE scratch.\(Connection.quoted(table)) AS
            SELECT \(values.joined(separator: ", ")), s.Z_PK AS member FROM \(scope.from)\(scope.where)
            """)
        let columns = paths.indices.map { "v\($0)" } + ["member"]
        try connection.execute(
            """
            CREATE INDEX scratch.\(Connection.quoted("index_\(table)")) ON \(Connection.quoted(table)) \
            (\(columns.joined(separator: ", ")))
            """)
    }
}

extension ResolvedPath {
    /// The names on the path, joined by dots.
    fileprivate var indexedName: String {
        var names = hops.map(\.relationship.name)
        if case .attribute(_, let path) = end { names += path }
        return names.joined(separator: ".")
    }
}
