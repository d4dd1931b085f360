import Ferry
import FerryBase
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// The files beside a store that hold large values.
@Suite("External files")
struct ExternalFilesTests {
    private static let named = "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F60"
    private static let stray = "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F61"

    /// Makes a store with one cover's photo in a file, and another file that no value names.
    private func store(_ way: DamagedStore.Way, later: String, hasFile: Bool = true) throws -> DamagedStore {
        let reference = ExternalData.reference(to: Self.named).hexadecimal
        let store = try DamagedStore(
            way, damage: ["UPDATE ZCOVER SET ZPHOTO = x'\(reference)' WHERE Z_PK = 2"], later: later)
        let (files, folder) = (FileLayer(), ExternalData.folder(forStore: store.store))
        try files.createDirectory(folder)
        if hasFile { try files.replace(folder + "/" + Self.named, with: Array("large".utf8)) }
        try files.replace(folder + "/" + Self.stray, with: Array("stray".utf8))
        return store
    }

    private func names(beside store: String) throws -> [String] {
        try ExternalData.fileNames(ofStore: store).sorted()
    }

    private static let inline = #"<entity name="Atlas"></entity>"# + DamagedStore.entities(book: "", external: false)
    /// The model without covers and without the relationship to them.
    private static let withoutCovers: String = {
        var entities = DamagedStore.later
        for (start, end) in [("<entity name=\"Cover\">", "</entity>"), ("<relationship name=\"cover\"", "/>")] {
            guard let first = entities.range(of: start),
                let last = entities.range(of: end, range: first.upperBound..<entities.endIndex)
            else { continue }
            entities.removeSubrange(first.lowerBound..<last.upperBound)
        }
        return entities
    }()

