import Ferry
import FerryBase
import TestSupport
import Testing

@Suite("The run folder")
struct RunFolderTests {
    private let files = FileLayer()

    /// Makes a folder with the record of a run.
    private func begin(_ folder: TemporaryFolder) throws -> String {
        let path = folder.file("App.sqlite")
        try TinyStore.make(path, title: "old")
        let run = try RunFolder(path: RunFolder.path(beside: path), files: files)
        let guardian = try SourceGuard(path: path, purpose: .migrating, files: files)
        try RunSession(run, RunRecord(in: run, on: guardian)).save()
        try guardian.close()
        return run.path
    }

    @Test("Only one run holds the folder's lock at a time")
    func isLocked() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let first = try RunFolder(path: path, files: files)
        let error = #expect(throws: FerryError.self) { try RunFolder(path: path, files: files) }
        #expect(error?.code == .runActive)
        try first.remove()
        #expect(try !files.exists(path))
    }

    @Test("The folder is removed also on a volume that keeps hidden names of open files")
    func hiddenNames() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let (plain, hidden, tries) = (files, path + "/.hidden", Locked(0))
        let hiding = FileLayer(
            faults: FaultPlan(witness: { change in
                switch change {
                case .removes(path + "/lock"): try? plain.link(path + "/lock", to: hidden)
                case .removes(path):
                    // A FUSE volume removes the hidden name a moment after the file was closed.
                    let isSecond = tries.withLock { tries in
                        tries += 1
                        return tries == 2
                    }
                    if isSecond, (try? plain.isLocked(hidden)) == false { try? plain.remove(hidden) }
                default: break
                }
            }))
        try RunFolder(path: path, files: hiding).remove()
        #expect(try !files.exists(path) && tries.withLock { $0 } == 2)
    }

    @Test("The folder stays when another run takes the lock as soon as it is free")
    func takenMeanwhile() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let (plain, hasBegun) = (files, Locked(false))
        let first = try RunFolder(
            path: path,
            files: FileLayer(
                faults: FaultPlan(witness: { change in
                    // The last removal before that of the folder.
                    guard case .removes(path) = change, !hasBegun.withLock({ $0 }) else { return }
                    hasBegun.withLock { $0 = true }
                    try? plain.replace(path + "/lock", with: [1])
                })))
        try first.remove()
        #expect(try hasBegun.withLock { $0 } && files.exists(path + "/lock"))
    }

    @Test("A symbolic link instead of the folder is refused, also by a restart, and its destination stays")
    func refusesLinks() throws {
        let small = try SmallMigration()
        let precious = small.folder.file("precious")
        try files.createDirectory(precious)
        try files.replace(precious + "/letter.txt", with: [1])
        try files.replace(precious + "/run.json", with: Array("{}".utf8))
        for (link, restart) in [(".ferry", false), (".ferry", true), (".ferry-rehearsal", false)] {
            try small.folder.makeLink("App.sqlite" + link, to: precious)
            let error = #expect(throws: FerryError.self) {
                if link == ".ferry" {
                    _ = try small.migrator().migrate(.allowingLosses { $0.restart = restart })
                } else {
                    _ = try small.migrator().rehearse()
                }
            }
            #expect(error?.code == .runDiffers && error?.remedy.description.contains("Remove the link") == true)
            #expect(try files.list(precious).map(\.name).sorted() == ["letter.txt", "run.json"])
            try files.remove(small.folder.file("App.sqlite" + link))
        }
        #expect(try small.migrator().migrate(.allowingLosses()).outcome == .migrated)
    }

    @Test(
        "Other users cannot read a run's files", arguments: [Scenario.Kind.copy, .mixed, .policies, .inPlaceToOutput])
    func isPrivate(_ kind: Scenario.Kind) throws {
        let scenario = try Scenario(kind, form: .plain)
        #expect(throws: FerryError.self) { try scenario.run { $0.holdsSwap = true } }
        var seen: [String] = []
        func check(_ folder: String) throws {
            #expect(try files.attributes(folder).mode == 0o700, "\(folder)")
            for entry in try files.list(folder) {
                let path = folder + "/" + entry.name
                if entry.isDirectory {
                    try check(path)
                } else {
                    seen.append(entry.name)
                    #expect(try files.attributes(path).mode == 0o600, "\(path)")
                }
            }
        }
        try check((scenario.output ?? scenario.store) + ".ferry")
        #expect(seen.contains("destination.sqlite") && seen.contains("run.json") && seen.contains("progress.json"))
    }

    @Test("A folder that Ferry has not made is refused by a run, a restart and a plan", arguments: [true, false])
    func refusesForeignFolders(hasRecord: Bool) throws {
        let small = try SmallMigration()
        let foreign = small.store + ".ferry"
        try files.createDirectory(foreign)
        try files.replace(foreign + "/letter.txt", with: [1])
        if hasRecord { try files.replace(foreign + "/run.json", with: Array("{\"laps\": 3}".utf8)) }
        for restart in [false, true] {
            let error = #expect(throws: FerryError.self) {
                _ = try small.migrator().migrate(.allowingLosses { $0.restart = restart })
            }
            #expect(error?.code == .runDiffers && error?.remedy.description == "Move it elsewhere.")
        }
        #expect(try small.migrator().plan(.allowingLosses()).refusals.map(\.code) == [.runDiffers])
        #expect(try files.exists(foreign + "/letter.txt"))
        try files.rename(foreign, to: small.folder.file("elsewhere"))
        #expect(try small.migrator().migrate(.allowingLosses()).outcome == .migrated)
    }

    @Test("A record of another form, or a broken one, is refused, and not removed", arguments: ["form", "broken"])
    func refusesUnknownRows(_ what: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("App.sqlite.ferry")
        try files.createDirectory(path)
        switch what {
        case "form": try files.replace(path + "/run.json", with: Array("{\"ferry\": 99}".utf8))
        default: try files.replace(path + "/run.json", with: Array("{\"ferry\": 1, \"id\"".utf8))
        }
        let run = try RunFolder(path: path, files: files)
        let error = #expect(throws: FerryError.self) { try run.load() }
        #expect(error?.code == .runDiffers)
        #expect(error?.remedy.description.contains("restart = true") == true)
        #expect(try files.list(path).count == 2)
    }

    @Test("A record of another form is refused, with the way to discard it, and stays")
    func refusesOldForm() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let text = try String(decoding: files.read(path + "/run.json"), as: UTF8.self)
        #expect(text.contains("\"ferry\" : 4"))
        let old = text.replacing("\"ferry\" : 4", with: "\"ferry\" : 3")
        try files.replace(path + "/run.json", with: Array(old.utf8))
        let run = try RunFolder(path: path, files: files)
        let error = #expect(throws: FerryError.self) { try run.load() }
        #expect(error?.code == .runDiffers && error?.message.contains("has format 3") == true)
        #expect(error?.remedy.description.contains("Finish the run with the version that started it") == true)
        #expect(try files.read(path + "/run.json") == Array(old.utf8))
    }

    @Test("A record without the part of its kind is refused", arguments: ["migration", "rollback"])
    func refusesOtherKind(_ kind: String) throws {
        let small = try SmallMigration()
        #expect(throws: FerryError.self) { try small.migrator().migrate(.allowingLosses { $0.holdsSwap = true }) }
        let path = small.store + ".ferry"
        let text = try String(decoding: files.read(path + "/run.json"), as: UTF8.self)
        let wrong =
            kind == "rollback"
            ? text.replacing("\"kind\" : \"migration\"", with: "\"kind\" : \"rollback\"")
            : text.replacing("\"migration\" : {", with: "\"rollback\" : {")
        #expect(wrong != text)
        try files.replace(path + "/run.json", with: Array(wrong.utf8))
        let error = #expect(throws: FerryError.self) { try RunFolder(path: path, files: files).load() }
        #expect(error?.code == .runDiffers)
    }

    @Test(
        "A moved folder with an open journal is refused",
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

    @Test("A folder that the recorded path still leads to can be resumed, also with an open journal")
    func otherSpelling() throws {
        let folder = try TemporaryFolder()
        let path = try begin(folder)
        let moved = folder.file("Other.sqlite.ferry")
        try files.createDirectory(path + "/step-1")
        try files.replace(path + "/step-1/destination.sqlite-journal", with: [7, 7])
        try files.rename(path, to: moved)
        // On a file system that ignores case each spelling leads to the folder.
        try folder.makeLink(FileLayer.name(of: path), to: moved)
        let run = try RunFolder(path: moved, files: files)
        #expect(try run.load() != nil)
        try run.checkPlace()
        #expect(try run.load()?.folder.path.hasSuffix("Other.sqlite.ferry") == true)
    }
}
