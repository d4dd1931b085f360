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
    /// The name under which the connection has the source.
    private let schema: String
    /// Whether a plan only lists the statements.
    private let isListing: Bool
    private var listedTables: Set<String> = []
    /// The statements since the last ``takeListed()``.
    private var listed: [String] = []

    init(of layout: StoreLayout, on connection: Connection) {
        (self.layout, self.connection, schema, isListing) = (layout, connection, "source", false)
    }

    /// The indexes that the statements of a plan need, for a source that is the connection's main database.
    init(listedFor layout: StoreLayout, on connection: Connection) {
        (self.layout, self.connection, schema, isListing) = (layout, connection, "main", true)
    }

    /// Returns the statements of the indexes that were needed since the last call.
    func takeListed() -> [String] {
        defer { listed = [] }
        return listed
    }

    func index(
        of entity: String, by paths: [ResolvedPath], mayBeOfSource: Bool
    ) throws(FerryError) -> ValueIndexPlace {
        let name = ([entity] + paths.map(\.indexedName)).joined(separator: ",")
        do {
            if mayBeOfSource, let column = try indexedColumn(of: entity, at: paths) { return .column(column) }
            let table = "members_of_\(name)"
            if isListing {
                if listedTables.insert(table).inserted {
                    listed += try statements(making: table, of: entity, by: paths)
                }
            } else {
                let isMade = try connection.integer(
                    "SELECT 1 FROM scratch.sqlite_master WHERE type = 'index' AND tbl_name = ?", [.text(table)])
                if isMade == nil { try run(try statements(making: table, of: entity, by: paths)) }
            }
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
            SELECT 1 FROM pragma_index_list(?1, ?3) AS i WHERE NOT i.partial AND EXISTS (
                SELECT 1 FROM pragma_index_xinfo(i.name, ?3)
                WHERE seqno = 0 AND name = ?2 COLLATE NOCASE AND coll = 'BINARY')
            """,
            [.text(try layout.knownTable(of: entity, in: "source")), .text(column.name), .text(schema)])
        return found == nil ? nil : column.name
    }

    private func run(_ statements: [String]) throws {
        func run() throws { for statement in statements { try connection.execute(statement) } }
        // A statement may be made within a unit, which then writes the index too.
        if connection.isInTransaction { try run() } else { try connection.transaction { try run() } }
    }

    private func statements(making table: String, of entity: String, by paths: [ResolvedPath]) throws -> [String] {
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
        let columns = paths.indices.map { "v\($0)" } + ["member"]
        return [
            // The columns of such a table have the affinities of the source's columns, so that they compare like these.
            """
            CREATE TABLE scratch.\(Connection.quoted(table)) AS
            SELECT \(values.joined(separator: ", ")), s.Z_PK AS member FROM \(scope.from)\(scope.where)
            """,
            """
            CREATE INDEX scratch.\(Connection.quoted("index_\(table)")) ON \(Connection.quoted(table)) \
            (\(columns.joined(separator: ", ")))
            """,
        ]
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
