import FerryBase
import TestSupport
import Testing

@Suite("The simulated disk")
struct SimulatedDiskTests {
    private let folder: TemporaryFolder
    private let disk: SimulatedDisk
    private let files: FileLayer

    init() throws {
        folder = try TemporaryFolder()
        disk = try SimulatedDisk(folder)
        files = FileLayer(faults: FaultPlan(witness: disk.witness))
    }

    @Test("Unsynced changes are lost, synced ones stay")
    func cut() throws {
        for (name, isSynced) in [("kept", true), ("lost", false)] {
            var output = try files.create(folder.file(name))
            try output.write(name)
            if isSynced { try output.sync() }
            try output.close()
            if isSynced { try files.syncFolder(folder.path) }
        }
        #expect(try disk.unwitnessed() == [])
        try disk.cutPower(.everything)
        #expect(try FileLayer().list(folder.path).map(\.name) == ["kept"])
        #expect(try FileLayer().read(folder.file("kept")) == Array("kept".utf8))
    }

    @Test("A file outside of its folder fails the test, and so does a file inside with another path")
    func strangeNames() throws {
        let elsewhere = try TemporaryFolder()
        try elsewhere.makeLink("way", to: folder.path)
        for path in [elsewhere.file("one"), elsewhere.file("way/two")] {
            var output = try files.create(path)
            try output.close()
        }
        #expect(try disk.unwitnessed() == [elsewhere.file("one"), elsewhere.file("way/two")].sorted())
        let error = #expect(throws: SimulatedDisk.OutsideName.self) { try disk.cutPower(.everything) }
        #expect(error?.paths.count == 2)
    }

    @Test("A new name outside of its folder for a file inside fails the test, too", arguments: [true, false])
    func strangeSecondNames(isLink: Bool) throws {
        let elsewhere = try TemporaryFolder()
        var output = try files.create(folder.file("one"))
        try output.close()
        if isLink {
            try files.link(folder.file("one"), to: elsewhere.file("two"))
        } else {
            try files.rename(folder.file("one"), to: elsewhere.file("two"))
        }
        #expect(throws: SimulatedDisk.OutsideName.self) { try disk.cutPower(.everything) }
    }
}
