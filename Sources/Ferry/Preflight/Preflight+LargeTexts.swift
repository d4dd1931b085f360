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
        for (table, longest) in walk.longestRows.sorted(by: { $0.key < $1.key }) where longest.bytes > most {
            let sizes = try textSizes(in: table, row: longest.key)
            for mapping in step.resolved.entityMappings
            where mapping.readsEveryObject && layout.table(of: mapping.source)?.name == table {
                let copied = mapping.attributes.reduce(0) { sum, attribute in
                    guard case .keyPath(.variable("source"), let steps)? = attribute.expression, steps.count == 1,
                        case .key(let name) = steps[0], let column = layout.column(of: name, in: mapping.source)
                    else { return sum }
                    return sum + sizes[column.name, default: 0]
                }
                guard copied > most, try number(in: table, row: longest.key) == layout.number(of: mapping.source) else {
                    continue
                }
                refusals.append(
                    FerryError(
                        valueOf: mapping.source, key: longest.key, entityMapping: mapping.name,
                        memoryLimit: configuration.memoryLimit, needed: 2 * copied, cause: nil))
                break
            }
        }
    }

    private func number(in table: String, row: Int64) throws -> Int64? {
        try connection.value(
            "SELECT Z_ENT FROM \(Connection.quoted(table)) WHERE Z_PK = ?", [.integer(row)])?.integer
    }

    /// The bytes of the texts in a row of an entity's table, by column.
    private func textSizes(in table: String, row: Int64) throws -> [String: Int] {
        let columns = layout.entityNumbers.keys.filter { layout.table(of: $0)?.name == table }.sorted().first
            .flatMap { layout.table(of: $0)?.columns.map(\.name) }
        guard let columns, !columns.isEmpty else { return [:] }
        let types = columns.map { "typeof(\(Connection.quoted($0)))" }.joined(separator: ", ")
        let found = try connection.rows(
            "SELECT \(types) FROM \(Connection.quoted(table)) WHERE Z_PK = ?", [.integer(row)])
        var sizes: [String: Int] = [:]
        for (column, type) in zip(columns, found.first ?? []) where type.text == "text" {
            sizes[column] = try BlobHandle(column, of: table, row: row, schema: "main", on: connection).count
        }
        return sizes
    }
}

extension EngineOptions {
    /// Only the limits, from which the largest values follow.
    init(limitsOf configuration: Configuration) {
        self.init(chunkSize: .automatic, now: 0)
        (chunkBytes, memoryLimit) = (configuration.chunkBytes, configuration.memoryLimit)
    }
}
