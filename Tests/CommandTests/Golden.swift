internal import Foundation
internal import TestSupport
internal import Testing

/// A text that a test compares with a file of `Goldens`, which is written anew only with `FERRY_RECORD=1`.
enum Golden {
    static func expect(
        _ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let path = Fixtures.packageRoot + "/Tests/CommandTests/Goldens/\(name).txt"
        if ProcessInfo.processInfo.environment["FERRY_RECORD"] == "1" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        let golden = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == golden, "\(name).txt differs; FERRY_RECORD=1 writes it anew", sourceLocation: sourceLocation)
    }
}
