import Ferry
import FerryBase
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

@Suite("Encoded reports")
struct ReportCodingTests {
    /// Encodes a value, decodes it, and encodes it again: both texts must be equal.
    private func readBack<Value: Codable>(_ value: Value) throws -> Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(value)
        let read = try JSONDecoder().decode(Value.self, from: text)
        #expect(try encoder.encode(read) == text)
        return read
    }

    @Test("A report of a copy, of a migration in place, and of damage can be encoded and decoded")
    func migrations() throws {
        let small = try SmallMigration(rows: 60)
        let copy = try small.migrator().migrate(
            Configuration.allowingLosses {
                $0.chunks.size = .rows(7)
                $0.executor = .set
            })
        #expect(try readBack(copy) == copy && copy.mode == .copy && copy.chunks.longest != nil)
        #expect(copy.phases.map(\.phase).contains(.verify) && copy.wallTime > .zero)
        let inferred = try InferredMigration()
        let inPlace = try inferred.migrator().migrate(.allowingLosses())
        #expect(try readBack(inPlace) == inPlace && inPlace.mode == .inPlace)
        let damaged = try DamagedStore(.copy, damage: ["UPDATE ZBOOK SET ZCOVER = NULL WHERE Z_PK = 2"]).migrate(.drop)
        #expect(try readBack(damaged) == damaged && damaged.healed.map(\.kind) == [.oneSidedInverse])
        let again = try InferredMigration()
        let rehearsal = try again.migrator().rehearse()
        #expect(try readBack(rehearsal) == rehearsal && rehearsal.migration != nil)
    }

    @Test("A plan can be encoded and decoded, with its refusals and their causes")
    func plans() throws {
        let small = try SmallMigration()
        let migrator = try small.migrator()
        let plan = try readBack(migrator.plan(.allowingLosses { $0.executor = .set }))
        #expect(plan.steps.map(\.mode) == [.copy, .copy] && plan.longestUnit?.time ?? .zero > .zero)
        let mappings = plan.steps[0].partitions.joined()
        #expect(!mappings.isEmpty && mappings.allSatisfy { $0.executor == .set || $0.executor == .row })
        let refused = try migrator.plan(
            Configuration.allowingLosses {
                $0.target = "App 3"
                $0.infersMappings = false
                $0.limits.memory = 32 << 20
            })
        _ = try readBack(refused)
        let cause = FerryError(.fileFailed, "Could not read it.", cause: SystemErrorStandIn())
        let error = FerryError(
            .badMapping, "What failed.", remedy: "What to do.", place: .init(entity: "Book", primaryKey: 3),
            cause: cause)
        let read = try readBack(error)
        #expect(read.code == error.code && read.message == error.message && read.place == error.place)
        #expect((read.cause as? FerryError)?.code == .fileFailed)
        #expect(((read.cause as? FerryError)?.cause as? FerryError.RecordedCause)?.description == "the disk")
    }

    private struct Told: Decodable {
        var warnings: [FerryWarning]

        static func read(_ list: String) throws -> [FerryWarning] {
            let decoder = JSONDecoder()
            return try decoder.decode(Told.self, from: Data("{\"warnings\": \(list)}".utf8)).warnings
        }
    }

    @Test("A warning is an object with a code; the text form of earlier versions can be decoded, too")
    func warnings() throws {
        let report = try DamagedStore(.copy, damage: ["UPDATE ZBOOK SET ZCOVER = NULL WHERE Z_PK = 2"]).migrate(.drop)
        let warning = try #require(report.warnings.first { $0.code == .damagedRows })
        #expect(try readBack(warning) == warning)
        #expect(warning.subject.entity != nil && warning.subject.property != nil && !warning.message.isEmpty)
        let old = try Told.read("[\"A text.\"]")
        #expect(old == [FerryWarning(.unnamed, "A text.")])
        for wrong in ["[{\"code\": \"loss\"}]", "[3]", "[null]"] {
            #expect(throws: DecodingError.self) { _ = try Told.read(wrong) }
        }
        // A code of a later version.
        let code = FerryWarning.Code(rawValue: "ofLater")
        #expect(try readBack(FerryWarning(code, "What it says.")).code == code)
    }

    @Test("Exactly the checks that find differences have a name in the library")
    func checks() {
        // The counting of all checks finds no differences itself.
        #expect(Set(VerificationCheck.all.map(\.rawValue)) == Set(Verification.checkNames).subtracting(["tally"]))
    }

    private struct SystemErrorStandIn: Error, CustomStringConvertible { var description: String { "the disk" } }

    @Test("The states of a store, its run and its snapshots can be encoded and decoded")
    func stores() throws {
        let small = try SmallMigration()
        let files = StoreFiles(URL(fileURLWithPath: small.store))
        let identification = try small.migrator().identify()
        #expect(try readBack(identification) == identification)
        let stop = StopRequest()
        _ = #expect(throws: FerryError.self) {
            try small.migrator().migrate(stop: stop) { event in
                if case .phase(.rows, step: 2) = event { stop.request(FerryError(.interrupted, "Stopped.")) }
            }
        }
        let status = try files.status()
        #expect(try readBack(status) == status && status.state == .interrupted && status.phase == .rows)
        _ = try small.migrator().migrate(.allowingLosses())
        let finished = try files.status()
        #expect(try readBack(finished) == finished)
        #expect(finished.finished.map { abs($0.timeIntervalSinceNow) < 600 } == true)
        let snapshots = try files.snapshots()
        #expect(snapshots.count == 1 && abs(snapshots[0].created.timeIntervalSinceNow) < 600)
        _ = try readBack(snapshots[0])
        let rollback = try files.rollback()
        #expect(try readBack(rollback) == rollback)
        let pruned = try readBack(files.pruneSnapshots(keep: 1, minimumAge: .zero))
        #expect(pruned.kept.count + pruned.removed.count >= 1)
    }

    @Test(
        "Seconds keep their measured digits", arguments: [0, 0.000_000_001, 0.1, 12.345_678_9, 1e9])
    func seconds(_ seconds: Double) {
        #expect(Duration.clamped(seconds: seconds).inSeconds == seconds)
        #expect(Duration.clamped(seconds: .infinity) > .seconds(1_000_000_000))
        #expect(Duration.clamped(seconds: .nan) == .zero && Duration.clamped(seconds: -0.5).inSeconds == -0.5)
        #expect(Duration.clamped(nanoseconds: 12_345_678_901).inSeconds == 12.345_678_901)
        #expect(Duration.clamped(nanoseconds: .max) > .seconds(9_000_000_000))
    }
}
