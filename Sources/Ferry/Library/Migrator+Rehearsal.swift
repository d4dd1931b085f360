public import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension Migrator {
    /// Runs the migration into a folder beside the store, measures it, and throws the result away.
    ///
    /// The store is read under its guard and not changed; no snapshot is taken. A store that is migrated in place is
    /// copied first, and its copy is migrated.
    ///
    /// - Parameters:
    ///   - configuration: How the migration would run.
    ///   - sample: After how many source rows it ends; nil for a whole migration.
    ///   - stop: Asks for a stop after the unit at work; nothing is kept then.
    ///   - onEvent: Receives what happens, on the thread where it happens.
    /// - Returns: What was measured.
    /// - Throws: ``FerryError`` as ``migrate(_:stop:onEvent:)`` does; `.runActive` while another rehearsal is at work.
    public func rehearse(
        _ configuration: Configuration = Configuration(), sample: Int64? = nil, stop: StopRequest = StopRequest(),
        onEvent: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) throws -> RehearsalReport {
        let place = try RunPlace(store: store.filePath, output: configuration.output?.filePath, files: files)
        let folder = place.result + ".ferry-rehearsal"
        try files.refuseLink(folder)
        try files.createDirectory(folder, mode: 0o700)
        guard let lock = try files.lock(folder + "/lock") else {
            throw FerryError(
                .runActive, "A rehearsal of \(place.store) is at work: \(folder) is locked.",
                remedy: "Wait for it to end, or stop it.")
        }
        defer { withExtendedLifetime(lock) {} }
        // What a killed rehearsal left.
        for entry in try files.list(folder) where entry.name != "lock" {
            try files.removeTree(folder + "/" + entry.name)
        }
        var rehearsed = configuration
        rehearsed.recovers = false
        rehearsed.copiesUnchanged = configuration.output != nil
        rehearsed.output = URL(fileURLWithPath: folder + "/" + FileLayer.name(of: place.result))
        let watch = RehearsalWatch(folder: folder, files: files, sample: sample, stop: stop)
        var migration: MigrationReport?
        do {
            migration = try migrate(rehearsed, stop: stop) { event in
                watch.take(event)
                onEvent(event)
            }
        } catch {
            guard watch.isSampled, (error as? FerryError)?.code == .interrupted else {
                // The first error is the one to report.
                do { try files.removeTree(folder) } catch {}
                throw error
            }
        }
        try files.removeTree(folder)
        var report = watch.report
        migration?.store = URL(fileURLWithPath: place.store)
        report.migration = migration
        report.peakResidentBytes = PeakMemory.bytes(files: files)
        return report
    }
}
