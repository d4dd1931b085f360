internal import Foundation
internal import TestSupport
internal import Testing

/// The scripts in workflow files must exist; these tests do not run them.
@Suite("Workflow files")
struct WorkflowTests {
    private static let folder = Fixtures.packageRoot + "/.github/workflows"

    private static let files =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".yml") }.sorted()

    @Test("Every called script exists and is executable", arguments: files)
    func callsScripts(_ file: String) throws {
        let text = try String(contentsOfFile: Self.folder + "/" + file, encoding: .utf8)
        // The words that look like scripts of the repository.
        for word in text.matches(of: /(?:^|[\s"])((?:scripts|Conformance|\.ci)\/[a-z-]+)(?=[\s"]|$)/) {
            #expect(FileManager.default.isExecutableFile(atPath: "\(Fixtures.packageRoot)/\(word.1)"), "\(word.1)")
        }
    }
}
