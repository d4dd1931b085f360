internal import BenchmarkHarness
internal import Ferry
internal import FerryBase
internal import Foundation

/// Fifty versions passed as one step, beside the single step from the first to the last.
struct ChainCase: BenchmarkCase {
    let name = "chain"
    let summary = "fifty versions, each one attribute apart: in place and copied, beside the single step to the last"
    let sides = [
        Side("chain in place", "50 versions composed, on a copy of the store, without snapshot", isCounted: true),
        Side("step in place", "the first and the last version only"),
        Side("chain copied", "50 versions composed, to a new file, neither snapshot nor verification"),
        Side("step copied", "the first and the last version only"),
    ]
    let measures: [Measure] = [
        .time(of: "chain in place", against: "step in place", budget: 1.2),
        .time(of: "chain copied", against: "step copied", budget: 1.2),
        .written(by: "chain copied", against: "step copied"), .statements(of: "chain in place"),
        .peak(of: "chain in place"),
    ]

    func prepare(_ point: BenchPoint, in folder: String) throws { try ChainSubject.write(rows: point.rows, to: folder) }

    func run(_ side: String, _ point: BenchPoint, data: String, work: String, probe: Probe) throws {
        let (isChain, isCopy) = (side.hasPrefix("chain"), side.hasSuffix("copied"))
        let store = isCopy ? Subject.store(data) : try Subject.copyStore(data, work: work)
        let output = isCopy ? URL(fileURLWithPath: "\(work)/New.sqlite") : nil
        let report = try probe.measure(rows: point.rows) {
            // Reading the models belongs to the measured work, as it belongs to every call.
            var configuration = Configuration {
                $0.losses = .allow
                $0.target = ChainSubject.target(isChain: isChain)
                $0.output = output
                $0.executor = isCopy ? .set : .automatic
                $0.verification = .none
                $0.snapshots.form = .none
                $0.trace = probe.trace
            }
            // One inferred mapping would lead straight to the last version, and lose an attribute that was renamed
            // twice.
            if isChain { configuration.chain = .versions(ChainSubject.chain) }
            configuration.ignoresMappingsBeside = true
            return try ChainSubject.migrator(data, store: store, isChain: isChain, isCopy: isCopy).migrate(
                configuration)
        }
        let passes = Set(report.entityMappings.map(\.step)).count
        guard report.outcome == .migrated, report.mode == (isCopy ? .copy : .inPlace), passes == 1,
            report.entityMappings.map(\.written).max() == Int64(point.rows)
        else {
            throw FerryError(.internalError, "\(side) took \(passes) passes and was \(report.mode).")
        }
        for phase in report.phases { probe.note("\(phase.phase.rawValue), s", phase.time.inSeconds) }
    }
}
