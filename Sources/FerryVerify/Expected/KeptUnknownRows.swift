internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Rows of no entity that a migration in place leaves where they were: under the same key, with the same number.
///
/// No model says what stands in their columns, so that nothing else of them is looked at.
final class KeptUnknownRows {
    private unowned let context: VerificationContext
    /// By destination root.
    private var statements: [String: [Statement]] = [:]

    init(_ context: VerificationContext) { self.context = context }

    /// Whether a row of a destination table was one of no entity before; never so of a copy.
    func holds(_ key: Int64, in root: String) throws -> Bool {
        guard context.verification.isInPlace else { return false }
        for statement in try statements(of: root) {
            try statement.bind(key, at: 1)
            defer { statement.reset() }
            if try statement.step() { return true }
        }
        return false
    }

    /// How many rows had a number before that was no entity's; nil where it was one's, and for a copy.
    func count(_ number: Value, in root: String) throws -> Int64? {
        guard context.verification.isInPlace else { return nil }
        var before: Int64 = 0
        for source in sources(of: root) {
            if let number = number.integer, numbers(of: source).contains(number) { return nil }
            before +=
                try context.connection.integer(
                    "SELECT count(*) FROM source.\(try context.sourceTable(of: source).name) WHERE Z_ENT IS ?",
                    [number]) ?? 0
        }
        return before
    }

    private func sources(of root: String) -> [String] {
        Set(context.keepers(into: root).map { context.sourceModel.root(of: $0.source) }).sorted(by: codeUnitOrder)
    }

    /// Of the entities that a source table holds.
    private func numbers(of source: String) -> [Int64] {
        context.sourceModel.family(of: source).compactMap { context.source.number(of: $0) }
    }

    private func statements(of root: String) throws -> [Statement] {
        if let known = statements[root] { return known }
        let table = try context.destinationTable(of: root).name
        var made: [Statement] = []
        for source in sources(of: root) {
            let numbers = numbers(of: source).map(String.init).joined(separator: ", ")
            made.append(
                try context.connection.prepare(
                    """
                    SELECT 1 FROM source.\(try context.sourceTable(of: source).name) AS s
                    JOIN destination.\(table) AS d ON d.Z_PK = s.Z_PK AND d.Z_ENT IS s.Z_ENT
                    WHERE s.Z_PK = ?1 AND ifnull(s.Z_ENT NOT IN (\(numbers)), 1)
                    """))
        }
        statements[root] = made
        return made
    }
}
