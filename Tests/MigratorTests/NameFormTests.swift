import Ferry
import FerryBase
import Foundation
import TestSupport
import Testing

/// Apple's volumes keep names in one normalization form, and find a name by any form.
@Suite("Names with letters in two normalization forms")
struct NameFormTests {
    /// One letter, composed and decomposed: two names on Linux, one name on a Mac.
    private static let forms = ["Caf\u{E9} 1", "Cafe\u{301} 1"]

    /// Returns the bytes of each name in a folder, because Swift's strings are equal in both forms.
    private func bytes(_ folder: String) throws -> [[UInt8]] {
        try FileLayer().list(folder).map { Array($0.name.utf8) }
    }

    @Test(
        "A store with such a name is migrated, stopped, resumed, rolled back, and its files keep the form",
        arguments: forms)
    func wholeWay(_ name: String) throws {
        let small = try SmallMigration()
        let folder = small.folder.file(name)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let path = folder + "/\(name).sqlite"
        try FileManager.default.moveItem(atPath: small.store, toPath: path)
        let before = try DatabaseDump.text(path)
        let migrator = try Migrator(
            store: URL(fileURLWithPath: path),
            models: [.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))],
            mappings: ["One.json", "Two.json"].map { URL(fileURLWithPath: small.folder.file($0)) })
        var held = Configuration.allowingLosses { $0.chunks.size = .rows(5) }
        held.holdsSwap = true
        let error = #expect(throws: FerryError.self) { try migrator.migrate(held) }
        #expect(error?.code == .swapHeld)
        let files = StoreFiles(URL(fileURLWithPath: path))
        #expect(try files.status().state == .interrupted)
        held.holdsSwap = false
        let report = try migrator.migrate(held)
        #expect(report.resumed && report.snapshot != nil)
        #expect(try files.snapshots().count == 1 && files.verifySnapshots().allSatisfy { $0.verified == true })
        _ = try files.rollback()
        #expect(try DatabaseDump.text(path) == before)
        #expect(try bytes(folder).allSatisfy { $0.starts(with: Array(name.utf8)) })
    }

    @Test("The run and its snapshots are found when the folder has the name's other form")
    func otherForm() throws {
        let small = try SmallMigration()
        let (one, other) = (small.folder.file(Self.forms[0]), small.folder.file(Self.forms[1]))
        try FileManager.default.createDirectory(atPath: one, withIntermediateDirectories: false)
        // The link simulates a volume for which both forms are one name.
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: one)
        try FileManager.default.moveItem(atPath: small.store, toPath: one + "/App.sqlite")
        func migrator(_ folder: String) throws -> Migrator {
            try Migrator(
                store: URL(fileURLWithPath: folder + "/App.sqlite"),
                models: [.url(URL(fileURLWithPath: small.folder.file("App.xcdatamodeld")))],
                mappings: ["One.json", "Two.json"].map { URL(fileURLWithPath: small.folder.file($0)) })
        }
        #expect(throws: FerryError.self) { try migrator(one).migrate(.allowingLosses { $0.holdsSwap = true }) }
        let report = try migrator(other).migrate(.allowingLosses())
        #expect(report.resumed)
        #expect(try StoreFiles(URL(fileURLWithPath: other + "/App.sqlite")).snapshots().count == 1)
    }
}
