internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerryStore

extension MigrationRun {
    /// The engine's options for a step, with the damage and the objects of the store itself for the first one.
    ///
    /// A copy leaves no dangling keys. Steps in place keep theirs, so a step after them searches for damage again.
    func engineOptions(
        _ migration: RunRecord.Migration, step: Int, after steps: ArraySlice<StepPlan> = []
    ) -> EngineOptions {
        var options = EngineOptions(
            chunkSize: configuration.chunks.size, now: migration.now, trace: configuration.trace,
            progress: relay.hook(step: step), stop: stop, externalFolder: ExternalData.folder(forStore: place.store))
        options.chunkBytes = configuration.chunks.bytes
        options.chunkNanoseconds = configuration.chunks.time.clampedNanoseconds
        options.memoryLimit = configuration.limits.memory
        options.memoryHeld = held
        options.damaged = configuration.damaged
        options.sample = configuration.sample
        let damage = migration.findings.damage
        options.sourceDamage = steps.isEmpty ? damage : []
        if !damage.isEmpty, !steps.isEmpty, steps.allSatisfy({ $0.mode == .inPlace }) { options.sourceDamage = nil }
        options.dropping = steps.isEmpty ? configuration.dropping : []
        return options
    }
}
