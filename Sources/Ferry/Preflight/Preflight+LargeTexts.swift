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
