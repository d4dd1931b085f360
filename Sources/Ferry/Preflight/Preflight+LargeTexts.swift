internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Texts that a copy would refuse, because they need more memory than the limit allows.
extension Preflight {
    /// Looks at the longest row of each table, which the walk over the pages has found; reads no value.
    ///
    /// Other rows that need too much are refused when the copy comes to them.
    mutating func findLargeTexts() throws {
        guard !isInPlace, let walk = planned.walk else { return }
        let options = EngineOptions(limitsOf: configuration)
        let most = options.wholeValueBytes + options.valueBytes
        try findLargeElements(options, walk)
        for table in layout.tables.values.inOrder(by: { $0.name < $1.name }) {
            guard let longest = walk.longestRows[table.name], longest.bytes > most else { continue }
            let (number, sizes) = try texts(in: table, row: longest.key)
            for mapping in step.resolved.entityMappings
            where mapping.readsEveryObject && layout.table(of: mapping.source)?.name == table.name
                && layout.number(of: mapping.source) == number
            {
                let names = mapping.attributes.compactMap { $0.expression?.sourceKey }
                let columns = names.compactMap { layout.column(of: $0, in: mapping.source)?.name }
                let copied = columns.reduce(0) { $0 + sizes[$1, default: 0] }
                guard copied > most else { continue }
                refusals.append(
                    FerryError(
                        valueOf: mapping.source, key: longest.key, entityMapping: mapping.name,
                        memoryLimit: configuration.memoryLimit, needed: 2 * copied, cause: nil))
                break
            }
        }
    }

    /// Looks for JSON elements of `forEach` that are too long: each is in memory several times, as text and as value.
    private mutating func findLargeElements(_ options: EngineOptions, _ walk: PageWalk) throws {
        let search = LargeValueSearch(layout: layout, connection: connection, schema: "main")
        let most = options.valueBytes
        for mapping in step.resolved.entityMappings {
            guard case .json(let value, let key)? = mapping.iteration?.elements,
                let column = value.sourceKey.flatMap({ layout.column(of: $0, in: mapping.source)?.name }),
                let table = layout.table(of: mapping.source)?.name, walk.longestRows[table]?.bytes ?? 0 > most
            else { continue }
            var last = Int64.min
            while let row = try search.firstKey(of: mapping.source, after: last, above: most) {
                last = row
                let longest = try longestElement(under: key, in: column, of: table, row: row)
                guard longest > most else { continue }
                refusals.append(
                    FerryError(
                        valueOf: mapping.source, key: row, entityMapping: mapping.name,
                        memoryLimit: configuration.memoryLimit, needed: 16 * longest, cause: nil))
                break
            }
        }
    }

    /// The bytes of the longest element in a row; 0 for a value that is not a text with an array.
    private func longestElement(under key: String, in column: String, of table: String, row: Int64) throws -> Int {
        let name = Connection.quoted(column)
        let type = "SELECT typeof(\(name)) FROM \(Connection.quoted(table)) WHERE Z_PK = ?"
        guard try connection.value(type, [.integer(row)])?.text == "text" else { return 0 }
        let text = StoredText(try BlobHandle(column, of: table, row: row, schema: "main", on: connection))
        do {
            return try Array(key.utf8).withUnsafeBytes { try JSONArrayScanner.longestElement(of: text, key: $0) }
        } catch let error as FerryError where error.code == .rowFailed {
            // The mapping says what happens to invalid JSON.
            return 0
        }
    }

    /// The number of a row's entity, and the bytes of the row's texts by column.
    private func texts(in table: EntityTable, row: Int64) throws -> (number: Int64?, sizes: [String: Int]) {
        let columns = table.columns.map(\.name)
        let types = ["Z_ENT"] + columns.map { "typeof(\(Connection.quoted($0)))" }
        let found =
            try connection.rows(
                "SELECT \(types.joined(separator: ", ")) FROM \(Connection.quoted(table.name)) WHERE Z_PK = ?",
                [.integer(row)]
            ).first ?? []
        var sizes: [String: Int] = [:]
        for (column, type) in zip(columns, found.dropFirst()) where type.text == "text" {
            sizes[column] = try BlobHandle(column, of: table.name, row: row, schema: "main", on: connection).count
        }
        return (found.first?.integer, sizes)
    }
}

extension EngineOptions {
    /// Only the limits, from which the largest values follow.
    init(limitsOf configuration: Configuration) {
        self.init(chunkSize: .automatic, now: 0)
        (chunkBytes, memoryLimit) = (configuration.chunkBytes, configuration.memoryLimit)
    }
}
