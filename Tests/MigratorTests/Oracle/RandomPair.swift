import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import RandomModels
import TestSupport
import Testing

/// A migrated pair of stores of random models.
final class RandomPair {
    enum Way: String, CaseIterable {
        case inPlace, copied, mapped
        /// Merges, splits, changes of type and kind, expressions of the whole language.
        case wide
        case wideRows
        /// Three versions.
        case chain, inferredFirst, inferredLast

        /// The ways of two versions that differ little.
        static func narrow(_ seed: UInt64) -> Way { [.inPlace, .copied, .mapped][Int(seed % 3)] }
        static func any(_ seed: UInt64) -> Way { allCases[Int(seed % UInt64(allCases.count))] }

        var isWide: Bool { ![.inPlace, .copied, .mapped].contains(self) }
        var versions: Int { [.chain, .inferredFirst, .inferredLast].contains(self) ? 3 : 2 }
        /// The steps, from 1, without a mapping.
        var inferring: Set<Int> {
            switch self {
            case .inPlace, .copied: [1]
            case .mapped, .wide, .wideRows, .chain: []
            case .inferredFirst: [1]
            case .inferredLast: [2]
            }
        }
        var executor: ExecutorChoice { self == .copied || self == .wideRows ? .row : .automatic }
    }

    /// The run and its verification read a mapping differently: nothing is migrated, and nothing lost.
    struct Unverified: Error { let differences: [String] }

    /// A checked plan says something else than the run does.
    struct Disagreement: Error { let plan, run: String }

    let way: Way
    private let folder: TemporaryFolder
    let models: [ManagedObjectModel]
    private var words: [MappingWords] = []
    private(set) var texts: [String] = []
    private var told: [BlindOracle.Told] = []
    /// The statements that damaged the source.
    private var damage: [String] = []
    private var stores: [String] { ["Old", "Middle", "New"].map { folder.file("\($0).sqlite") } }
    var source: String { stores[0] }
    var destination: String { stores[2] }
    var paths: [String] { models.indices.map { folder.file("V\($0 + 1).mom") } }
    var mappings: [String] { texts.indices.map { folder.file("map\($0).json") } }

    /// The source gets so many random changes; the mapping files have these texts, or random ones.
    ///
    /// Nil if no store can have the models, or plan and run refuse the migration alike.
    init?(_ seed: UInt64, _ way: Way? = nil, changes: Int = 0, texts given: [String] = []) throws {
        let way = way ?? .any(seed)
        self.way = way
        var versions = RandomVersions(seed: seed, size: .init(entities: 4, relationships: 5, attributes: 10))
        models =
            (way.isWide ? versions.wideModels(way.versions, inferring: way.inferring) : versions.inferableModels(2))
            .map(\.marked)
        folder = try TemporaryFolder()
        guard models.allSatisfy({ StoreLayout.refusals(for: $0).isEmpty && !$0.hasSelfJoin }) else { return nil }
        for (path, model) in zip(paths, models) {
            try FileLayer().replace(path, with: try ArchivedModel.encode(model))
        }
        let options = GenerationOptions(rows: 9, seed: seed, emptyPercent: 25, usesWriteAheadLog: false)
        try StoreGenerator(ModelCatalog(paths: paths).version(named: "V1"), options: options)
            .generate(at: source, files: FileLayer())
        try fill()
        for step in 1..<models.count {
            guard try addMapping(seed, step, given) else { return nil }
        }
        var random = SplitMix(seed: seed)
        for _ in 0..<changes { damage += [try Self.changeAny(of: source, &random)].compactMap { $0 } }
        if models.count > 2, try migrate(to: "V2", at: stores[1]) == nil { return nil }
        told = []
        let report = try migrate(to: "V\(models.count)", at: destination)
        // A way over fewer versions that loses less is taken, and passes a mapping over.
        guard report?.chain.count == models.count else { return nil }
    }

