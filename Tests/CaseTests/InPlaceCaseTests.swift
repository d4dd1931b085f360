import Ferry
import FerryBase
import FerryModel
import Foundation
import TestSupport
import Testing

/// The cases whose mapping model keeps every row, by the library: on the store itself and on a file of the run folder,
/// beside the copy.
@Suite("Cases in place")
struct InPlaceCaseTests {
    private static let mapped = Case.all.filter { !$0.isInferred }

    private static func migrator(_ testCase: Case, _ store: String) throws -> Migrator {
        try Migrator(
            store: URL(fileURLWithPath: store),
            models: ["Model 1", "Model 2"].map {
                .url(URL(fileURLWithPath: "\(testCase.path)/\($0).xcdatamodel"))
            }, mappings: [URL(fileURLWithPath: testCase.mapping)])
    }

    private static func configuration(_ output: String?, _ executor: ExecutorChoice) -> Configuration {
        Configuration.allowingLosses {
            $0.target = "Model 2"
            $0.output = output.map { URL(fileURLWithPath: $0) }
            $0.executor = executor
            $0.snapshots.form = .none
            $0.now = { Date(timeIntervalSinceReferenceDate: Case.now) }
        }
    }

    @Test("Give the rows of a copy, and one store in both places")
    func agree() throws {
        var inPlace = 0
        for testCase in Self.mapped {
            let folder = try TemporaryFolder()
            let store = folder.file("Store.sqlite")
            let version = try ModelCatalog(paths: ["\(testCase.path)/Model 1.xcdatamodel"]).version(named: "Model 1")
            try testCase.makeStore(at: store, version: version)
            let (copy, output) = (folder.file("Copy.sqlite"), folder.file("Output.sqlite"))
            let migrator = try Self.migrator(testCase, store)
            guard try migrator.plan(Self.configuration(nil, .automatic)).steps.allSatisfy({ $0.mode == .inPlace })
            else {
                continue
            }
            inPlace += 1
            #expect(try migrator.migrate(Self.configuration(copy, .set)).mode == .copy)
            #expect(try migrator.migrate(Self.configuration(output, .automatic)).mode == .inPlace)
            let report = try migrator.migrate(Self.configuration(nil, .automatic))
            #expect(report.mode == .inPlace && report.verification.differences.isEmpty, "\(testCase.name)")
            #expect(try StoreRows.text(atPath: store) == StoreRows.text(atPath: copy), "\(testCase.name)")
            #expect(try DatabaseDump.text(store) == DatabaseDump.text(output), "\(testCase.name)")
        }
        #expect(inPlace > 4)
    }
}
