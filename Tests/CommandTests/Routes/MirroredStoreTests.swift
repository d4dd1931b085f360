internal import Foundation
internal import TestSupport
internal import Testing

/// A store that is mirrored to CloudKit: what other devices have written must stay readable.
@Suite("A mirrored store")
struct MirroredStoreTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private static let folder = RouteFolder.entity("Folder", "name", RouteFolder.link("notes", "Note", "folder"))
    private static let toFolder = RouteFolder.link("folder", "Folder", "notes", toMany: false)

    private static func toFolders(_ name: String, identifier: String = "") -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Folder\" "
            + "inverseName=\"notes\" inverseEntity=\"Folder\" \(identifier)/>"
    }

    @Test(
        "Renamed properties and those of another kind are refused without --break-sync; others are not",
        arguments: [
            (["heading<-title", "pages:Integer 16", toFolder], "Note.title is renamed to heading"),
            (["title", "pages:Double", toFolder], "Note.pages gets another type"),
            (["title", "pages:Integer 64", "new", toFolder], nil),
            (["title", "pages:Integer 16", toFolders("folder")], "Note.folder becomes to-many"),
            (
                ["title", "pages:Integer 16", toFolders("folders", identifier: "elementID=\"folder\"")],
                "Note.folder is renamed to folders"
            ),
            (["pages:Integer 16", toFolder], nil),
        ] as [([String], String?)])
    func properties(_ note: [String], _ refusal: String?) throws {
        let old = RouteFolder.entity("Note", "title", "pages:Integer 16", Self.toFolder)
        try app.model("App", "App", Self.folder + old)
        let isRenamed = note.contains { $0.contains("\"folders\"") }
        let folder = isRenamed ? Self.folder.replacing("\"folder\"", with: "\"folders\"") : Self.folder
        try app.model("App", "App 2", folder + Self.entity(note))
        try app.current("App", "App 2")
        try app.generate("App", "App", rows: 5)
        try app.execute(
            "CREATE TABLE ANSCKRECORDMETADATA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
                + "ZENTITYID INTEGER, ZENTITYPK INTEGER, ZCKRECORDNAME VARCHAR)")
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--accept-loss"]
        let planned = try app.run(["plan"] + words + ["--check"])
        let migrated = try app.run(["migrate"] + words)
        #expect(planned.exitCode == (refusal == nil ? 0 : 2), "\(planned)")
        #expect(migrated.exitCode == planned.exitCode, "\(migrated)")
        guard let refusal else { return }
        #expect(migrated.diagnostics.contains(refusal) && migrated.diagnostics.contains("--break-sync"), "\(migrated)")
        let allowed = try app.run(["migrate"] + words + ["--break-sync"])
        #expect(allowed.exitCode == 0, "\(allowed)")
    }

    private static func entity(_ parts: [String]) -> String {
        let attributes = RouteFolder.entity("Note").replacing("</entity>", with: "")
        return attributes
            + parts.map { part in
                RouteFolder.entity("X", part).replacing("<entity name=\"X\">", with: "").replacing(
                    "</entity>", with: "")
            }.joined() + "</entity>"
    }
}
