internal import Foundation
internal import TestSupport
internal import Testing

/// Rows with values in columns of a subentity's attributes.
///
/// Core Data leaves a new attribute's default in all rows of the table.
@Suite("Columns of relatives")
struct RelativesColumnsTests {
    @Test(
        "Values in a subentity's column are carried over in place, and a change of one is found",
        arguments: [
            "lives:Integer 16", "<attribute name=\"lives\" attributeType=\"Integer 16\" defaultValueString=\"1\"/>",
        ])
    func areCarriedOver(later: String) throws {
        let app = try RouteFolder()
        func version(_ name: String, age: String, lives: String, _ more: String = "") throws {
            let cat = RouteFolder.entity("Cat", lives).replacing(
                "name=\"Cat\"", with: "name=\"Cat\" parentEntity=\"Pet\"")
            try app.model("App", name, RouteFolder.entity("Pet", "nick", age) + cat + more)
        }
        try version("App 1", age: "age:Integer 16", lives: "lives:Integer 16")
        try version("App 2", age: "years<-age:Integer 16", lives: later, RouteFolder.entity("Toy", "name"))
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
