import FerryBase
import FerryMapping
import FerryModel
import FerryPlan
import Foundation
import TestSupport
import Testing

/// What the steps of all real mapping models do with the tables of their entity mappings.
///
/// `FERRY_TABLES=DIR` writes the table to `DIR/treatments.txt`.
@Suite("Treatments of real mapping models", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct TreatmentTableTests {
    private struct Step: Hashable {
        var folder: String
        var source: String
        var destination: String
    }

    /// The real versions of mapping models with outdated names for them.
    private static let versions: [String: (source: String, destination: String)] = [
        "AnyMap-1_2": ("Any", "Any2"), "AnyMap-1_3": ("Any", "Any3"), "AnyMap-2_3": ("Any2", "Any3"),
    ]

    private static func steps() throws -> [Step: [MappingModel]] {
        var steps: [Step: [MappingModel]] = [:]
        for path in Fixtures.items where path.hasSuffix(".xcmappingmodel") || path.hasSuffix(".cdm") {
            let model = try MappingFile.load(path: Fixtures.path(path))
            let name = (path as NSString).lastPathComponent.split(separator: ".").dropLast().joined(separator: ".")
            let names = versions[name] ?? (model.sourceVersion, model.destinationVersion)
            let folder = (path as NSString).deletingLastPathComponent
            steps[Step(folder: folder, source: names.0, destination: names.1), default: []].append(model)
        }
        return steps
    }

    private static func catalog(of folder: String) throws -> ModelCatalog {
        let items = try FileManager.default.contentsOfDirectory(atPath: Fixtures.path(folder)).sorted()
        // Two more bundles there have versions of the same names.
        if folder.hasSuffix("corestore-evolution") {
            return try ModelCatalog(paths: [Fixtures.path("\(folder)/V1.xcdatamodeld")])
        }
        return try ModelCatalog(
            paths: items.filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }
                .map { Fixtures.path("\(folder)/\($0)") })
    }

    /// Of several bundles with a version of the name, one that has both versions of the mapping models.
    private static func version(_ name: String, _ catalog: ModelCatalog) throws -> ModelVersion {
        do {
            return try catalog.version(named: name)
        } catch {
            let stem = ((name as NSString).lastPathComponent as NSString).deletingPathExtension
            let bundle = ((name as NSString).deletingLastPathComponent as NSString).lastPathComponent
            return try #require(
                catalog.versions.first { $0.path.hasSuffix("\(bundle)/\(stem).xcdatamodel") }
                    ?? catalog.versions.first { $0.name == stem }, "\(name)")
        }
    }

    private static func plan(_ step: Step, _ models: [MappingModel]) throws -> MigrationPlan {
        let all = try catalog(of: step.folder)
        let (source, target) = (try version(step.source, all), try version(step.destination, all))
        let methods: Set<String> = ["changeID:", "multiplyByTen:"]
        let classes = models.flatMap { $0.entityMappings.compactMap(\.policyClassName) }
        // Bundles with one version of the same name each.
        let names = ["Model 1", "Model 2"]
        let renamed = zip([source, target], names).map { version, name in
            var version = version
            version.path = FileLayer.parent(of: version.path) + "/\(name).xcdatamodel"
            version.name = name
            return version
        }
        let planner = Planner(
            catalog: ModelCatalog(versions: renamed),
            mappingModels: models.map { model in
                var model = model
                (model.sourceVersion, model.destinationVersion) = (names[0], names[1])
                return model
            },
            policies: KnownPolicies(Dictionary(classes.map { ($0, methods) }, uniquingKeysWith: { first, _ in first })),
            composes: false)
        return planner.plan(
            from: renamed[0], to: renamed[1], rows: source.model.entities.mapValues { $0.isAbstract ? 0 : 1_000 },
            areRowsEstimated: false)
    }

    @Test("Every entity mapping that carries its objects over as they are has its table kept or altered")
    func table() throws {
        var lines: [String] = []
        var counts: [String: Int] = [:]
        var carried: [String: Int] = [:]
        var refused: [String] = []
        for (step, models) in try Self.steps().sorted(by: { "\($0.key)" < "\($1.key)" }) {
            // Only the app's code tells the order of several mapping models.
            let orders = models.count == 1 ? [models] : [models, models.reversed(), Array(models[1...] + models[..<1])]
            let plans = try orders.map { try Self.plan(step, $0) }
            let plan = try #require(plans.first { $0.refusals.isEmpty } ?? plans.first)
            #expect(plan.steps.count == 1 || !plan.refusals.isEmpty, "\(step)")
            if plan.steps.isEmpty {
                // Its partitions need each other.
                refused.append(step.folder)
                lines.append("| \(step.folder) | \(step.source) → \(step.destination) | refused | | | | |")
            }
            for planned in plan.steps {
                let treatments = try planned.treatments()
                var own: [String: Int] = [:]
                var reasons: [String] = []
                for mapping in planned.resolved.entityMappings {
                    let root = planned.resolved.destination.model.root(of: mapping.destination)
                    let treatment = try #require(treatments.first { $0.entity == root && $0.treatment != .dropped })
                    own[treatment.treatment.rawValue, default: 0] += 1
                    guard mapping.carriesEachObjectAsItIs(in: planned.resolved) else { continue }
                    carried[treatment.treatment.rawValue, default: 0] += 1
                    guard treatment.treatment == .filled else { continue }
                    Issue.record("\(step): \(mapping.name): \(treatment.reason ?? "no reason")")
                    reasons.append("\(mapping.name): \(treatment.reason ?? "no reason")")
                }
                for (kind, count) in own { counts[kind, default: 0] += count }
                let numbers = ["kept", "altered", "filled"].map { "\(own[$0] ?? 0)" }.joined(separator: " | ")
                lines.append(
                    "| \(step.folder) | \(step.source) → \(step.destination) | \(planned.mode.rawValue) | \(numbers) | "
                        + "\(reasons.joined(separator: "; ")) |")
            }
        }
        let total = ["kept", "altered", "filled"].map { "\($0) \(counts[$0] ?? 0), carried \(carried[$0] ?? 0)" }
        lines.append(total.joined(separator: "; "))
        #expect(counts.values.reduce(0, +) > 150 && refused == ["models-only/billmoss-hybrid"])
        #expect(carried["kept"] ?? 0 > 60 && carried["altered"] ?? 0 > 20 && carried["filled"] == nil)
        if let folder = ProcessInfo.processInfo.environment["FERRY_TABLES"] {
            try Data((lines.joined(separator: "\n") + "\n").utf8)
                .write(to: URL(fileURLWithPath: "\(folder)/treatments.txt"))
        }
    }
}

extension ResolvedEntityMapping {
    /// Whether each source object becomes one with the same key and the same properties, made by no code.
    fileprivate func carriesEachObjectAsItIs(in step: ResolvedStep) -> Bool {
        keepsPrimaryKey && filter == nil && iteration == nil && unique.isEmpty && policy == nil
            && step.source.hashes[source] == step.destination.hashes[destination]
    }
}
