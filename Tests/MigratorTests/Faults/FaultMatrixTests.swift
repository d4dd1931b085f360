import Ferry
import FerryBase
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Every kind of run, with a failure or a power cut at every operation: the old store or the new one is whole, and the
/// repeated command gives the same result as an undisturbed run.
@Suite("Faults in a whole run")
struct FaultMatrixTests {
    /// `FERRY_SWEEP_KINDS=copy,mixed` tries only these kinds.
    private static let kinds = ProcessInfo.processInfo.environment["FERRY_SWEEP_KINDS"].map { names in
        names.split(separator: ",").compactMap { Scenario.Kind(rawValue: String($0)) }
    }

    enum Fault: CaseIterable {
        /// The operation and all later ones fail: as by `kill -9`, and then by errors on the way out.
        case failure
        /// As `failure`, and all unsynced changes are lost.
        case powerCut
        /// As `failure`, and any part of the unsynced changes is lost.
        case tornPowerCut
    }

    /// Returns a few operations of every kind of run.
    ///
    /// `FERRY_SWEEP=1` tries every operation in every form of the store, `FERRY_SWEEP=7` every seventh.
    private static func operations(_ count: Int, _ kind: Scenario.Kind, _ fault: Fault) -> [Int] {
        let tries = fault == .failure ? 3 : 4
        // Each kind starts at another operation, so that together the kinds cover all parts of a run.
        let start = 1 + (Scenario.Kind.allCases.firstIndex(of: kind) ?? 0) * 3
        if let sweep = Sweep.stride { return Array(stride(from: 1 + start % sweep, through: count, by: sweep)) }
        return Array(stride(from: min(start, count), through: count, by: max(1, count / tries)))
    }

    @Test(
        "Ends in the same store after a failure or a power cut at any operation",
        arguments: kinds ?? Scenario.Kind.allCases, Fault.allCases)
    func resumes(_ kind: Scenario.Kind, _ fault: Fault) throws {
        let first: TinyStore.Form = kind == .inPlace ? .closedLog : .plain
        for form in Sweep.stride != nil ? TinyStore.Form.allCases : [fault == .failure ? first : .filledLog] {
            try resumes(kind, fault, form)
        }
    }

    private func resumes(_ kind: Scenario.Kind, _ fault: Fault, _ form: TinyStore.Form) throws {
        let whole = try Scenario(kind, form: form)
        let original = try Scenario(kind, form: form).content()
        let disk = try SimulatedDisk(whole.folder)
        let count = FaultPlan(witness: disk.witness, copiesClones: kind.clones)
        try whole.run(count)
        let unwitnessed = try disk.unwitnessed()
        #expect(unwitnessed == [])
        let (expected, final) = (try whole.result(), try whole.content())
        for operation in Self.operations(count.count, kind, fault) {
            let scenario = try Scenario(kind, form: form)
            let disk = try SimulatedDisk(scenario.folder)
            var isDone = false
            do {
                try scenario.run(
                    FaultPlan(trigger: operation, witness: disk.witness, copiesClones: kind.clones))
                isDone = true
            } catch {}
            switch fault {
            case .failure: break
            case .powerCut: try disk.cutPower(.everything)
            case .tornPowerCut: try disk.cutPower(.some(seed: UInt64(operation)))
            }
            // Every other time an app opens the store in between, and SQLite's recovery repairs it.
            if operation.isMultiple(of: 2), ![.inPlace, .inPlaceByLog].contains(kind) || form != .filledLog {
                let between = try scenario.content()
                #expect(between == original || between == final, "\(kind) \(fault) \(form), operation \(operation)")
            }
            // Another rollback would undo a finished rollback without a run folder.
            let isOver = try isDone && scenario.leftovers().isEmpty
            if kind != .rollback || !isOver { try goOn(scenario, disk) }
            #expect(try scenario.result() == expected, "\(kind) \(fault) \(form), operation \(operation)")
            #expect(try scenario.content() == final, "\(kind) \(fault) \(form), operation \(operation)")
            #expect(try scenario.leftovers() == [], "\(kind) \(fault) \(form), operation \(operation)")
        }
    }

    /// Repeats the command, with the named remedy where the simulated disk has changed more than a real disk would.
    private func goOn(_ scenario: Scenario, _ disk: SimulatedDisk) throws {
        do {
            try scenario.run()
        } catch let error as FerryError
            where error.code == .destinationChanged && disk.hasRelinked(fileNamed: "destination.sqlite")
        {
            try scenario.run { $0.restart = true }
        }
    }
}
