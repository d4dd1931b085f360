package import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryStore

extension StepSQL {
    /// Writes `Z_MAX` of each root entity: at least the highest key in use, and the source's value if keys are kept.
    func highestKeys() throws(FerryError) -> [ProgramStatement] {
        var statements: [ProgramStatement] = []
        for table in destination.tablesInOrder {
            guard let number = destination.number(of: table.root) else { continue }
            let inUse = Self.highestKey(in: "main.\(table.name)")
            let highest = Self.highest([inUse] + (try keptKeys(inTableOf: table.root)))
            let sql = "UPDATE main.Z_PRIMARYKEY SET Z_MAX = \(highest) WHERE Z_ENT = \(number)"
            statements.append(ProgramStatement(sql, .once))
        }
        return statements
    }

    /// SQL of the highest `Z_PK` or `Z_MAX` in the sources of mappings that keep keys in an entity's table; 0 without
    /// such.
    package func lastKeptKey(inTableOf entity: String) throws(FerryError) -> String {
        Self.highest(try keptKeys(inTableOf: entity))
    }

    /// SQL of the highest key in the table of an entity of the new version; 0 without objects.
    package func lastKey(inTableOf entity: String) throws(FerryError) -> String {
        Self.highestKey(in: "main.\(try destination.knownTable(of: entity, in: "new"))")
    }

    private func keptKeys(inTableOf entity: String) throws(FerryError) -> [String] {
        var (numbers, tables): (Set<Int64>, Set<String>) = ([], [])
        let root = destination.model.root(of: entity)
        for mapping in plan.resolved.entityMappings
        where mapping.mayKeepPrimaryKeys && destination.model.root(of: mapping.destination) == root {
            if let number = source.number(of: source.model.root(of: mapping.source)) { numbers.insert(number) }
            tables.insert(try sourceTable(of: mapping))
        }
        if tables.isEmpty { return [] }
        // A damaged store has a text there.
        let handedOut = """
            ifnull((SELECT max(CAST(Z_MAX AS INTEGER)) FROM source.Z_PRIMARYKEY WHERE Z_ENT IN \
            (\(numbers.sorted().sqlList))), 0)
            """
        return [handedOut] + tables.sorted().map { Self.highestKey(in: "source.\($0)") }
    }

    private static func highestKey(in table: String) -> String { "ifnull((SELECT max(Z_PK) FROM \(table)), 0)" }

    /// SQLite's `max` takes 100 values at least.
    private static let mostValues = 100

    private static func highest(_ values: [String]) -> String {
        guard values.count > 1 else { return values.first ?? "0" }
        guard values.count > mostValues else { return "max(\(values.joined(separator: ", ")))" }
        return highest(
            stride(from: 0, to: values.count, by: mostValues).map {
                highest(Array(values[$0..<min($0 + mostValues, values.count)]))
            })
    }
}
