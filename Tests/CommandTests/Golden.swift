internal import FerrySnapshot
internal import Foundation
internal import TestSupport
internal import Testing

/// A text that a test compares with a file of `Goldens`; only `FERRY_RECORD=1` rewrites the file.
///
/// The files hold the output of a build with Zstandard. The output of a build without it is compared word for word with
/// the expected variant, because different words wrap at different places.
enum Golden {
    static func expect(
        _ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let path = Fixtures.packageRoot + "/Tests/CommandTests/Goldens/\(name).txt"
        if ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1" {
            guard SnapshotForm.preferred == .zstandard else {
                Issue.record(
                    "Goldens are recorded by a build with the trait Zstandard.", sourceLocation: sourceLocation)
                return
            }
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        let golden = try String(contentsOfFile: path, encoding: .utf8)
        let told = SnapshotWords.asTold(golden)
        #expect(
            told == golden ? text == golden : words(text) == words(told),
            "\(name).txt differs; FERRY_RECORD=1 writes it anew", sourceLocation: sourceLocation)
    }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }
}
