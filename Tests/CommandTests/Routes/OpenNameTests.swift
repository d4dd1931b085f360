internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// Names of join tables that only Core Data knows.
@Suite("Names that only Core Data knows")
struct OpenNameTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "App 1", Self.client("name"))
        try app.model("App", "App 2", Self.client("name", "badge"))
        // Another version with the same properties.
        try app.model("App", "App 3", Self.client("name") + RouteFolder.entity("Note", "text"))
        try app.current("App", "App 2")
    }

    private static func client(_ attributes: String...) -> String {
        func link(_ name: String, _ inverse: String) -> String {
            "<relationship name=\"\(name)\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" "
                + "destinationEntity=\"Client\" inverseName=\"\(inverse)\" inverseEntity=\"Client\"/>"
        }
        let own = attributes.map { "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>" }
        return
            "<entity name=\"Client\">\(own.joined())\(link("trusted", "trustedBy"))\(link("trustedBy", "trusted"))</entity>"
    }

    private func tables(_ store: String = "App.sqlite") throws -> [String] {
        try Connection(path: app.folder.file(store), mode: .readOnly).rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\_1%' ESCAPE '\\'"
        ).compactMap { $0[0].text }
    }

    private func migrate(_ rest: String...) -> [String] {
        ["migrate", "App.sqlite", "--models", "App.xcdatamodeld"] + rest
    }

    @Test("A self join of an entity with other properties is refused, and both remedies work")
    func changed() throws {
        let made = try app.done(
            "generate", "App.xcdatamodeld", "--version", "App 1", "--rows", "4", "--output", "App.sqlite")
        #expect(made.diagnostics.contains("It is not certain"))
        let refused = try app.refused("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2")
        for words in ["Client.trustedBy", "--like", "--join-table Client.trustedBy=Z_1TRUSTEDBY"] {
            #expect(refused.diagnostics.contains(words), "\(refused.diagnostics)")
        }
        // The earlier name, as some real stores have it.
        try app.done(
            "generate", "App.xcdatamodeld", "--version", "App 2", "--rows", "0", "--output", "Like.sqlite",
            "--join-table", "Client.trusted")
        #expect(try tables("Like.sqlite") == ["Z_1TRUSTED"])
        try app.done(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--output", "Two.sqlite",
            "--join-table", "Client.trustedBy=Z_1TRUSTED")
        #expect(try tables("Two.sqlite") == ["Z_1TRUSTED"])
        let links = try app.count("SELECT count(*) FROM Z_1TRUSTEDBY")
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--like", "Like.sqlite")
        #expect(try tables() == ["Z_1TRUSTED"])
        #expect(try app.count("SELECT count(*) FROM Z_1TRUSTED") == links && links > 0)
        try app.done("verify", "App.sqlite", "--models", "App.xcdatamodeld")
    }

    @Test(
        "A self join of an entity with the same properties keeps its name, in place and copied",
        arguments: [false, true])
    func unchanged(isCopied: Bool) throws {
        try app.done(
            "generate", "App.xcdatamodeld", "--version", "App 1", "--rows", "4", "--output", "App.sqlite",
            "--join-table", "Client.trusted")
        let links = try app.count("SELECT count(*) FROM Z_1TRUSTED")
        try app.done(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 3",
            "FERRY_EXECUTOR=\(isCopied ? "row" : "auto")")
        #expect(try tables() == ["Z_1TRUSTED"])
        #expect(try app.count("SELECT count(*) FROM Z_1TRUSTED") == links && links > 0)
    }

    @Test("A store of another version, or another relationship, gives no name")
    func wrong() throws {
        try app.generate("App", "App 1")
        try app.generate("App", "App 3", as: "Three.sqlite")
        let other = try app.refused(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--like", "Three.sqlite")
        #expect(other.diagnostics.contains("does not have version App 2"))
        let none = try app.refused(
            "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--to", "App 2", "--join-table", "Client.name")
        #expect(none.diagnostics.contains("There are: Client.trustedBy, Client.trusted"))
    }
}
