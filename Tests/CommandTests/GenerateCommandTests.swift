internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

@Suite("ferry generate")
struct GenerateCommandTests {
    /// Writes a bundle of two versions without a current one; the second one's teams must have players.
    private func models(in folder: TemporaryFolder) throws -> String {
        let bundle = folder.file("Team.xcdatamodeld")
        for (name, optional) in [("One", "YES"), ("Two", "NO")] {
            let path = "\(bundle)/\(name).xcdatamodel"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try """
            <?xml version="1.0" encoding="UTF-8"?><model userDefinedModelVersionIdentifier="">
            <entity name="Team"><relationship name="players" optional="\(optional)" toMany="YES" minCount="2"
                destinationEntity="Player" inverseName="team" inverseEntity="Player"/></entity>
            <entity name="Player"><attribute name="name" attributeType="String"/>
            <relationship name="team" optional="YES" maxCount="1" destinationEntity="Team" inverseName="players"
                inverseEntity="Team"/></entity></model>
            """.write(toFile: path + "/contents", atomically: true, encoding: .utf8)
        }
        return bundle
    }

    @Test("--version or a colon must select one of several versions")
    func choosesVersions() throws {
        let folder = try TemporaryFolder()
        let models = try models(in: folder)
        let words = ["--rows", "10", "--output"]
        let unnamed = Captured.run(["generate", models] + words + [folder.file("a.sqlite")])
        #expect(unnamed.exitCode == .refused && unnamed.diagnostics.contains("'One', 'Two'"))
        for (name, call) in [
            ("b", ["generate", models, "--version", "Two"]), ("c", ["generate", "\(models):Two"]),
            ("d", ["generate", "\(models)/Two.xcdatamodel"]),
        ] {
            let captured = Captured.run(call + words + [folder.file("\(name).sqlite")], isJSON: true)
            #expect(captured.exitCode == .success, "\(captured.output)")
            #expect(captured.output.contains("\"version\": \"Two\""))
        }
        let bytes = try ["b", "c", "d"].map { try Data(contentsOf: URL(fileURLWithPath: folder.file("\($0).sqlite"))) }
        #expect(bytes[0] == bytes[1] && bytes[1] == bytes[2])
    }

    @Test("Entities with more rows than requested are reported; entities requested by name keep their number")
    func tellsRaisedRows() throws {
        let folder = try TemporaryFolder()
        let models = try models(in: folder)
        let words = ["generate", "\(models):Two", "--rows", "10"]
        let raised = Captured.run(words + ["--output", folder.file("a.sqlite")])
        #expect(raised.output.contains("30 rows of version Two") && raised.output.contains("Player: 20 rows"))
        let refused = Captured.run(words + ["--rows-of", "Player=5", "--output", folder.file("b.sqlite")])
        #expect(refused.exitCode == .refused && refused.diagnostics.contains("--rows-of"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("b.sqlite")))
        let nowhere = Captured.run(words + ["--output", folder.file("none/b.sqlite")])
        #expect(nowhere.exitCode == .failed && nowhere.diagnostics.contains("cannot be opened"), "\(nowhere)")
        let quiet = Captured.run(words + ["--quiet", "--output", folder.file("q.sqlite")])
        #expect(quiet.exitCode == .success && quiet.output.isEmpty && quiet.diagnostics.isEmpty, "\(quiet)")
        let empty = Captured.run(["generate", "\(models):Two", "--rows", "0", "--output", folder.file("c.sqlite")])
        #expect(empty.exitCode == .success && empty.output.contains("0 rows"))
    }

    @Test("The default is a thousand rows, and links are reported by their relationship")
    func makesThousandRows() throws {
        let folder = try TemporaryFolder()
        #expect(Captured.run(["demo", folder.file("lib"), "--books", "100", "--prepare"]).exitCode == .success)
        let model = folder.file("lib/Library.xcdatamodeld") + ":Library1"
        let captured = Captured.run(
            ["generate", model, "--output", folder.file("New.sqlite"), "--progress", "json"])
        #expect(captured.exitCode == .success, "\(captured.diagnostics)")
        let lines = captured.diagnostics.split(separator: "\n")
        #expect(lines.contains { $0.contains("\"Book\"") && $0.contains("\"total\":2000") }, "\(lines)")
        let links = lines.filter { $0.contains("\"links of Book.users\"") || $0.contains("\"links of User.books\"") }
        #expect(!links.isEmpty && links.allSatisfy { $0.contains("\"total\":null") }, "\(lines)")
        #expect(!captured.diagnostics.contains("Z_"), "\(lines)")
    }

    /// Takes a minute in a debug build.
    @Test(
        "Memory does not grow with the rows",
        .enabled(if: Sweep.isFull, "FERRY_SWEEP=1 measures it"))
    func flatMemory() throws {
        struct Told: Decodable { var peakResidentBytes: Int64? }
        let folder = try TemporaryFolder()
        let models = try models(in: folder)
        var peaks: [Int64] = []
        for rows in [100_000, 1_000_000] {
            let outcome = try FerryBinary.run(
                [
                    "generate", "\(models):One", "--rows", "\(rows)", "--output", "\(rows).sqlite", "--json",
                    "--progress", "none",
                ], in: folder.path)
            #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
            let told = try JSONDecoder().decode(Told.self, from: Data(outcome.output.utf8))
            peaks.append(try #require(told.peakResidentBytes))
        }
        #expect(peaks[1] < peaks[0] + 1 << 20, "\(peaks)")
    }
}
