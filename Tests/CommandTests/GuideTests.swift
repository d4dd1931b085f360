internal import FerrySnapshot
import Foundation
internal import TestSupport
internal import Testing

/// The guides: their commands run on the real store of the guide.
@Suite("Guides")
struct GuideTests {
    private static let folder = "\(Fixtures.packageRoot)/docs/guide"

    @Test(
        "The commands of a guide print the guide's text, except times, sizes and names of snapshots",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)),
        arguments: [
            ("migrate-your-store", "practical-core-data"), ("replacing-a-policy", "practical-core-data"),
            ("swiftdata", "nobelnrj-myhome"),
        ])
    func runs(_ guide: String, _ family: String) throws {
        let folder = try TemporaryFolder()
        let fixture = Fixtures.path(family)
        for item in try FileManager.default.contentsOfDirectory(atPath: fixture) {
            try FileManager.default.copyItem(atPath: "\(fixture)/\(item)", toPath: folder.file(item))
            // Fixtures are read-only, unlike a user's store.
            try FileManager.default.setAttributes(
                [.posixPermissions: item.hasSuffix(".sqlite") || item.hasSuffix(".store") ? 0o644 : 0o755],
                ofItemAtPath: folder.file(item))
        }
        let path = "\(Self.folder)/\(guide).md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let (told, count) = try PageShell(folder: folder).told(page)
        #expect(count > 2)
        if ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1" {
            guard SnapshotForm.preferred == .zstandard else {
                Issue.record("Pages are recorded by a build with the trait Zstandard.")
                return
            }
            return try told.write(toFile: path, atomically: true, encoding: .utf8)
        }
        // The page shows the output of a build with Zstandard.
        let expected = page.replacing(SnapshotForm.zstandard.ending, with: SnapshotForm.preferred.ending)
        let lines = try [told, expected].map {
            try $0.split(separator: "\n", omittingEmptySubsequences: false).map(Self.steady)
        }
        let difference = zip(lines[0], lines[1]).first { $0 != $1 }
        let isAlike = lines[0] == lines[1]
        #expect(isAlike, "first difference: \(String(describing: difference))")
    }

    /// Returns a line without times, sizes, speeds and dates, which differ between runs.
    ///
    /// Counts stay.
    private static func steady(_ line: Substring) throws -> String {
        let masks = [
            "[0-9]{8}T[0-9]{6}Z", "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?",
            "[0-9][0-9.,]* (ms|s|rows?/s|[KMG]iB/s|B/s|[KMG]iB|B)(?![A-Za-z])",
        ]
        var steady = String(line)
        for mask in masks { steady = steady.replacing(try Regex(mask), with: "#") }
        // The second snapshot of one second has a number in its name.
        steady = steady.replacing(try Regex("-[0-9]+[.]sqlite[.]"), with: ".sqlite.")
        // A phase prints its rate only after a tenth of a second, which not every run takes.
        if steady.hasPrefix("Time ") { steady = steady.replacing(" (#)", with: "") }
        return steady.replacing(try Regex(" +"), with: " ")
    }

    @Test("Every page of the documentation is in its index, and no link between pages is broken")
    func indexes() throws {
        let docs = "\(Fixtures.packageRoot)/docs"
        let index = try String(contentsOfFile: docs + "/README.md", encoding: .utf8)
        let pages = (FileManager.default.enumerator(atPath: docs)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix(".md") }
        for page in pages {
            if !page.contains("/") || page.hasPrefix("guide/"), page != "README.md" {
                #expect(index.contains("(\(page))"), "\(page) is in no list")
            }
            let text = try String(contentsOfFile: "\(docs)/\(page)", encoding: .utf8)
            for part in text.components(separatedBy: "](").dropFirst() {
                let link = part.prefix { $0 != ")" && $0 != "#" }
                guard !link.isEmpty, !link.contains(":"), !link.contains(" ") else { continue }
                let target = URL(fileURLWithPath: "\(docs)/\(page)").deletingLastPathComponent()
                    .appendingPathComponent(String(link)).path
                #expect(FileManager.default.fileExists(atPath: target), "\(page): \(link)")
            }
        }
    }
}
