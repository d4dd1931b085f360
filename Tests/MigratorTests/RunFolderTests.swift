import Ferry
import FerryBase
import TestSupport
import Testing

@Suite("The run folder")
struct RunFolderTests {
    private let files = FileLayer()

    /// A folder with the record of a run in it.
    private func begin(_ folder: TemporaryFolder) throws -> String {
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        let run = try RunFolder(path: RunFolder.path(beside: path), files: files)
        let guardian = try SourceGuard(path: path, purpose: .migrating, files: files)
        try run.save(RunRecord(.migration, in: run, on: guardian))
        try guardian.close()
        return run.path
    }

    @Test("Only one run holds it at a time")
    func isLocked() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let first = try RunFolder(path: path, files: files)
        let error = #expect(throws: FerryError.self) { try RunFolder(path: path, files: files) }
        #expect(error?.code == .runActive)
        try first.remove()
        #expect(try !files.exists(path))
    }

    @Test("What is no run of Ferry's is refused, not removed", arguments: ["strange", "form", "broken"])
    func refusesStrangers(_ what: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite.ferry")
        try files.createDirectory(path)
        switch what {
        case "strange": try files.replace(path + "/letter.txt", with: [1])
        case "form": try files.replace(path + "/run.json", with: Array("{\"ferry\": 99}".utf8))
        default: try files.replace(path + "/run.json", with: Array("{\"ferry\": 1, \"id\"".utf8))
        }
        let run = try RunFolder(path: path, files: files)
        let error = #expect(throws: FerryError.self) { try run.load() }
        #expect(error?.code == .runDiffers)
        #expect(error?.remedy.contains("--restart") == true)
        #expect(try files.list(path).count == 2)
    }

    @Test(
        "A folder that was moved with an open journal is refused",
        arguments: [
            ("step-1/destination.sqlite-journal", [UInt8](repeating: 7, count: 9), true),
            ("step-1/destination.sqlite-mj8A2F", [], true), ("step-1/destination.sqlite-journal", [], false),
            ("step-1/destination.sqlite", [1], false),
        ])
    func refusesMove(_ file: String, _ bytes: [UInt8], _ isRefused: Bool) throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let moved = folder.file("Other.sqlite.ferry")
        try files.createDirectory(path + "/step-1")
        try files.replace(path + "/" + file, with: bytes)
        try files.rename(path, to: moved)
        let run = try RunFolder(path: moved, files: files)
        #expect(try run.load() != nil)
        if isRefused {
            let error = #expect(throws: FerryError.self) { try run.checkPlace() }
            #expect(error?.code == .runMoved)
        } else {
            try run.checkPlace()
            #expect(try run.load()?.folder.path.hasSuffix("Other.sqlite.ferry") == true)
        }
    }
}
