import Ferry
import Foundation

/// An app that has a store of an earlier version, with its models among its resources.
@main
struct Notes {
    private struct Unexpected: Error, CustomStringConvertible { var description: String }

    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { throw Unexpected(description: "Usage: Notes STORE") }
        let store = URL(fileURLWithPath: CommandLine.arguments[1])
        guard let mapping = Bundle.module.url(forResource: "NoteToNote", withExtension: "json") else {
            throw Unexpected(description: "The mapping model is not among the resources.")
        }
        let migrator = try Migrator(
            store: store, bundles: [.module], mappings: [mapping],
            policies: ["NoteToNotePolicy": { NoteToNotePolicy() }])
        print("The store has version \(try migrator.identify().version ?? "unknown").")

        try await cancel(migrator)
        let state = try StoreFiles(store).status().state
        guard state == .interrupted else { throw Unexpected(description: "The run is \(state).") }
        try await launch(migrator)

        let found = try await Verifier(store: store, models: ModelSource.all(in: .module)).verifyStore()
        guard found.differences.isEmpty else { throw Unexpected(description: "\(found.differences)") }
        print("Verified: \(found.checked) rows.")
        guard case .upToDate = try await migrator.migrateIfNeeded() else {
            throw Unexpected(description: "A migrated store was to be migrated again.")
        }
        print("Up to date.")
    }

    /// Migrates, and thinks better of it.
    private static func cancel(_ migrator: Migrator) async throws {
        let (begun, signal) = AsyncStream.makeStream(of: Int64.self)
        let work = Task {
            try await migrator.migrate(Configuration { $0.chunks.size = .rows(100) }) { event in
                guard case .progress(let update) = event, update.phase == .rows else { return }
                signal.yield(update.done)
            }
        }
        for await rows in begun where rows > 0 { break }
        work.cancel()
        do {
            _ = try await work.value
            throw Unexpected(description: "It was done before it was cancelled: the store is too small.")
        } catch let error as FerryError where error.code == .interrupted {
            print("Cancelled: \(error)")
        }
    }

    /// What the app does whenever it starts, until its store is ready.
    private static func launch(_ migrator: Migrator) async throws {
        let progress = Progress(totalUnitCount: 1)
        for start in 1...1_000 {
            let outcome = try await migrator.migrateIfNeeded(budget: .milliseconds(200), progress: progress) { event in
                switch event {
                case .planned(let plan): print("Start \(start): \(plan.chain.joined(separator: " to ")).")
                case .warning(let warning): print("Warning: \(warning.message)")
                case .phase, .progress, .finished: break
                // Later versions of Ferry may tell more.
                @unknown default: break
                }
            }
            switch outcome {
            case .migrated(let report):
                guard report.resumed, progress.isFinished else {
                    throw Unexpected(description: "The run was not gone on with.")
                }
                let rows = report.entityMappings.map(\.written).reduce(0, +)
                print("Migrated \(rows) notes at start \(start).")
                return
            case .unfinished: print("Start \(start): at \(Int(progress.fractionCompleted * 100)) %.")
            case .noStore, .upToDate: throw Unexpected(description: "There was nothing to migrate.")
            @unknown default: throw Unexpected(description: "\(outcome)")
            }
        }
        throw Unexpected(description: "1000 starts did not end the migration.")
    }
}
