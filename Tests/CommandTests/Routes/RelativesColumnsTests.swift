internal import Foundation
internal import TestSupport
internal import Testing

/// Rows with values in columns of a subentity's attributes, as Core Data leaves the default of a new one in all rows of the
/// table.
@Suite("Columns of relatives")
struct RelativesColumnsTests {
    @Test("What stands there is carried over in place, and a change of it is found")
    func areCarriedOver() throws {
        let app = try RouteFolder()
        func version(_ name: String, _ more: String...) throws {
            let cat = RouteFolder.entity("Cat", "lives:Integer 16").replacing(
                "name=\"Cat\"", with: "name=\"Cat\" parentEntity=\"Pet\"")
            try app.model(
                "App", name,
                RouteFolder.entity("Pet", "nick", more.isEmpty ? "age:Integer 16" : "years<-age:Integer 16")
                    + cat + more.joined())
        }
        try version("App 1")
        try version("App 2", RouteFolder.entity("Toy", "name"))
        try app.current("App", "App 2")
        try app.generate("App", "App 1")
        try app.execute(
            "UPDATE ZPET SET ZLIVES = 9 WHERE Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Pet')")
        let models = ["--models", "App.xcdatamodeld"]
        let made = try app.run(["migrate", "App.sqlite", "--output", "New.sqlite"] + models)
        #expect(made.exitCode == 0, "\(made.diagnostics)")
        let verify = ["verify", "New.sqlite", "--source", "App.sqlite"] + models
        #expect(try app.run(verify).exitCode == 0)
        try app.execute(
            "UPDATE ZPET SET ZLIVES = 8 WHERE Z_PK = (SELECT min(Z_PK) FROM ZPET WHERE ZLIVES = 9)", on: "New.sqlite")
        #expect(try app.run(verify).exitCode == 3)
    }
}
