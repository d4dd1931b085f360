internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// `ferry verify` on generated and migrated stores, with and without damage.
@Suite("ferry verify")
struct VerifyCommandTests {
    struct Told: Decodable {
        struct Difference: Decodable {
            var check: String
            var entity, example: String?
            var count: Int64
        }
        var ferry: Int
        var mode: String
        var checked, notRecomputed: Int64
        var differences: [Difference]
    }

    private func verify(_ words: [String]) throws -> (told: Told, exitCode: ExitCode) {
        let captured = Captured.run(["verify"] + words + ["--progress", "none"], isJSON: true)
        return (try JSONDecoder().decode(Told.self, from: Data(captured.output.utf8)), captured.exitCode)
    }

    private func change(_ store: String, _ sql: String) throws {
        try Connection(path: store, mode: .readWrite).execute(sql)
    }

    /// Makes a store with relationships, unique texts and external values, and its model.
    private func library(in folder: TemporaryFolder) throws -> (model: String, store: String) {
        let model = folder.file("Library.xcdatamodel")
        try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
        try """
        <?xml version="1.0" encoding="UTF-8"?><model userDefinedModelVersionIdentifier="">
        <entity name="Book"><attribute name="title" attributeType="String"/>
        <attribute name="cover" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
        <relationship name="shelf" optional="YES" maxCount="1" destinationEntity="Shelf" inverseName="books"
            inverseEntity="Shelf"/>
        <relationship name="index" optional="YES" maxCount="1" destinationEntity="Index" inverseName="book"
            inverseEntity="Index"/></entity>
        <entity name="Index"><relationship name="book" maxCount="1" destinationEntity="Book" inverseName="index"
            inverseEntity="Book"/></entity>
        <entity name="Shelf"><attribute name="name" attributeType="String"/>
        <relationship name="books" optional="YES" toMany="YES" ordered="YES" destinationEntity="Book"
            inverseName="shelf" inverseEntity="Book"/><uniquenessConstraints><uniquenessConstraint>
            <constraint value="name"/></uniquenessConstraint></uniquenessConstraints></entity></model>
        """.write(toFile: model + "/contents", atomically: true, encoding: .utf8)
        let store = folder.file("Library.sqlite")
        let words = ["generate", model, "--rows", "60", "--rows-of", "Shelf=7", "--output", store]
        #expect(Captured.run(words).exitCode == .success)
        return (model, store)
    }

    @Test("A store without damage has no differences, with its model file and with its cached model")
    func sound() throws {
        let folder = try TemporaryFolder()
        let (model, store) = try library(in: folder)
        let before = try Data(contentsOf: URL(fileURLWithPath: store))
        for words in [[store, "--models", model], [store], [store, "--integrity"]] {
            let (told, exitCode) = try verify(words)
            #expect(exitCode == .success && told.differences.isEmpty, "\(told.differences)")
            #expect(told.ferry == 1 && told.mode == "store" && told.checked == 127)
        }
        #expect(Captured.run(["verify", store]).output.contains("127 rows, no differences."))
        #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.path).contains { $0.hasSuffix("-wal") })
    }

    @Test(
        "Each kind of damage is a difference with its place, and the exit code is 3",
        arguments: [
            ("UPDATE ZBOOK SET ZSHELF = 99 WHERE Z_PK = 1", "references", "Book"),
            ("UPDATE ZBOOK SET ZINDEX = NULL WHERE Z_PK = 5", "references", "Index"),
            ("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 2", "constraints", "Book"),
            ("UPDATE ZINDEX SET ZBOOK = NULL WHERE Z_PK = 2", "constraints", "Index"),
            (
                "DROP INDEX Z_Shelf_UNIQUE_name; UPDATE ZSHELF SET ZNAME = 'same'", "constraints", "Shelf"
            ),
            ("UPDATE ZSHELF SET Z_ENT = 77 WHERE Z_PK = 1", "entityNumbers", "Shelf"),
            ("UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Book'", "keys", "Book"),
            ("UPDATE ZBOOK SET ZCOVER = x'0512' WHERE Z_PK = 3", "externalFiles", "Book"),
            (
                "UPDATE ZBOOK SET ZCOVER = x'02' || CAST('00000000-0000-4000-8000-000000000000' AS BLOB) || x'00'",
                "externalFiles", "Book"
            ),
        ])
    func damaged(_ sql: String, check: String, entity: String) throws {
        let folder = try TemporaryFolder()
        let (model, store) = try library(in: folder)
        try change(store, sql)
        let (told, exitCode) = try verify([store, "--models", model])
        #expect(exitCode == .differs)
        let found = told.differences.first { $0.check == check && $0.entity == entity }
        #expect(found != nil, "\(told.differences)")
        #expect(found?.example?.isEmpty == false)
        #expect(Captured.run(["verify", store, "--models", model]).output.contains(check))
    }

