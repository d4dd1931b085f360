import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Copies of external files between two volumes: every operation fails, or the power is cut there.
@Suite("Faults in copies of external files")
struct ExternalFilesFaultTests {
    enum Fault: CaseIterable { case failure, powerCut, tornPowerCut }

    private static let names = (0..<3).map { "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F6\($0)" }

    private static func content(_ number: Int) -> [UInt8] {
        // The last file is larger than the buffer of a copy.
        let count = number == 2 ? 265_000 : 5_000 + number
        return (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) >> 3 &+ number) }
    }

    private static func put(beside store: String) throws {
        let (files, folder) = (FileLayer(), ExternalData.folder(forStore: store))
        try files.createDirectory(folder)
        for (number, name) in names.enumerated() { try files.replace(folder + "/" + name, with: content(number)) }
    }

    /// Returns whether all files exist with whole content, and no other file.
    private static func areWhole(in folder: String) throws -> Bool {
        let files = FileLayer()
        return try files.list(folder).map(\.name).sorted() == names
            && names.enumerated().allSatisfy { try files.read(folder + "/" + $1) == content($0) }
    }

    /// A command on a folder, which can be repeated.
    private struct Stage {
        let folder: TemporaryFolder
        /// The final folder of the files.
        let external: String
        let run: (FileLayer) throws -> Void
    }

    private static func output() throws -> Stage {
        let damage = names.enumerated().map { number, name in
            "UPDATE ZCOVER SET ZPHOTO = x'\(ExternalData.reference(to: name).hexadecimal)' WHERE Z_PK = \(number + 1)"
        }
        let store = try DamagedStore(.copy, damage: damage, later: DamagedStore.later)
        try put(beside: store.store)
        let output = store.folder.file("New.sqlite")
        let configuration = Configuration.allowingLosses {
            $0.target = "App 2"
            $0.output = URL(fileURLWithPath: output)
            $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
        }
        return Stage(folder: store.folder, external: ExternalData.folder(forStore: output)) {
            _ = try store.migrator(files: $0).migrate(configuration)
        }
    }

    private static func rollback() throws -> Stage {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite")
        let store = URL(fileURLWithPath: path)
        try TinyStore.make(path, title: "old", external: names)
        try put(beside: path)
        _ = try StoreFiles(store, files: FileLayer(faults: FaultPlan(hasLinks: false))).createSnapshot()
        for file in StoreFileNames(path).all { try FileLayer().removeIfPresent(file) }
        try TinyStore.make(path, title: "new")
        let external = ExternalData.folder(forStore: path)
        try FileLayer().removeTree(external)
        return Stage(folder: folder, external: external) { _ = try StoreFiles(store, files: $0).rollback() }
    }

    private static func restore() throws -> Stage {
        let stage = try rollback()
        let output = stage.folder.file("Back.sqlite")
        let store = StoreFiles(URL(fileURLWithPath: stage.folder.file("App.sqlite")))
        return Stage(folder: stage.folder, external: ExternalData.folder(forStore: output)) { files in
            try FileLayer().removeIfPresent(output)
            _ = try StoreFiles(store.store, files: files).restoreSnapshot(to: URL(fileURLWithPath: output))
        }
    }

    @Test("The next call ends with all files whole, and with no other file", arguments: 0..<3, Fault.allCases)
    func resumes(_ kind: Int, _ fault: Fault) throws {
        let make = [Self.output, Self.rollback, Self.restore][kind]
        let whole = try make()
        let count = FaultPlan(keepsNames: true, hasLinks: false)
        try whole.run(FileLayer(faults: count))
        #expect(try Self.areWhole(in: whole.external))
        // The operations on the files themselves, and those just behind them.
        let operations = count.names.indices.filter { index in
            count.names[max(0, index - 2)...index].contains { $0.contains("_EXTERNAL_DATA/") }
        }
        #expect(operations.count > 20)
        // The three kinds start at different operations; a sweep tries each operation.
        let step = Sweep.stride ?? 31
        let start = (9 * (Fault.allCases.firstIndex(of: fault) ?? 0) + kind) % step
        for index in stride(from: start, to: operations.count, by: step) {
            let (stage, operation) = (try make(), operations[index] + 1)
            let disk = try SimulatedDisk(stage.folder)
            do {
                try stage.run(
                    FileLayer(faults: FaultPlan(trigger: operation, witness: disk.witness, hasLinks: false)))
            } catch {}
            switch fault {
            case .failure: break
            case .powerCut: try disk.cutPower(.everything)
            case .tornPowerCut: try disk.cutPower(.some(seed: UInt64(operation)))
            }
            try stage.run(FileLayer(faults: FaultPlan(hasLinks: false)))
            #expect(try Self.areWhole(in: stage.external), "\(fault), \(count.names[operation - 1])")
        }
    }

    @Test("A partial file of an earlier version is replaced; other content is refused, or replaced by a rollback")
    func replacesRemains() throws {
        let files = FileLayer()
        for (number, remains) in [[], Array(Self.content(2).prefix(70_000)), [1, 2, 3]].enumerated() {
            for make in [Self.output, Self.rollback] {
                let stage = try make()
                try files.createDirectory(stage.external)
                try files.replace(stage.external + "/" + Self.names[2], with: remains)
                try files.replace(stage.external + "/\(Self.names[0]).ferry-copy", with: [1])
                if number == 2, stage.external.contains(".New_SUPPORT") {
                    let error = #expect(throws: FerryError.self) { try stage.run(files) }
                    #expect(error?.code == .outputExists && error?.message.contains(Self.names[2]) == true)
                    #expect(try files.read(stage.external + "/" + Self.names[2]) == remains)
                    // Applies the remedy.
                    try files.rename(stage.external, to: stage.folder.file("away"))
                }
                try stage.run(files)
                #expect(try Self.areWhole(in: stage.external), "\(remains.count) bytes")
            }
        }
    }
}
