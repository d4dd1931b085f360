import FerryBase
import FerryEngine
import FerryMapping
import FerryPlan
import FerrySQLite
import FerryVerify
import TestSupport
import Testing

/// Every case with a policy for one of its entity mappings at a time: with the tables of the others kept, its store is that
/// of a copy of all tables, and verification finds no difference.
@Suite("Cases with one policy beside tables that stay")
struct PolicyBesideCaseTests {
    /// Does the default work, and relates what it made once more.
    struct Policy: EntityMigrationPolicy {
        func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {
            try manager.forEachDestinationObject(ofEntity: mapping.destinationEntityName) { _ in }
        }
    }

    private struct Found: Sendable {
        var compared = 0
        var altered = 0
    }

    @Test("The store is that of a copy of all tables, at each chunk size")
    func agree() throws {
        var found = Found()
        for fixture in Case.all where !fixture.isInferred {
            let count = try MappingFile.load(path: fixture.mapping).entityMappings.count
            for only in 0..<count where count > 1 { try compare(fixture, only, &found) }
        }
        #expect(found.compared > 20 && found.altered > 5, "\(found)")
    }

    private func compare(_ fixture: Case, _ only: Int, _ found: inout Found) throws {
        let folders = (whole: try TemporaryFolder(), beside: try TemporaryFolder())
        func run(_ folder: TemporaryFolder, keepsTables: Bool) throws -> StepRun? {
            do {
                let run = try fixture.prepare(
                    in: folder, chunkSize: .rows(7), policy: { Policy() }, ofMapping: only, keepsTables: keepsTables)
                return run.step.resolved.hasPolicies ? run : nil
            } catch is FerryError {
                // No mapping of its kind can have a policy.
                return nil
            }
        }
        guard let beside = try run(folders.beside, keepsTables: true), let kept = beside.step.keptPart,
            let whole = try run(folders.whole, keepsTables: false)
        else { return }
        let expected: Case.Outcome
        do {
            expected = try fixture.complete(whole)
        } catch let error as FerryError {
            let other = #expect(throws: FerryError.self) { try fixture.complete(beside) }
            #expect(other?.code == error.code, "\(fixture.name) \(only)")
            return
        }
        let outcome = try fixture.complete(beside)
        #expect(
            try StoreRows.text(atPath: outcome.destination) == StoreRows.text(atPath: expected.destination),
            "\(fixture.name) \(only)")
        #expect(outcome.counts == expected.counts, "\(fixture.name) \(only)")
        #expect(
            outcome.verification.differences.count == expected.verification.differences.count,
            "\(fixture.name) \(only): \(outcome.verification.differences)")
        found.compared += 1
        if !kept.linkedColumns.isEmpty { found.altered += 1 }
    }
}
