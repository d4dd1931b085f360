internal import FerryBase
internal import FerryStore

extension MigrationRun {
    /// Puts the last step's destination in place; the rename, or COMMIT of the swap, ends the migration.
    func swap(_ session: RunSession, _ sourceGuard: SourceGuard) throws {
        try stop.check()
        session.head.phase = .swap
        if configuration.holdsSwap {
            try session.save()
            throw FerryError(
                .swapHeld, "Everything is done except the swap: the migrated store is in \(session.folder.path).",
                remedy: """
                    \(action: .again) without \(setting: .holdsSwap) to swap it in. If \(place.store) changes \
                    before then, start over with \(on: .restart).
                    """)
        }
        relay.begin(.swap)
        let destination = session.destination(ofStep: session.migration.steps.count)
        if let output = place.output {
            try session.head.checkSource(sourceGuard.fingerprint())
            try session.checkVerified(destination, of: place.store)
            try noteExternalFiles(sourceGuard, session)
            try move(destination, to: output, session)
            try sourceGuard.close()
        } else {
            try Swap(
                sourceGuard: sourceGuard, destination: destination, session: session, memory: memory,
                largestLogged: configuration.thresholds.largestLoggedSwap, stop: stop, progress: relay.hook(),
                trace: configuration.trace, checkSnapshot: { try self.checkSnapshot(of: session) }
            ).run()
        }
        noteTimes(session)
    }

    /// Moves a verified destination to the output, where no file exists; the source store stays unchanged.
    private func move(_ destination: String, to output: String, _ session: RunSession) throws {
        try removeEmptyJournals(of: destination, files: files)
        let external = ExternalFiles(store: output, files: files)
        // External files that only the old store needs are deleted with the run folder.
        if place.ownsExternalFiles {
            try external.add(from: ExternalData.folder(forStore: place.store), refusesDifference: true)
        }
        try external.add(from: ExternalData.folder(forStore: destination), refusesDifference: true)
        for path in StoreFileNames(output).all where try files.exists(path) {
            throw FerryError(
                .outputExists, "\(path) appeared during the migration.",
                remedy: "Move it away and \(action: .again). Everything else is finished.")
        }
        session.head.swap = .place(SwapIntent.Place(try files.attributes(destination)))
        try session.save()
        try files.renameToFree(destination, to: output)
        try files.syncFolder(FileLayer.parent(of: output))
    }

    /// Notes the external files that the store names, while it still exists.
    func noteExternalFiles(_ sourceGuard: SourceGuard, _ session: RunSession) throws {
        guard place.ownsExternalFiles else { return }
        try ExternalFiles(store: place.store, files: files)
            .noteNames(on: sourceGuard.connection, workFolder: session.folder.path)
    }
}