    /// Marks the objects, and gives values that types, forms and keys treat in different ways.
    private func fill() throws {
        let model = models[0]
        let connection = try Connection(path: source, mode: .readWrite)
        connection.allowSchemaWrites()
        for name in model.sortedEntityNames {
            let table = "\"Z\(model.root(of: name).uppercased())\""
            if model.root(of: name) == name {
                try connection.execute("UPDATE \(table) SET ZMARK = 'E' || Z_ENT || ':' || Z_PK, ZMARK2 = NULL")
            }
            for attribute in model.entities[name]?.attributes ?? [] where way.isWide {
                if ManagedObjectModel.marks.contains(attribute.name) { continue }
                let column = "\"Z\(attribute.name.uppercased())\""
                let other: String
                switch attribute.type {
                case .string where attribute.name == "json":
                    other = #"CASE Z_PK % 3 WHEN 0 THEN '{"items":[{"n":"a"},{"n":"b"}]}' WHEN 1 THEN '{}' END"#
                case .string:
                    other =
                        "CASE Z_PK % 6 WHEN 0 THEN '7' WHEN 1 THEN '007' WHEN 2 THEN '12.50' WHEN 3 THEN 'same' ELSE \(column) END"
                case .integer64: other = "CASE Z_PK % 4 WHEN 0 THEN 9007199254740993 ELSE \(column) END"
                case .double, .decimal: other = "CASE Z_PK % 4 WHEN 0 THEN 0.1 WHEN 1 THEN 2.0 ELSE \(column) END"
                default: continue
                }
                try connection.execute("UPDATE \(table) SET \(column) = \(other) WHERE \(column) IS NOT NULL")
            }
        }
    }

    private func addMapping(_ seed: UInt64, _ step: Int, _ given: [String]) throws -> Bool {
        let (old, new) = (models[step - 1], models[step])
        guard !way.inferring.contains(step) else {
            words.append(MappingWords(inferred: old, new))
            return true
        }
        let place = texts.count
        texts.append("")
        if place < given.count {
            texts[place] = given[place]
            try FileLayer().replace(mappings[place], with: Array(given[place].utf8))
        } else {
            let random = RandomMapping(
                seed: seed &+ UInt64(step - 1), from: ModelVersion(of: old, name: "V\(step)"),
                to: ModelVersion(of: new, name: "V\(step + 1)"), kind: way.isWide ? .wide : .any)
            let text = try random.write(to: mappings[place]) {
                try migrator().plan(configuration(to: "V\(step + 1)")).refusals.isEmpty
            }
            guard let text else { return false }
            texts[place] = text
        }
        words.append(try MappingWords(texts[place], old, new))
        return true
    }

