internal import Ferry
internal import FerryBase

/// What only a report has of a plan: the statements of each step, and the way of each property that changes.
struct PlanDetails {
    let json: JSON

    /// Statements may need a module that this program does not have, and a plan may be refused: the command itself says
    /// so, and the report has what can be told.
    init(_ migrator: Migrator, _ configuration: Configuration) {
        var details: JSON = [:]
        do {
            details += ["lineage": Self.lineage(try migrator.lineages(configuration))]
            // A plan of a hundred versions holds some MiB; the migration needs them.
            releaseUnusedMemory()
            details += ["sql": StatementRendering(steps: try migrator.statements(configuration)).json]
        } catch _ {}
        releaseUnusedMemory()
        json = details
    }

    private static func lineage(_ lineages: [PropertyLineage]) -> JSON {
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
