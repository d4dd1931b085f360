internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// A store on a read-only volume, mounted in a namespace of its own where the system allows it.
@Suite("A read-only volume", .enabled(if: MountNamespace.isAllowed, "this system allows no mount namespace"))
struct ReadOnlyVolumeTests {
    @Test(
        "Allows a migration of its stores to --output, in any journal mode", arguments: ["DELETE", "WAL"], ["2", "3"])
    func output(mode: String, version: String) throws {
        let folder = try TemporaryFolder()
        let library = folder.file("library")
        #expect(Captured.run(["demo", library, "--books", "40", "--prepare"]).exitCode == .success)
        let store = library + "/Library.sqlite"
        do {
            let connection = try Connection(path: store, mode: .readWrite)
            #expect(try connection.setPragma("journal_mode", to: mode)?.text == mode.lowercased())
        }
        let program = try #require(BuiltProgram.path)
        let mount = folder.file("mount")
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
        let script = """
            mount -t tmpfs none "$1" && cp "$2" "$1/App.sqlite" && mount -o remount,ro "$1" && exec "$3" migrate \
                "$1/App.sqlite" --models "$4/Library.xcdatamodeld" --mappings "$4/Mappings" --to "Library$6" \
                --output "$5" --accept-loss --progress none
            """
        let output = folder.file("New.sqlite")
        let outcome = try FerryBinary.run(
            ["-m", "sh", "-c", script, "sh", mount, store, program, library, output, version], in: folder.path,
            program: "/usr/bin/unshare")
        #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
        let new = try Connection(path: output, mode: .readOnly)
        #expect(try new.integer("SELECT count(*) FROM ZBOOK") == 40)
        #expect(try new.value("PRAGMA integrity_check") == .text("ok"))
    }
}

enum MountNamespace {
    static let isAllowed: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "unshare -m true"]
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
