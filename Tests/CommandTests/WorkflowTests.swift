internal import Foundation
internal import TestSupport
internal import Testing

/// The scripts in workflow files must exist; these tests do not run them.
@Suite("Workflow files")
struct WorkflowTests {
    private static let folder = Fixtures.packageRoot + "/.github/workflows"

    private static let files =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".yml") }.sorted()

    /// Returns the words that look like scripts of the repository.
    private static func scripts(in text: String) -> Set<String> {
        Set(text.matches(of: /(?:^|[\s"])((?:scripts|Conformance|\.ci)\/[a-z-]+)(?=[\s"]|$)/).map { String($0.1) })
    }

    @Test("Linux, Apple's systems and musl have one workflow each, which call tests and checks")
    func coversPlatforms() throws {
        #expect(Self.files == ["apple.yml", "linux.yml", "musl.yml"])
        let texts = try Self.files.map { try String(contentsOfFile: Self.folder + "/" + $0, encoding: .utf8) }
        let called = texts.reduce(into: Set<String>()) { $0.formUnion(Self.scripts(in: $1)) }
        let wanted: Set = ["scripts/test", "scripts/check", "scripts/ios", "Conformance/run"]
        #expect(called.isSuperset(of: wanted), "\(called)")
    }

    @Test("Every called script exists and is executable", arguments: files)
    func callsScripts(_ file: String) throws {
        let text = try String(contentsOfFile: Self.folder + "/" + file, encoding: .utf8)
        for script in Self.scripts(in: text) {
            #expect(FileManager.default.isExecutableFile(atPath: Fixtures.packageRoot + "/" + script), "\(script)")
        }
    }

    @Test(
        "Real stores, which are not in the repository, are not required, and jobs have a time limit", arguments: files)
    func demandsNoFixtures(_ file: String) throws {
        let lines = try String(contentsOfFile: Self.folder + "/" + file, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("  CI: \"false\""))
        let jobs = lines.count { $0.hasPrefix("    runs-on: ") }
        #expect(jobs > 0 && lines.count { $0.hasPrefix("    timeout-minutes: ") } == jobs)
    }
}
