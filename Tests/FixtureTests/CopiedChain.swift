import FerryBase
import FerryEngine
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport

/// Runs a store through the steps of a plan as copies, also the steps that could run in place.
struct CopiedChain {
    let folder: TemporaryFolder
    /// The path of the last store.
    let path: String
    /// The rows that the verifications compared.
    private(set) var checked: Int64 = 0

    /// Runs and verifies every step.
    init(_ steps: [StepPlan], from store: String) throws {
        folder = try TemporaryFolder()
        var source = store
        for (index, step) in steps.enumerated() {
            let stepFolder = folder.file("step-\(index + 1)")
            try FileManager.default.createDirectory(atPath: stepFolder, withIntermediateDirectories: true)
            let run = StepRun(
                step: step, sourcePath: source, isSourcePrivate: index > 0, folder: stepFolder,
                options: EngineOptions(chunkSize: .automatic, now: Self.now))
            let report = try run.run()
            checked += try Self.verify(step, of: run, counted: report, at: run.destinationPath)
            try run.finish()
            source = run.destinationPath
        }
        path = source
    }

    /// Returns up to six lines of difference in each direction from a store with the same chain in place.
    ///
    /// Dead columns of earlier versions stay in a table that is not rebuilt.
    static func difference(
        of inPlace: Connection, from chain: CopiedChain, _ version: ModelVersion
    ) throws -> [String] {
        let canonical = try StoreLayout.canonical(for: version.model).tables.values.flatMap(\.columns)
        let actual = try StoreLayout.actual(for: version.model, on: inPlace).tables.values.flatMap(\.columns)
        let dead = Set(actual.map(\.name)).subtracting(canonical.map(\.name))
        let ours = try StoreRows.text(inPlace, leavingOut: dead)
        let copied = try StoreRows.text(Connection(path: chain.path, mode: .readWrite))
        guard ours != copied else { return [] }
        let lines = copied.split(separator: "\n").difference(from: ours.split(separator: "\n"))
        return lines.prefix(6).map { change in
            switch change {
            case .insert(_, let line, _): "copied: \(line.prefix(300))"
            case .remove(_, let line, _): "in place: \(line.prefix(300))"
            }
        }
    }

    private static let now = 700_000_000.0

    /// Verifies a store against its source.
    ///
    /// - Returns: The number of compared rows.
    private static func verify(
        _ step: StepPlan, of run: StepRun, counted report: StepReport, at destination: String
    ) throws -> Int64 {
        let workFolder = run.folder + "/verify"
        try FileManager.default.createDirectory(atPath: workFolder, withIntermediateDirectories: true)
        let found = try Verification(
            mode: .full, step: step.resolved, sourcePath: run.sourcePath, isSourcePrivate: run.isSourcePrivate,
            destinationPath: destination, workFolder: workFolder, counts: report.counts, now: now
        ).run()
        guard found.differences.isEmpty else {
            throw FerryError(
                .verificationFailed, "To \(step.resolved.destination.name): \(found.differences.prefix(5))")
        }
        return found.checked
    }
}
