internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Texts that a copy would refuse, because they need more memory than the limit allows.
struct LargeTextsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    /// Looks for the longest texts in tables that have a row as long, which the sizes of rows tell.
    mutating func check() throws {
        guard !isInPlace else { return }
        let most = options.wholeValueBytes + options.valueBytes
        try findLargeElements()
        for table in layout.tables.values.inOrder(by: { $0.name < $1.name }) {
            guard try input.scans.longestRow(of: table.name, above: most) != nil else { continue }
            for mapping in step.resolved.entityMappings
            where mapping.readsEveryObject && layout.table(of: mapping.source)?.name == table.name {
                let names = mapping.attributes.compactMap { $0.expression?.sourceKey }
                let columns = names.compactMap { layout.column(of: $0, in: mapping.source)?.name }
                guard let longest = try longestTexts(in: columns, of: mapping.source, table.name, most: most),
                    longest.bytes > most
                else { continue }
                refuse(
                    FerryError(
                        .memoryLimitTooLow, valueOf: mapping.source, key: longest.key, entityMapping: mapping.name,
                        memoryLimit: options.memoryLimit, needed: longest.bytes, cause: nil))
                break
            }
        }
    }

    /// Looks for JSON elements of `forEach` that are too long: each is in memory several times, as text and as value.
    private mutating func findLargeElements() throws {
        let search = LargeValueSearch(layout: layout, connection: connection, schema: "main")
        let most = options.valueBytes
        for mapping in step.resolved.entityMappings {
            guard case .json(let value, let key)? = mapping.iteration?.elements,
                let column = value.sourceKey.flatMap({ layout.column(of: $0, in: mapping.source)?.name }),
                let table = layout.table(of: mapping.source)?.name,
                try input.scans.longestRow(of: table, above: most) != nil
            else { continue }
            var last = Int64.min
            while let row = try search.firstKey(of: mapping.source, after: last, above: most) {
                last = row
                let longest = try longestElement(under: key, in: column, of: table, row: row)
                guard longest > most else { continue }
                var refusal = FerryError(
                    .memoryLimitTooLow, valueOf: mapping.source, key: row, entityMapping: mapping.name,
                    memoryLimit: options.memoryLimit, needed: 8 * longest, cause: nil)
                let readable = options.chunkBytes / 2
                if longest > readable {
                    refusal.remedy = """
                        An element of JSON of more than \(readable >> 20) MiB cannot be read at any limit: have the app shorten it.
                        """
                }
                refuse(refusal)
                break
            }
        }
    }

    /// The bytes of the longest element in a row; 0 for a value that is not a text with an array.
    private func longestElement(under key: String, in column: String, of table: String, row: Int64) throws -> Int {
        guard let value = try self.text(in: column, of: table, row: row) else { return 0 }
        let text = StoredText(value)
        do {
            return try Array(key.utf8).withUnsafeBytes { try JSONArrayScanner.longestElement(of: text, key: $0) }
        } catch let error as FerryError where error.code == .rowFailed {
            // The mapping says what happens to invalid JSON.
            return 0
        }
    }

    /// The object of exactly an entity with the longest texts in some columns together; nil if it has no objects.
    ///
    /// Reads texts up to `most` bytes, and of longer ones only the size.
    private func longestTexts(
        in columns: [String], of entity: String, _ table: String, most: Int
    ) throws -> (key: Int64, bytes: Int)? {
        guard !columns.isEmpty, let number = layout.number(of: entity) else { return nil }
        let sizes = columns.map(Connection.quoted).map {
            "CASE typeof(\($0)) WHEN 'text' THEN length(CAST(\($0) AS BLOB)) ELSE 0 END"
        }
        let rows = "FROM \(Connection.quoted(table)) WHERE Z_PK > ?1 AND +Z_ENT = ?2"
        var longest: (key: Int64, bytes: Int)?
        var last: Int64? = .min
        func take(_ key: Int64, _ bytes: Int) {
            last = key
            if bytes > longest?.bytes ?? -1 { longest = (key, bytes) }
        }
        while let after = last {
            do {
                try connection.with(.length, most) {
                    let texts = try connection.prepare(
                        "SELECT Z_PK, \(sizes.joined(separator: " + ")) \(rows) ORDER BY Z_PK")
                    try texts.bind([.integer(after), .integer(number)])
                    while try texts.step() { take(texts.integer(0), Int(texts.integer(1))) }
                }
                last = nil
            } catch let error as DatabaseError where error.isTooBig {
                let next = try connection.integer(
                    "SELECT min(Z_PK) \(rows)", [.integer(last ?? after), .integer(number)])
                guard let next else { throw error }
                take(next, try columns.reduce(0) { try $0 + (text(in: $1, of: table, row: next)?.count ?? 0) })
            }
        }
        return longest
    }

    /// A row's text in a column; nil for another value.
    private func text(in column: String, of table: String, row: Int64) throws -> BlobHandle? {
        let type = "SELECT typeof(\(Connection.quoted(column))) FROM \(Connection.quoted(table)) WHERE Z_PK = ?"
        guard try connection.value(type, [.integer(row)])?.text == "text" else { return nil }
        return try BlobHandle(column, of: table, row: row, schema: "main", on: connection)
    }
}
