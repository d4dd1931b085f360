import Ferry
import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Entities that take the names of others, in place.
@Suite("Tables with the names of others")
struct RenamedTablesTests {
    /// Each list has old and new names; without a new one, the entity is removed.
    @Test(
        "are renamed in an order in which each name is free",
        arguments: [
            [("A", "B"), ("B", "C")], [("B", "C"), ("A", "B")], [("A", "B"), ("B", "C"), ("C", "D")],
            [("C", "A"), ("B", "C"), ("A", "B")], [("A", "B"), ("B", "A")], [("A", "C"), ("B", "A"), ("C", "B")],
            [("A", "B"), ("B", nil)],
        ] as [[(String, String?)]])
    func renamed(_ all: [(old: String, new: String?)]) throws {
        let pairs = all.compactMap { pair in pair.new.map { (old: pair.old, new: $0) } }
        let folder = try TemporaryFolder()
        func entity(_ name: String, _ attribute: String, from old: String? = nil) -> String {
            let renaming = old.map { " elementID=\"\($0)\"" } ?? ""
            return "<entity name=\"\(name)\"\(renaming)>"
                + "<attribute name=\"\(attribute)\" optional=\"YES\" attributeType=\"String\"/></entity>"
        }
        try folder.writeVersion("App 1", all.map { entity($0.old, "text\($0.old)") }.joined())
        try folder.writeVersion("App 2", pairs.map { entity($0.new, "text\($0.old)", from: $0.old) }.joined())
        let path = folder.file("App.sqlite")
        try StoreGenerator(folder.appVersion("App 1"), options: GenerationOptions(rows: 3, seed: 1))
            .generate(at: path, files: FileLayer())
        func texts(_ name: (old: String, new: String), isNew: Bool) throws -> [String?] {
            try Connection(path: path, mode: .readOnly)
                .rows("SELECT ZTEXT\(name.old) FROM Z\(isNew ? name.new : name.old) ORDER BY Z_PK").map { $0[0].text }
        }
        let before = try pairs.map { try texts($0, isNew: false) }
        #expect(before.allSatisfy { $0.count == 3 } && Set(before.flatMap { $0 }).count >= 3)
        let migrator = try Migrator(
            store: URL(fileURLWithPath: path),
            models: [.url(URL(fileURLWithPath: folder.file("App.xcdatamodeld")))])
        let report = try migrator.migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.snapshots.form = .none
            })
        #expect(report.mode == .inPlace && report.verification.differences.isEmpty)
        #expect(try pairs.map { try texts($0, isNew: true) } == before)
    }
}
