package import Ferry
internal import FerryBase

/// What a report file has of a run besides its outcome: the plan, its details, and the samples of memory and rows.
package struct RunDetails {
    /// Nil if the run ended before its plan.
    var plan: PlanReport?
    var planned = PlanDetails()
    var memoryLimit: Int64 = 0
    var samples = RunSamples()

    package init(
        plan: PlanReport? = nil, planned: PlanDetails = PlanDetails(), memoryLimit: Int64 = 0,
        samples: RunSamples = RunSamples()
    ) {
        (self.plan, self.planned, self.memoryLimit, self.samples) = (plan, planned, memoryLimit, samples)
    }

    var json: JSON {
        let plan: JSON = plan.map { ["steps": $0.stepsJSON, "links": $0.linksJSON, "notes": $0.notes] } ?? [:]
        return plan + ["memoryLimit": memoryLimit, "samples": samples.json] + planned.json
    }

    /// The parts of a page about the run; `label` words a phase.
    func parts(label: (Phase) -> String) -> [Report.Part] {
        let drawing = RunDrawing(samples, limit: memoryLimit, label: label).markup
        return [
            .onPage("Over time", drawing.map { [$0] } ?? []),
            .lineage(planned.lineages ?? []), .statements(planned.statements ?? []),
        ]
    }
}
