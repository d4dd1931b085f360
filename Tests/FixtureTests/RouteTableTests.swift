import Ferry
import FerryBase
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Tables of the default chains and their losses for real stores, beside those of one inferred mapping, as Core Data's.
///
/// `FERRY_TABLES=DIR` writes the tables of all stores and versions to `DIR/losses.txt` and `DIR/routes.txt`; otherwise
/// the tests check the stores of three families.
@Suite("Chains and losses of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct RouteTableTests {
    private static let folder = ProcessInfo.processInfo.environment["FERRY_TABLES"]
    private static let few: Set = ["duckduckgo-bookmarks", "scout", "objcio-moody"]

    @Test("The default chain of every store loses nothing that one inferred mapping would keep")
    func losses() throws {
        var lines: [String] = []
        var stores = 0
        for name in try Self.families() {
            let stage = try RouteStage(name)
            for store in Fixtures.stores where store.hasPrefix(name + "/") {
                stores += 1
                lines += try stage.losses(of: store)
            }
            for finding in stage.findings { Issue.record("\(finding)") }
        }
        #expect(Self.folder == nil ? stores > 10 : stores == 63)
        try Self.write(lines, "losses.txt")
    }

    @Test("Every chain with an intermediate version loses nothing that one inferred mapping would keep")
    func routes() throws {
        var lines: [String] = []
        for name in try Self.families() {
            let stage = try RouteStage(name)
            for store in Fixtures.stores where store.hasPrefix(name + "/") { lines += try stage.routes(of: store) }
            for finding in stage.findings { Issue.record("\(finding)") }
        }
        #expect(!lines.isEmpty)
        try Self.write(lines, "routes.txt")
    }

    private static func families() throws -> [String] {
        let names = Set(Fixtures.stores.compactMap { $0.split(separator: "/").first.map(String.init) }).sorted()
        return folder == nil ? names.filter(few.contains) : names
    }

    private static func write(_ lines: [String], _ file: String) throws {
        guard let folder else { return }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
}

/// The models of one family, and a folder for one of its stores at a time.
private final class RouteStage {
    private let name: String
    private let folder: TemporaryFolder
    /// Nil for a family without readable models.
    private let catalog: ModelCatalog?
    private let models: [String]
    private var files: Family?
    private var work: String { folder.file("work.sqlite") }
    private(set) var findings: [String] = []

    init(_ name: String) throws {
        self.name = name
        folder = try TemporaryFolder()
        if let family = StoreFamily.all.first(where: { $0.name == name }) {
            let copied = try family.copied()
            files = copied
            models = family.models.map(copied.folder.file)
        } else {
            models = [Fixtures.path(name)]
        }
        do throws(FerryError) {
            catalog = try ModelCatalog(paths: models)
        } catch {
            guard [.notFound, .badModel].contains(error.code) else { throw error }
            catalog = nil
        }
    }

    private func plan(_ store: String, _ chain: ChainChoice = .automatic, to target: String? = nil) throws -> PlanReport
    {
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: work + suffix) {
            try FileManager.default.removeItem(atPath: work + suffix)
        }
        try Fixtures.copyStore(from: Fixtures.path(store), to: work)
        var configuration = Configuration.allowingLosses { $0.target = target }
        configuration.chain = chain
        configuration.ignoresMappingsBeside = true
        return try Migrator(
            store: URL(fileURLWithPath: work), models: models.map { .url(URL(fileURLWithPath: $0)) }
        ).plan(configuration)
    }

    private func words(_ losses: [Loss]) -> [String] {
        losses.map {
            "    \($0.name): \($0.rows.map { "\($0)" } ?? "?") \($0.property == nil ? "objects" : "values"), \($0.because)"
        }
    }

    /// Returns the obstacle to a plan, except open names of join tables, which affect no value.
    private func obstacle(_ plan: PlanReport) -> String? {
        plan.refusals.first { $0.code != .layoutUnknown }.map { "\($0.code): \($0.message)" }
    }

    // MARK: Losses

    func losses(of store: String) throws -> [String] {
        guard catalog != nil else { return ["\(store): no models"] }
        let found: PlanReport
        do {
            found = try plan(store)
        } catch let error as FerryError {
            return ["\(store): \(error.code), \(error.message)"]
        }
        guard found.chain.count > 1 else { return ["\(store): \(found.chain[0]) is the target"] }
        var lines = ["\(store): \(way(found.chain))"]
        if let obstacle = obstacle(found) { lines.append("    refused: \(obstacle)") }
        lines += found.losses.isEmpty ? ["    loses nothing"] : words(found.losses)
        let straight = try straight(store, found)
        if let straight { compare(found, with: straight, "\(store) to \(found.chain.last ?? "")") }
        lines.append("    one inferred mapping: \(judgement(straight, found))")
        return lines
    }

    private func straight(_ store: String, _ found: PlanReport) throws -> PlanReport? {
        let ends = [found.chain[0], found.chain[found.chain.count - 1]]
        do {
            let plan = try plan(store, .versions(ends), to: ends[1])
            return obstacle(plan) == nil ? plan : nil
        } catch let error as FerryError where error.code == .noSuchVersion {
            // Merged models have no name for a chain option; a chain of one step is one mapping anyway.
            return found.chain.count == 2 ? found : nil
        }
    }

    private func compare(_ found: PlanReport, with straight: PlanReport, _ name: String) {
        guard obstacle(found) == nil else { return }
        let more = Set(found.losses.map(\.name)).subtracting(straight.losses.map(\.name))
        // The losses of a removed entity name no property.
        let entities = Set(straight.losses.filter { $0.property == nil }.map(\.entity))
        let lost = found.losses.filter { more.contains($0.name) && !entities.contains($0.entity) }.map(\.name)
        if !lost.isEmpty { findings.append("\(name) loses \(lost), which one inferred mapping keeps") }
    }

    private func judgement(_ straight: PlanReport?, _ found: PlanReport) -> String {
        guard let straight else { return "cannot be inferred" }
        let more = Set(straight.losses.map(\.name)).subtracting(found.losses.map(\.name)).sorted()
        if !more.isEmpty { return "would lose \(more.joined(separator: ", ")) as well" }
        return found.chain.count == 2 ? "the same" : "loses the same"
    }

    private func way(_ chain: [String]) -> String {
        chain.count > 6
            ? "\(chain[0]) → \(chain[1]) → … (\(chain.count - 4) more) → \(chain[chain.count - 2]) → \(chain[chain.count - 1])"
            : chain.joined(separator: " → ")
    }

    // MARK: Routes

    /// Of a list of more than 20 versions only the nearest and the last: each plan takes seconds in a debug build.
    func routes(of store: String) throws -> [String] {
        guard let catalog else { return [] }
        let copies = try TemporaryFolder()
        let own = try StoreMetadata.read(
            from: Connection(path: Fixtures.copyStore(store, into: copies), mode: .readOnly))
        guard let place = catalog.versions.lastIndex(where: { $0.hashes == own.hashes }) else { return [] }
        var seen: Set = [own.hashes]
        let later = catalog.versions[(place + 1)...].filter { seen.insert($0.hashes).inserted }
        var lines: [String] = []
        for (between, target) in later.enumerated() where between > 0 {
            let isKept = catalog.versions.count <= 20 || between == 1 || between == later.count - 1
            guard isKept else { continue }
            lines.append(try route(store, catalog.displayName(of: target), between: between))
        }
        return lines
    }

    private func route(_ store: String, _ target: String, between: Int) throws -> String {
        let head = "\(store) → \(target), \(between) between:"
        do {
            let found = try plan(store, to: target)
            guard found.chain.count > 1 else { return "\(head) \(obstacle(found) ?? "nothing to do")" }
            let straight = try straight(store, found)
            if let straight { compare(found, with: straight, "\(store) to \(target)") }
            let taken =
                obstacle(found).map { "refused (\($0))" }
                ?? (found.chain.count == 2
                    ? "one inferred mapping" : "\(found.chain.count - 1) steps: \(way(found.chain))")
            let lost = found.losses.map(\.name)
            return "\(head) \(taken); loses \(lost.isEmpty ? "nothing" : lost.joined(separator: ", ")); "
                + "Core Data's one mapping: \(judgement(straight, found))"
        } catch let error as FerryError {
            return "\(head) \(error.code): \(error.message)"
        }
    }
}
