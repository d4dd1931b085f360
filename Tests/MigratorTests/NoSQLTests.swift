import Foundation
import TestSupport
import Testing

@Suite("The façade")
struct NoSQLTests {
    @Test("has no SQL: statements are in the rooms below")
    func hasNoSQL() throws {
        let folder = URL(fileURLWithPath: Fixtures.packageRoot + "/Sources/Ferry")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let statement = try Regex(
            #"\b(SELECT|INSERT|REPLACE INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH RECURSIVE|ATTACH|DETACH)\b "#)
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                #expect(!line.contains(statement), "\(file.lastPathComponent): \(line)")
            }
        }
    }
}
