internal import Ferry

/// The parts of a plan's JSON that the report of a migration has, too.
extension PlanReport {
    var stepsJSON: JSON { .list(steps, \.json) }

    var linksJSON: JSON {
        .list(links) { ["from": $0.from, "to": $0.to, "inferred": $0.isInferred, "reason": $0.reason] }
    }
}

extension PlanReport.Step {
    fileprivate var json: JSON {
        [
            "from": from, "to": to, "versions": versions, "isApartBecause": isApartBecause,
            "mode": mode.rawValue, "reason": reason, "mappingModels": mappingModels,
            "partitions": JSON.list(partitions) { mappings in
                [
                    "entityMappings": JSON.list(mappings) {
                        [
                            "name": $0.name, "source": $0.source, "destination": $0.destination,
                            "executor": $0.executor.rawValue, "reason": $0.reason, "rows": $0.rows,
                            "estimated": $0.isEstimated,
                        ]
                    }
                ]
            },
            "scratchBytes": scratchBytes,
            "tables": tables.map { tables in
                JSON.list(tables) {
                    [
                        "name": $0.name, "entity": $0.entity, "treatment": $0.treatment.rawValue,
                        "reason": $0.reason,
                    ]
                }
            },
        ]
    }
}