    @Test("A store of another version, and one without a model, are refused with 2")
    func refusals() throws {
        let folder = try TemporaryFolder()
        let (model, store) = try library(in: folder)
        let contents = try String(contentsOfFile: model + "/contents", encoding: .utf8)
        try contents.replacingOccurrences(of: "name=\"title\"", with: "name=\"heading\"")
            .write(toFile: model + "/contents", atomically: true, encoding: .utf8)
        let other = Captured.run(["verify", store, "--models", model])
        #expect(other.exitCode == .refused && other.diagnostics.contains("Book"))
        try change(store, "DELETE FROM Z_MODELCACHE")
        let bare = Captured.run(["verify", store])
        #expect(bare.exitCode == .refused && bare.diagnostics.contains("--models"))
    }

    @Test("A migrated store is compared with its source, unchanged and after a change")
    func migrations() throws {
        let folder = try TemporaryFolder()
        let made = Captured.run(["demo", folder.file("library"), "--books", "300", "--prepare"])
        #expect(made.exitCode == .success, "\(made.diagnostics)")
        let library = folder.file("library")
        let sources = ["--models", "\(library)/Library.xcdatamodeld", "--mappings", "\(library)/Mappings"]
        let stores = ["\(library)/Library.sqlite", folder.file("2.sqlite"), folder.file("3.sqlite")]
        for step in 0...1 {
            let words =
                ["migrate", "--accept-loss", stores[step]] + sources + [
                    "--to", "Library\(step + 2)", "--output", stores[step + 1],
                ]
            let migrated = Captured.run(words + ["--progress", "none"])
            #expect(migrated.exitCode == .success, "\(migrated.diagnostics)")
            let (told, exitCode) = try verify([stores[step + 1], "--source", stores[step]] + sources)
            #expect(exitCode == .success && told.differences.isEmpty, "\(told.differences)")
            #expect(told.mode == "full" && told.checked >= 302)
        }
        // Two steps lie between the first and the last store.
        let far = Captured.run(["verify", stores[2], "--source", stores[0]] + sources)
        #expect(far.exitCode == .refused && far.diagnostics.contains("2 steps"))
        try change(stores[1], "UPDATE ZBOOK SET ZHEADING = 'other' WHERE Z_PK = 17")
        let (told, exitCode) = try verify([stores[1], "--source", stores[0]] + sources)
        #expect(exitCode == .differs && told.differences.map(\.check) == ["rows"])
        #expect(told.differences.first?.example == "ZBOOK Z_PK 17 ZHEADING")
        let (some, _) = try verify([stores[1], "--source", stores[0], "--sample", "10%"] + sources)
        #expect(some.mode == "sample" && some.checked > 5 && some.checked < 100)
        try change(stores[1], "DELETE FROM ZBOOK WHERE Z_PK > 290")
        let (missing, _) = try verify([stores[1], "--source", stores[0], "--sample", "1%"] + sources)
        #expect(missing.differences.first { $0.check == "rows" }?.count ?? 0 >= 10)
    }

    @Test("The checks of a migration on the schema and on Core Data's own tables also run afterwards")
    func afterwards() throws {
        let folder = try TemporaryFolder()
        let library = folder.file("library")
        #expect(Captured.run(["demo", library, "--books", "40", "--prepare"]).exitCode == .success)
        let sources = ["--models", "\(library)/Library.xcdatamodeld", "--mappings", "\(library)/Mappings"]
        let (old, new) = ("\(library)/Library.sqlite", folder.file("New.sqlite"))
        let words =
            ["migrate", "--accept-loss", old] + sources + ["--to", "Library2", "--output", new, "--progress", "none"]
        #expect(Captured.run(words).exitCode == .success)
        let index = try Connection(path: new, mode: .readOnly).value(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        let changes = [
            ("DROP INDEX \(index?.text ?? "")", "schema"),
            ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Bok' WHERE Z_NAME = 'Book'", "schema"),
            ("UPDATE Z_PRIMARYKEY SET Z_SUPER = 1 WHERE Z_NAME = 'User'", "schema"),
            ("INSERT INTO Z_PRIMARYKEY VALUES (99, 'Ghost', 0, 0)", "schema"),
            ("INSERT INTO Z_METADATA SELECT 2, Z_UUID, Z_PLIST FROM Z_METADATA", "metadata"),
            ("CREATE TABLE ZGHOST (Z_PK INTEGER PRIMARY KEY)", "schema"),
        ]
        for (number, (sql, check)) in changes.enumerated() {
            // With the log, which shows that Ferry made the store, and without.
            for hasLog in [true, false] {
                let changed = folder.file("\(number) \(hasLog).sqlite")
                try FileManager.default.copyItem(atPath: new, toPath: changed)
                if hasLog {
                    try FileManager.default.copyItem(
                        atPath: new + ".ferry-log.json", toPath: changed + ".ferry-log.json")
                }
                let sound = try verify([changed, "--source", old] + sources)
                #expect(sound.exitCode == .success, "\(sound.told.differences)")
                try change(changed, sql)
                let (told, exitCode) = try verify([changed, "--source", old] + sources)
                #expect(exitCode == .differs && told.differences.contains { $0.check == check }, "\(sql) \(hasLog)")
            }
        }
    }
}