    private func migrator() throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: source), models: paths.map { .url(URL(fileURLWithPath: $0)) },
            mappings: mappings.map { URL(fileURLWithPath: $0) })
    }

    private func configuration(to target: String, at output: String? = nil) -> Configuration {
        .allowingLosses {
            $0.target = target
            $0.snapshots.form = .none
            $0.executor = way.executor
            $0.output = output.map { URL(fileURLWithPath: $0) }
        }
    }

    /// Migrates as the checked plan says; nil if both refuse.
    private func migrate(to target: String, at output: String) throws -> MigrationReport? {
        var configuration = configuration(to: target, at: output)
        let migrator = try migrator()
        let (plan, report) = try compare(migrator, configuration)
        guard let plan, let report else { return nil }
        if !plan.losses.isEmpty {
            configuration.losses = .refuse
            configuration.output = URL(fileURLWithPath: output + ".refused")
            guard try compare(migrator, configuration).report == nil else {
                throw Disagreement(plan: plan.losses.map(\.text).joined(separator: " "), run: "runs")
            }
        }
        told += [.init(document: "plan", losses: plan.losses), .init(document: "report", losses: report.losses)]
        return report
    }

    private func compare(
        _ migrator: Migrator, _ configuration: Configuration
    ) throws -> (plan: PlanReport?, report: MigrationReport?) {
        var plan: PlanReport?
        let planned = Self.refusal {
            plan = try migrator.plan(configuration, checksRows: true)
            return plan?.refusals.first
        }
        var report: MigrationReport?
        let run = Self.refusal {
            report = try migrator.migrate(configuration)
            return nil
        }
        if let run, run.code == .verificationFailed {
            keep()
            let differences = (run.cause as? VerificationDifferences)?.summary.differences ?? []
            throw Unverified(differences: differences.map { "\($0.check) of \($0.entity ?? "?") \($0.property ?? "")" })
        }
        guard planned?.code.consequence == run?.code.consequence else {
            // The verdict names what nobody can check before the run.
            let names = (plan?.notChecked ?? []).flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "." } }
            let properties = names.map { $0.split(separator: ".") }.filter { $0.count == 2 }.map { $0[1].lowercased() }
            // A long list has only its first names.
            let isCut = [.rowFailed, .mandatoryValue].contains(run?.code) && names.contains("more")
            if planned == nil, let message = run?.message.lowercased(),
                isCut || properties.contains(where: message.contains)
            {
                return (plan, nil)
            }
            keep()
            throw Disagreement(plan: planned.map { "\($0)" } ?? "runs", run: run.map { "\($0)" } ?? "runs")
        }
        return (plan, report)
    }

    private static func refusal(_ body: () throws -> FerryError?) -> FerryError? {
        do { return try body() } catch let error as FerryError { return error } catch {
            return FerryError(.internalError, "\(error)")
        }
    }

    /// The models and the mappings, for whoever looks for the reason of an exception.
    var description: String {
        Self.describe(models) + "\n" + texts.joined(separator: "\n")
            + told.flatMap { told in told.losses.map { "\(told.document): \($0.text)" } }.joined(separator: "\n")
    }

    private static func describe(_ models: [ManagedObjectModel]) -> String {
        models.map { model in
            model.sortedEntityNames.map { name in
                let entity = model.entities[name]
                let links = (entity?.relationships ?? []).map {
                    "\($0.name)→\($0.destinationEntity).\($0.inverseName ?? "-")\($0.isToMany ? "*" : "")"
                }
                let attributes = (entity?.attributes ?? []).map { "\($0.name):\($0.type)" }
                return
                    "  \(name)\(entity?.superentity.map { " < " + $0 } ?? ""): \((attributes + links).joined(separator: " "))"
            }.joined(separator: "\n")
        }.joined(separator: "\n->\n")
    }

    /// Keeps a copy of the stores where `FERRY_ORACLE_KEEP` says.
    private func keep() {
        guard let place = ProcessInfo.processInfo.environment["FERRY_ORACLE_KEEP"],
            !FileManager.default.fileExists(atPath: place)
        else { return }
        do {
            try FileManager.default.copyItem(atPath: folder.path, toPath: place)
            let text = (damage + [Self.describe(models)]).joined(separator: "\n")
            try text.write(toFile: "\(place)/models.txt", atomically: true, encoding: .utf8)
        } catch {
            Issue.record("The stores were not kept: \(error)")
        }
    }

    func oracle() throws -> BlindOracle {
        keep()
        var sides: [StoreSide] = []
        for (index, model) in models.enumerated() {
            sides.append(try StoreSide(index == models.count - 1 ? destination : stores[index], model))
        }
        let steps = words.indices.map { StepEvidence(sides[$0], sides[$0 + 1], words[$0]) }
        var oracle = BlindOracle(steps, told)
        try oracle.look()
        return oracle
    }

    /// Removes something from the destination; false if there is none of it.
    func damage(_ what: String) throws -> Bool {
        guard let mappings = words.last?.mappings, let new = models.last else { return false }
        let connection = try Connection(path: destination, mode: .readWrite)
        connection.allowSchemaWrites()
        for mapping in mappings where mapping.unique.isEmpty && !mapping.iterates {
            let table = "\"Z\(new.root(of: mapping.destination).uppercased())\""
            let number = "(SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = '\(mapping.destination)')"
            func emptying(_ names: [String]) -> [String] {
                names.map { name in
                    let column = "\"Z\(name.uppercased())\""
                    return "UPDATE \(table) SET \(column) = NULL WHERE Z_PK = (SELECT min(Z_PK) FROM \(table) "
                        + "WHERE \(column) IS NOT NULL AND Z_ENT = \(number))"
                }
            }
            var sql: [String] = []
            switch what {
            case "value":
                sql = emptying(
                    mapping.values.filter { $0.keeps == .value && !ManagedObjectModel.marks.contains($0.attribute) }
                        .map(\.attribute))
            case "link":
                sql = emptying(
                    mapping.links.map(\.relationship).filter { name in
                        let link = new.relationship(name, of: mapping.destination)
                        return link?.isToMany == false
                            && models[0].relationship(name, of: mapping.source)?.isToMany == false
                            && link.flatMap { new.inverse(of: $0) }?.isToMany == true
                    })
            default: sql = ["DELETE FROM \(table) WHERE Z_PK = 1 AND Z_ENT = \(number)"]
            }
            for statement in sql {
                try connection.execute(statement)
                if try connection.integer("SELECT changes()") == 1 { return true }
            }
        }
        return false
    }
}
