internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension MigrationRun {
    /// The statements of each step, found by taking the plan through a store without rows.
    ///
    /// - Throws: ``FerryError`` when the plan cannot run.
    func statements(_ store: OpenedStore) throws -> [PlannedStatements] {
        try WorkThread.withStack { try statementsHere(store) }
    }

    private func statementsHere(_ store: OpenedStore) throws -> [PlannedStatements] {
        guard let plan = try storePlan(store, checksRows: false)?.plan else { return [] }
        if let first = plan.refusals.first { throw first }
        return try files.withWorkFolder(named: "ferry-plan", in: FileManager.default.temporaryDirectory.filePath) {
            folder in
            var path = folder + "/store.sqlite"
            do {
                try StepStatements.makeEmptyStore(like: store.sourceGuard.connection, at: path)
            } catch let error as DatabaseError {
                throw FerryError(
                    .unsupported,
                    "The schema of \(place.store) cannot be made here, so its statements cannot be listed: "
                        + error.message,
                    remedy: "Migrate where the app's own modules and collations are at hand.", cause: error)
            }
            return try plan.steps.enumerated().map { index, step in
                let stepFolder = "\(folder)/step-\(index + 1)"
                try files.createDirectory(stepFolder, mode: 0o700)
                let (statements, next) = try StepStatements.of(
                    step, from: path, in: stepFolder, dropping: index == 0 ? Set(configuration.dropUnknown) : [])
                path = next
                return PlannedStatements(statements, of: step, number: index + 1)
            }
        }
    }
}

extension PlannedStatements {
    fileprivate init(_ found: StepStatements, of step: StepPlan, number: Int) {
        self.init(
            step: number, from: step.resolved.source.name, to: step.resolved.destination.name,
            isInPlace: step.mode == .inPlace,
            groups: found.groups.map { group in
                Group(
                    phase: group.phase, reason: group.reason,
                    statements: group.statements.map { statement in
                        Statement(
                            sql: statement.sql,
                            parameters: statement.values.map { .init(name: $0.name, value: $0.value.literal) })
                    })
            })
    }
}