    @Test(
        "Files that values name stay, and unnamed files are kept and reported",
        arguments: DamagedStore.Way.allCases)
    func kept(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: DamagedStore.later)
        let report = try store.migrate()
        #expect(report.externalFiles == .init(removed: 0, unreferenced: 1) && report.kept.isEmpty)
        #expect(try names(beside: store.result) == [Self.named, Self.stray])
        #expect(
            try store.rows("SELECT ZPHOTO FROM ZCOVER ORDER BY Z_PK")
                == [[.blob([1, 7])], [.blob(ExternalData.reference(to: Self.named))], [.null]])
    }

    @Test("Two values with one file are found before the swap, with remedies; without verification the report says so")
    func sharedFiles() throws {
        let later = DamagedStore.later.replacingOccurrences(
            of: #"<entity name="Cover">"#,
            with: #"<entity name="Cover"><attribute name="back" optional="YES" attributeType="Binary" "#
                + #"allowsExternalBinaryDataStorage="YES"/>"#)
        let store = try store(.copy, later: later)
        let map = store.folder.file("Mappings/Map.json")
        let text = try String(contentsOfFile: map, encoding: .utf8).replacingOccurrences(
            of: #""destination": "Cover""#,
            with: #""destination": "Cover", "attributes": { "back": "TERNARY(book != nil, photo, nil)" }"#)
        try FileLayer().replace(map, with: Array(text.utf8))
        let error = #expect(throws: FerryError.self) { try store.migrate() }
        #expect(error?.code == .verificationFailed && error?.message.contains("sharedFiles of Cover (1)") == true)
        #expect(error.map { "\($0)" }?.contains("Allows External Storage") == true)
        #expect(
            try store.rows("SELECT count(*) FROM pragma_table_info('ZCOVER') WHERE name = 'ZBACK'") == [[.integer(0)]])
        let report = try store.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.verification = .none
                $0.snapshots.form = .none
                $0.restart = true
            })
        #expect(report.warnings.map(\.code).contains(.sharedFilesNotChecked))
    }

    @Test("With an output the files are copied, and the store keeps its own", arguments: DamagedStore.Way.allCases)
    func output(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline)
        let output = store.folder.file("New.sqlite")
        let report = try store.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.output = URL(fileURLWithPath: output)
                $0.executor = way.executor
            })
        #expect(report.externalFiles == .init(removed: 1, unreferenced: 1))
        #expect(try names(beside: output) == [Self.stray])
        #expect(try names(beside: store.store) == [Self.named, Self.stray])
        let other = try self.store(way, later: DamagedStore.later)
        let second = other.folder.file("New.sqlite")
        _ = try other.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.output = URL(fileURLWithPath: second)
                $0.executor = way.executor
            })
        #expect(try names(beside: second) == [Self.named, Self.stray])
    }

    @Test(
        "An output with the store's own folder of files, under another spelling, leaves the files unchanged",
        arguments: DamagedStore.Way.allCases)
    func sharedFolder(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline)
        let output = store.folder.file("New.sqlite")
        // On a file system that ignores case, APP.db beside App.sqlite has such a folder.
        let folders = [output, store.store].map { FileLayer.parent(of: ExternalData.folder(forStore: $0)) }
        try FileManager.default.createSymbolicLink(atPath: folders[0], withDestinationPath: folders[1])
        let report = try store.migrator().migrate(
            Configuration.allowingLosses {
                $0.target = "App 2"
                $0.output = URL(fileURLWithPath: output)
                $0.executor = way.executor
            })
        #expect(report.outcome == .migrated && report.externalFiles.removed == 0)
        #expect(try names(beside: store.store) == [Self.named, Self.stray])
    }

    @Test(
        "A folder that another store shares keeps the files, because the other store may name them",
        arguments: DamagedStore.Way.allCases)
    func sharedWithAnother(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline)
        let beside = String(store.result.dropLast("sqlite".count)) + "db"
        try FileManager.default.copyItem(atPath: store.store, toPath: beside)
        let report = try store.migrate()
        #expect(report.outcome == .migrated && report.externalFiles == .init(removed: 0, unreferenced: 2))
        #expect(try names(beside: beside) == [Self.named, Self.stray])
        // A file that is not a database names no files.
        let other = try self.store(way, later: Self.inline)
        try FileLayer().replace(String(other.result.dropLast("sqlite".count)) + "txt", with: Array("a note".utf8))
        #expect(try other.migrate().externalFiles == .init(removed: 1, unreferenced: 1))
    }

    @Test(
        "Without the option contents move into the rows, and only their files are removed",
        arguments: DamagedStore.Way.allCases)
    func inlined(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline)
        let report = try store.migrate()
        #expect(report.verification.differences.isEmpty)
        #expect(
            try store.rows("SELECT ZPHOTO FROM ZCOVER ORDER BY Z_PK")
                == [[.blob([7])], [.blob(Array("large".utf8))], [.null]])
        #expect(report.externalFiles == .init(removed: 1, unreferenced: 1))
        #expect(try names(beside: store.result) == [Self.stray])
    }

    @Test("With the new option every value gets its first byte", arguments: DamagedStore.Way.allCases)
    func added(_ way: DamagedStore.Way) throws {
        let store = try DamagedStore(
            way, damage: ["UPDATE ZCOVER SET ZPHOTO = x'0809' WHERE Z_PK = 1"], later: DamagedStore.later,
            hasExternalStorage: false)
        let report = try store.migrate()
        #expect(report.verification.differences.isEmpty)
        #expect(try store.rows("SELECT ZPHOTO FROM ZCOVER ORDER BY Z_PK") == [[.blob([1, 8, 9])], [.null], [.null]])
    }

    @Test("Files of removed rows are removed with them", arguments: DamagedStore.Way.allCases)
    func removed(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.withoutCovers)
        let report = try store.migrate()
        #expect(report.externalFiles == .init(removed: 1, unreferenced: 1))
        #expect(try names(beside: store.result) == [Self.stray])
        #expect(report.unmapped.map(\.entity) == ["Cover"])
    }

    @Test(
        "A reference without its file is refused where the migration needs the contents, or left empty",
        arguments: DamagedStore.Way.allCases)
    func missing(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline, hasFile: false)
        let before = try StoreBytes(store.store)
        for damaged in [DamagedRows.refuse, .keep] {
            let error = #expect(throws: FerryError.self) { try store.migrate(damaged) }
            #expect(error?.code == .damagedSource && error?.message.contains("Cover.photo") == true)
            #expect(try StoreBytes(store.store) == before)
        }
        let report = try store.migrate(.drop)
        #expect(report.verification.differences.isEmpty)
        #expect(report.healed.map(\.kind) == [.missingFile] && report.healed.map(\.rows) == [1])
        #expect(try store.rows("SELECT ZPHOTO FROM ZCOVER ORDER BY Z_PK") == [[.blob([7])], [.null], [.null]])
    }

    @Test("A snapshot holds the files, and a rollback restores them", arguments: [DamagedStore.Way.inPlace, .copy])
    func rollback(_ way: DamagedStore.Way) throws {
        let store = try store(way, later: Self.inline)
        let original = try DatabaseDump.text(store.store)
        _ = try store.migrator().migrate(.allowingLosses { $0.target = "App 2" })
        #expect(try names(beside: store.result) == [Self.stray])
        _ = try StoreFiles(URL(fileURLWithPath: store.store)).rollback()
        #expect(try DatabaseDump.text(store.store) == original)
        #expect(try names(beside: store.result) == [Self.named, Self.stray])
        let bytes = try FileLayer().read(ExternalData.folder(forStore: store.store) + "/" + Self.named)
        #expect(bytes == Array("large".utf8))
    }
}
