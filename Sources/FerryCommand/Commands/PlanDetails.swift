package import Ferry
internal import FerryBase

/// What only a report has of a plan: the statements of each step, and the way of each property that changes.
package struct PlanDetails {
    /// Nil for a command without a report, and if the migration is refused.
    var lineages: [PropertyLineage]?
    var statements: [PlannedStatements]?

    package init(lineages: [PropertyLineage]? = nil, statements: [PlannedStatements]? = nil) {
        (self.lineages, self.statements) = (lineages, statements)
    }

    /// Statements may need a module that this program does not have, and a plan may be refused: the command itself says
    /// so, as it reports an error of `migrator`, and the report has what can be told.
    init(_ migrator: @autoclosure () throws -> Migrator, _ configuration: Configuration) {
        do {
            let migrator = try migrator()
            lineages = try migrator.lineages(configuration)
            // A plan of a hundred versions holds some MiB; the migration needs them.
            releaseUnusedMemory()
            statements = try migrator.statements(configuration)
        } catch _ {}
        releaseUnusedMemory()
    }

    var json: JSON {
        var json: JSON = [:]
        if let lineages { json += ["lineage": Self.json(lineages)] }
        if let statements { json += ["sql": StatementRendering(steps: statements).json] }
        return json
    }

    private static func json(_ lineages: [PropertyLineage]) -> JSON {
        .list(lineages) { lineage in
            [
                "property": lineage.property,
                "versions": JSON.list(lineage.stops) {
                    ["version": $0.version, "properties": $0.properties, "isByPolicy": $0.isByPolicy]
                },
            ]
        }
    }
}
