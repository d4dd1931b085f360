internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What everything in a step's run shares: the connection, both layouts, and what the step does.
final class StepContext {
    let step: StepPlan
    let connection: Connection
    /// The names that the source store really has.
    let source: StoreLayout
    /// The names of the new store.
    let destination: StoreLayout
    let program: StepProgram
    let options: EngineOptions
    let progress: ProgressTable
    private let pageSize: Int64
    /// Opens the source alone, under the same name, for a thread that reads while this one writes.
    let openSource: () throws -> Connection

    init(
        step: StepPlan, connection: Connection, source: StoreLayout, destination: StoreLayout,
        program: StepProgram, options: EngineOptions, openSource: @escaping () throws -> Connection
    ) throws(DatabaseError) {
        self.openSource = openSource
        self.program = program
        self.step = step
        self.connection = connection
        self.source = source
        self.destination = destination
        self.options = options
        progress = try ProgressTable(on: connection)
        pageSize = try connection.integer("PRAGMA main.page_size") ?? 4096
    }

    /// The names of the lookups that a step needs, each once.
    static func lookups(of step: StepPlan) -> [String] {
        let names = step.resolved.entityMappings.filter { !$0.unique.isEmpty }
            .map { ScratchDatabase.lookup(of: $0.destination, by: $0.unique) }
        return Set(names).sorted()
    }

    func mapping(named name: String) throws(FerryError) -> ResolvedEntityMapping {
        guard let mapping = step.resolved.entityMapping(named: name) else {
            throw FerryError(.internalError, "The plan names entity mapping \(name), which it does not hold.")
        }
        return mapping
    }

    /// Whether carrying the rows leaves scratch alone: each object becomes one at most, and none is looked up.
    var carriesPlainRows: Bool {
        !program.storesAssociations && step.resolved.entityMappings.allSatisfy(\.isOneToOne)
    }

    func isAssociated(_ mapping: ResolvedEntityMapping) -> Bool {
        program.keys[mapping.position].association != .none
    }

    func sourceTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try known(source.table(of: mapping.source)?.name, "source store has no table", of: mapping.source)
    }

    func destinationTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try known(destination.table(of: mapping.destination)?.name, "new store has no table", of: mapping.destination)
    }

    func sourceNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try known(source.number(of: mapping.source), "source store has no number", of: mapping.source)
    }

    func destinationNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try known(destination.number(of: mapping.destination), "new store has no number", of: mapping.destination)
    }

    private func known<Found>(_ found: Found?, _ problem: String, of entity: String) throws(FerryError) -> Found {
        guard let found else { throw FerryError(.internalError, "The \(problem) for entity \(entity).") }
        return found
    }

    // MARK: Memory

    /// The pages that this connection has written so far, in bytes; no statement is needed to know that.
    var writtenBytes: Int64 { connection.pagesWritten * pageSize }

    // MARK: Units

    /// Runs one unit: its work and its record are committed together, or neither.
    func unit(writesScratch: Bool, _ body: () throws -> Void) throws {
        // Not IMMEDIATE: that would lock scratch for writing too, and make every commit a commit of two files.
        try connection.transaction {
            try body()
            // Where nothing was stored there after all, the commit is one of one file.
            let writesScratch = writesScratch && connection.isWriting("scratch")
            try progress.countUnit(writesScratch: writesScratch)
            if writesScratch { try ScratchDatabase.setLastUnit(progress.lastUnit(), on: connection) }
        }
        options.stop.unitIsDone()
    }

    /// Runs a piece of work that is one unit by itself, unless an earlier call has finished it.
    func once(
        _ unit: String, phase: Phase, subject: String?, writesScratch: Bool = false, _ body: () throws -> Void
    ) throws {
        var entry = try progress.entry(unit)
        guard !entry.isDone else { return }
        try options.stop.check()
        options.progress?(ProgressUpdate(phase: phase, subject: subject))
        try self.unit(writesScratch: writesScratch) {
            try body()
            entry.isDone = true
            try progress.save(entry, for: unit)
        }
    }
}
