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
import Testing

/// An inferred step over a small store, run in place and copied.
struct InPlaceStep {
    let store: StoreBuilder
    var step: StepPlan

    init(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, maximumKeys: [String: Int64] = [:],
        mappingModels: [MappingModel] = [], rows: [String]
    ) throws {
        store = try StoreBuilder(source, maximumKeys: maximumKeys)
        for sql in rows { try store.connection.execute(sql) }
        step = try InPlaceStep.plan(source, destination, mappingModels)
    }

    /// Returns the only step of the plan between two models.
    static func plan(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ mappingModels: [MappingModel] = []
    ) throws -> StepPlan {
        let versions = [ModelVersion(of: source, name: "Model"), ModelVersion(of: destination, name: "Model 2")]
        return try plan(versions[0], versions[1], mappingModels)
    }

    static func plan(
        _ source: ModelVersion, _ destination: ModelVersion, _ mappingModels: [MappingModel] = []
    ) throws -> StepPlan {
        let catalog = ModelCatalog(versions: [source, destination])
        let plan = Planner(catalog: catalog, mappingModels: mappingModels).plan(
            from: source, to: destination, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return try #require(plan.steps.first)
    }

    private static let options = EngineOptions(chunkSize: .automatic, now: 700_000_000)
    var options: EngineOptions { Self.options }

    /// Runs the step in place on a copy of the store.
    func inPlace() throws -> Connection { try Self.inPlace(step, from: store.path, in: store.folder) }

    func copied() throws -> Connection { try Self.copied(step, from: store.path, in: store.folder) }

    /// Runs a step in place and copied on any store.
    static func bothWays(
        _ step: StepPlan, from path: String, in folder: TemporaryFolder
    ) throws -> (inPlace: Connection, copied: Connection) {
        (try inPlace(step, from: path, in: folder), try copied(step, from: path, in: folder))
    }

    private static func inPlace(_ step: StepPlan, from store: String, in folder: TemporaryFolder) throws -> Connection {
        guard step.mode == .inPlace else {
            return try copied(step, from: store, in: folder, fillsAll: step.keptPart == nil)
        }
        let path = folder.file("InPlace-\(UUID().uuidString).sqlite")
        try Fixtures.copyStore(from: store, to: path)
        let connection = try Connection(path: path, mode: .readWrite)
        // The store need not survive a crash of the machine.
        try connection.execute("PRAGMA synchronous = OFF")
        _ = try StepRun.inStore(step, on: connection, options: options)
        return connection
    }

    /// Runs a step in a file that begins as the store.
    private static func copied(
        _ step: StepPlan, from store: String, in folder: TemporaryFolder, fillsAll: Bool = true
    ) throws -> Connection {
        let folder = folder.file("run-\(UUID().uuidString)")
        try FileLayer().createDirectory(folder)
        let run = StepRun(
            step: fillsAll ? step.filled() : step, sourcePath: store, isSourcePrivate: true, folder: folder,
            options: options, keepsTables: true)
        try FileLayer().copy(store, to: run.destinationPath)
        _ = try run.run()
        try run.finish()
        return try Connection(path: run.destinationPath, mode: .readWrite)
    }

    /// Runs the step in place and copied, and compares every table, column, row and index.
    @discardableResult
    func compare(allowing dead: Set<String> = []) throws -> Connection {
        let (inPlace, copied) = (try inPlace(), try copied())
        #expect(try StoreRows.text(inPlace, leavingOut: dead) == StoreRows.text(copied))
        #expect(try inPlace.value("PRAGMA integrity_check") == .text("ok"))
        return inPlace
    }
}

extension StepPlan {
    /// The step with all tables filled, of a store with anything else.
    func filled() -> StepPlan {
        var step = self
        (step.needsCopyBecause, step.keptPart) = ("the test fills all tables", KeptPart(ofNoTableOf: resolved))
        return step
    }
}

extension StepRun {
    /// Runs a step in a store, with the quick checks of a migration before COMMIT; `damaging` changes the result before
    /// the checks.
    @discardableResult
    static func inStore(
        _ step: StepPlan, on connection: Connection, options: EngineOptions, told: [ToldLoss]? = nil,
        damaging: ((Connection) throws -> Void)? = nil
    ) throws -> StepReport {
        let folder = try TemporaryFolder()
        try connection.execute("PRAGMA journal_mode = WAL")
        try Verification.attach(workFolder: folder.path, to: connection)
        let report: StepReport
        do {
            report = try StepRun(step, in: .store(connection), options: options).run { report in
                if let damaging {
                    connection.keep([])
                    try damaging(connection)
                }
                var verification = Verification(
                    mode: .quick, of: .altered, step: step.resolved, sourcePath: connection.path, isSourcePrivate: true,
                    destinationPath: connection.path, workFolder: folder.path, counts: report.counts, now: options.now)
                verification.told = told ?? ToldLoss.of(step.resolved, reported: nil)
                if damaging == nil { verification.kept = report.kept }
                let differences = try verification.run(before: connection).differences
                guard differences.isEmpty else {
                    // Data that break a rule of the new version are no fault of the step.
                    let breakRules = differences.allSatisfy { $0.check == .constraints }
                    throw FerryError(
                        breakRules ? .mandatoryValue : .verificationFailed,
                        "Differences" + differences.map { ": " + $0.title }.joined())
                }
            }
        } catch {
            try connection.execute("DETACH source; DETACH lookups")
            throw error
        }
        try connection.execute("DETACH source; DETACH lookups")
        return report
    }
}

extension ManagedObjectModel {
    init(_ entities: Entity...) { self.init(versionIdentifiers: [""], entities: entities) }
}

extension Entity {
    static func made(
        _ name: String, parent: String? = nil, abstract: Bool = false, id: String? = nil,
        _ attributes: [Attribute] = [],
        _ relationships: [Relationship] = [], unique: [[String]] = [], indexes: [FetchIndex] = []
    ) -> Entity {
        Entity(
            name: name, superentity: parent, isAbstract: abstract, attributes: attributes, relationships: relationships,
            uniquenessConstraints: unique, fetchIndexes: indexes, renamingIdentifier: id)
    }
}

extension Attribute {
    static func text(_ name: String, id: String? = nil) -> Attribute {
        Attribute(name: name, type: .string, isOptional: true, renamingIdentifier: id)
    }

    static func number(_ name: String, _ type: AttributeType = .integer32, id: String? = nil) -> Attribute {
        Attribute(name: name, type: type, isOptional: true, renamingIdentifier: id)
    }
}

extension Relationship {
    static func one(_ name: String, _ entity: String, inverse: String?, id: String? = nil) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: inverse.map { _ in entity },
            isOptional: true, renamingIdentifier: id)
    }

    static func many(
        _ name: String, _ entity: String, inverse: String?, ordered: Bool = false, id: String? = nil
    ) -> Relationship {
        Relationship(
            name: name, destinationEntity: entity, inverseName: inverse, inverseEntity: inverse.map { _ in entity },
            isOptional: true, isOrdered: ordered, maxCount: 0, renamingIdentifier: id)
    }
}
