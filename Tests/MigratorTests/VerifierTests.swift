import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

@Suite("Verification by hand")
struct VerifierTests {
    private static let name = "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F60"

    /// A store with an external file, migrated to an output.
    private struct Stage {
        let store: DamagedStore
        let output: String
        var file: String { ExternalData.folder(forStore: output) + "/" + VerifierTests.name }

        init() throws {
            let reference = ExternalData.reference(to: VerifierTests.name).hexadecimal
            store = try DamagedStore(
                .copy, damage: ["UPDATE ZCOVER SET ZPHOTO = x'\(reference)' WHERE Z_PK = 2"], later: DamagedStore.later)
            output = store.folder.file("New.sqlite")
            let (files, folder) = (FileLayer(), ExternalData.folder(forStore: store.store))
            try files.createDirectory(folder)
            try files.replace(folder + "/" + VerifierTests.name, with: Array("large".utf8))
            // Simulates another volume: with a hard link, a change would affect both files.
            _ = try store.migrator(files: FileLayer(faults: FaultPlan(hasLinks: false)))
                .migrate(
                    Configuration.allowingLosses {
                        $0.target = "App 2"
                        $0.output = URL(fileURLWithPath: output)
                    })
        }

        func verify(onProgress: ProgressHook? = nil) throws -> VerificationSummary {
            try Verifier(
                store: URL(fileURLWithPath: output),
                models: [.url(URL(fileURLWithPath: store.folder.file("App.xcdatamodeld")))],
                mappings: [URL(fileURLWithPath: store.folder.file("Mappings/Map.json"))]
            ).verifyMigration(from: URL(fileURLWithPath: store.store), onProgress: onProgress)
        }
    }

    @Test("Contents of external files are compared with those of the old store")
    func externalContents() throws {
        let (stage, files) = (try Stage(), FileLayer())
        let whole = try stage.verify()
        #expect(whole.differences.isEmpty && whole.notRecomputed == 0)
        for damaged in ["largf", "larg", "larger", ""] {
            try files.replace(stage.file, with: Array(damaged.utf8))
            let differences = try stage.verify().differences
            #expect(differences.map(\.check) == [.externalContents], "\(damaged)")
            #expect(differences.first?.entity == "Cover" && differences.first?.example == "ZCOVER Z_PK 2 ZPHOTO")
        }
        try files.remove(stage.file)
        #expect(try stage.verify().differences.map(\.check) == [.externalContents])
        // A copy of the old store without its folder has no file to compare with.
        try files.removeTree(ExternalData.supportFolder(forStore: stage.store.store))
        #expect(try stage.verify().notRecomputed == 1)
    }

    @Test("A store that an app writes to meanwhile gets no verdict")
    func isWritten() throws {
        let stage = try Stage()
        let connection = try Connection(path: stage.output, mode: .readWrite)
        _ = try connection.setPragma("journal_mode", to: "WAL")
        let failed = Locked<(any Error)?>(nil)
        let path = stage.output
        let error = #expect(throws: FerryError.self) {
            try stage.verify { _ in
                do {
                    try Connection(path: path, mode: .readWrite).execute("UPDATE Z_METADATA SET Z_VERSION = Z_VERSION")
                } catch {
                    failed.withLock { $0 = error }
                }
            }
        }
        #expect(failed.withLock { $0 == nil })
        #expect(error?.code == .sourceChanged && error?.message.contains("during verification") == true)
        withExtendedLifetime(connection) {}
        #expect(try stage.verify().differences.isEmpty)
    }

    @Test("Without a source they are compared with the newest snapshot's record")
    func snapshotContents() throws {
        let (store, files) = (try Stage().store, FileLayer())
        let file = ExternalData.folder(forStore: store.store) + "/" + Self.name
        let url = URL(fileURLWithPath: store.store)
        let verifier = try Verifier(
            store: url, models: [.url(URL(fileURLWithPath: store.folder.file("App.xcdatamodeld")))])
        _ = try StoreFiles(url).createSnapshot()
        #expect(try verifier.verifyStore().differences == [])
        for damaged in ["largf", ""] {
            try files.replace(file, with: Array(damaged.utf8))
            let differences = try verifier.verifyStore().differences
            #expect(differences.map(\.check) == [.externalContents] && differences.first?.count == 1, "\(damaged)")
            #expect(differences.first?.example == "_EXTERNAL_DATA/\(Self.name)")
        }
    }

    @Test("Only the user can read its work folder, and no file with values has a name there")
    func isPrivate() throws {
        let files = FileLayer()
        let parent = FileManager.default.temporaryDirectory.path
        let seen = Seen()
        _ = try Stage().verify { _ in
            // The list includes folders of other tests, which may be removed at any moment.
            for entry in (try? files.list(parent)) ?? [] where entry.name.hasPrefix("ferry-verify-") {
                let folder = parent + "/" + entry.name
                guard let mode = (try? files.attributesIfPresent(folder))?.mode else { continue }
                seen.modes.insert(mode)
                // The list may include another test's file between its creation and its unlinking.
                var names = try? files.list(folder).map(\.name)
                for _ in 0..<30_000 where names.map({ !Set($0).isSubset(of: ["lock"]) }) == true {
                    usleep(10_000)
                    names = try? files.list(folder).map(\.name)
                }
                #expect(Set(names ?? []).isSubset(of: ["lock"]), "\(names ?? [])")
            }
        }
        #expect(seen.modes == [0o700])
    }

    /// Unchecked, because a verification reports its progress on the calling thread.
    private final class Seen: @unchecked Sendable {
        var modes: Set<UInt32> = []
    }
}
