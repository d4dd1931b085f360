internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import Foundation

extension MigrationRun {
    static func url(_ path: String) -> URL { URL(fileURLWithPath: path) }

    private func options(_ plan: MigrationPlan) -> RunRecord.Options {
        RunRecord.Options(
            target: plan.chain.last ?? "", output: place.output, verify: configuration.verification,
            takesSnapshot: takesSnapshot, damaged: configuration.damaged,
            dropUnknown: configuration.repairs.removals.sorted(),
            schema: plan.steps.last?.resolved.destination.model.knownSchema?.digest,
            joinTables: configuration.joinTables.isEmpty ? nil : configuration.joinTables.sorted(),
            adopts: configuration.repairs.adoption ? true : nil, hasStages: configuration.hasStages ? true : nil)
    }

    /// The record of a run that begins with a plan; nil for the copy of a store with the target version.
    func record(_ plan: MigrationPlan, of planned: Planned? = nil) -> RunRecord.Migration {
        RunRecord.Migration(
            options: options(plan), chain: plan.chain, passes: plan.passes, now: now, isInPlace: plan.isInPlace,
            runsInFolder: !plan.mayChangeStore, copying: planned?.copying ?? .init(),
            obstacles: planned?.obstacles ?? .init(), rows: planned?.rows ?? [:], mappingModels: plan.fingerprints,
            layoutStore: planned?.ends.layoutStore)
    }

    /// Resumes a run with the same options, or begins a new one unless the check refuses it.
    ///
    /// - Returns: Nil if the output exists already.
    /// - Throws: ``FerryError``; a run that could not begin leaves no files.
    func begin(
        _ plan: MigrationPlan, _ record: RunRecord.Migration, _ sourceGuard: SourceGuard, folder found: RunFolder?,
        known: RunSession?, _ check: () throws -> Findings
    ) throws -> RunSession? {
        if let known {
            guard known.head.kind == .migration else {
                throw FerryError(
                    .runDiffers, "\(place.runFolder) contains an unfinished rollback.",
                    remedy: """
                        Finish it with \(action: .rollBack), or discard it and \(action: .again) with \(on: .restart).
                        """)
            }
            try checkSame(known, plan, sourceGuard.fingerprint().with(inputs: inputs.digests))
            try known.folder.checkPlace()
            // The folder may have another path now.
            known.takeSaved()
            resume(with: known)
            return known
        }
        if try hasOutput(of: plan, sourceGuard) { return nil }
        relay.begin(.preflight)
        var (record, folder) = (record, found)
        do {
            do {
                if let output = place.output { try StoreFileNames(output).checkNothingIsThere(files: files) }
                record.findings = try sourceGuard.scanning(memory, until: stop, check)
            } catch {
                throw error is DatabaseError ? FerryError.beforeRun(error, on: place.store) : error
            }
            let own = try found ?? RunFolder(path: place.runFolder, files: files)
            folder = own
            let session = RunSession(own, try RunRecord(in: own, on: sourceGuard, inputs: inputs.digests))
            session.migration = record
            // From here on the folder belongs to this run.
            try session.save()
            noteTimes(session)
            stop.unitIsDone()
            return session
        } catch {
            // A kill can leave the folder of an unbegun or finished run.
            if let folder, folder.record == nil { try folder.remove() }
            throw error
        }
    }

    /// Whether the output is the unchanged result of an equal command, as after a kill at the very end of a run.
    func hasOutput(of plan: MigrationPlan, _ sourceGuard: SourceGuard) throws -> Bool {
        guard let output = place.output, !configuration.restart, let file = try files.attributesIfPresent(output),
            let last = try RunLog(beside: output, files: files).last, let source = last.source,
            last.output == FileState(file)
        else { return false }
        // A change by another program may be in the output's side files alone; a reader leaves empty ones.
        guard try StoreFileNames(output).areJournalsEmpty(files: files) else { return false }
        let now = try sourceGuard.fingerprint().with(inputs: inputs.digests)
        // The file is the same, though an earlier command may have used another path for it.
        var asked = last.options
        asked?.output = output
        return asked == options(plan) && last.chain == plan.chain && source.compare(with: now) == .same
    }

    /// The session, or nil for one on the store itself of which only the snapshot was taken, if the store or the plan has
    /// changed: then a new run begins.
    func continued(_ session: RunSession, _ plan: MigrationPlan, _ sourceGuard: SourceGuard) throws -> RunSession? {
        guard session.head.migration?.isOnStore == true else { return session }
        do {
            try checkSame(session, plan, sourceGuard.fingerprint().with(inputs: inputs.digests))
            return session
        } catch let error as FerryError where [.runDiffers, .sourceChanged].contains(error.code) {
            try session.folder.clear()
            return nil
        }
    }

    /// Checks that an unfinished run has the requested options and began with this store.
    private func checkSame(_ session: RunSession, _ plan: MigrationPlan, _ now: Fingerprint) throws {
        let migration = session.migration
        let wanted = options(plan)
        let isSameOutput = try place.isOutput(migration.options.output, files: files)
        let different = [
            ("target", migration.options.target == wanted.target && migration.chain == plan.chain),
            ("division into steps", migration.passes == plan.passes),
            ("output", isSameOutput),
            ("verification", migration.options.verify == wanted.verify),
            (
                "mode",
                migration.isInPlace == plan.isInPlace && migration.runsInFolder == !plan.mayChangeStore
            ),
            ("snapshot", migration.options.takesSnapshot == wanted.takesSnapshot),
            ("treatment of damaged rows", migration.options.damaged == wanted.damaged),
            ("list of objects to drop", migration.options.dropUnknown == wanted.dropUnknown),
            ("treatment of leftovers", migration.options.adopts == wanted.adopts),
            ("choice of hooks between steps", migration.options.hasStages == wanted.hasStages),
            ("template store", migration.options.schema == wanted.schema),
            ("choice of names of join tables", migration.options.joinTables == wanted.joinTables),
        ].first { !$0.1 }?.0
        if let different {
            throw FerryError(
                .runDiffers,
                "\(place.runFolder) contains an unfinished run to \(migration.options.target) with a different \(different).",
                remedy: "Repeat it with the options of the first call, or discard it with \(on: .restart).")
        }
        switch session.head.comparison(with: now) {
        case .same: break
        case .storeChanged(let what): throw session.head.sourceChanged(what)
        case .inputChanged(let path):
            throw FerryError(
                .runDiffers,
                "\(path) has changed since the run in \(place.runFolder) began, or only one of the two calls names it.",
                remedy: "Use the models and mapping models of the first call, or start over with \(on: .restart).")
        }
    }
}

extension KnownSchema {
    /// The SHA-256 of the schema, in hexadecimal.
    var digest: String {
        var hash = SHA256()
        for (entity, number) in entityNumbers.inOrder(by: { $0.value < $1.value }) {
            hash.update("\(entity)\n\(number)\n")
        }
        for table in tables {
            let columns = table.columns.map { "\($0.name) \($0.type)" }
            hash.update("\(table.name)\n\(columns)\n\(table.keyColumns)\n\(table.uniqueLists)\n")
        }
        for object in objects { hash.update("\(object.type)\n\(object.name)\n\(object.table)\n\(object.sql)\n") }
        return hash.finalize().hexadecimal
    }
}

extension MigrationPlan {
    /// The SHA-256 of each mapping model from a file, by name.
    fileprivate var fingerprints: [String: String] {
        let models = steps.flatMap(\.singles).flatMap(\.mappingModels).filter { !$0.isInferred }
        return Dictionary(first: models.map { ($0.name, $0.fingerprint.hexadecimal) })
    }
}
