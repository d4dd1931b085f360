import FerryBase
import FerryEngine
import FerryModel
import FerrySQLite
import TestSupport
import Testing

/// In place, a rewritten row is in memory as a whole; other rows are not read, whatever their size.
@Suite("Large values in place")
struct InPlaceLargeValueTests {
    private static let bytes = 20_000

    private func step(addingMandatory: Bool) throws -> InPlaceStep {
        let photo = Attribute(name: "photo", type: .binary, isOptional: true)
        let added = Attribute(
            name: "added", type: .integer32, isOptional: !addingMandatory,
            defaultValue: addingMandatory ? .integer(7) : nil)
        return try InPlaceStep(
            ManagedObjectModel(versionIdentifiers: [], entities: [Entity(name: "Item", attributes: [photo])]),
            ManagedObjectModel(versionIdentifiers: [], entities: [Entity(name: "Item", attributes: [photo, added])]),
            maximumKeys: ["Item": 3],
            rows: [
                "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZPHOTO) VALUES (1, 1, 1, x'01'), (2, 1, 1, zeroblob(\(Self.bytes)))"
            ])
    }

    @Test(
        "A step without row changes passes with any memory limit",
        .enabled(if: !SQLiteLibrary.limitsWholeRows, "SQLite before 3.39 counts a row with all its values."))
    func untouched() throws {
        let step = try step(addingMandatory: false)
        var options = step.options
        (options.valueLimit, options.memoryLimit) = (10_000, 10_000)
        try StepRun.inStore(step.step, on: step.store.connection, options: options)
        #expect(try step.store.connection.integer("SELECT length(ZPHOTO) FROM ZITEM WHERE Z_PK = 2") == 20_000)
    }

    @Test("A row that is too large to rewrite is refused with entity and key, and the store stays unchanged")
    func refused() throws {
        let step = try step(addingMandatory: true)
        let before = try DatabaseDump.text(step.store.path, leavingOut: [])
        var options = step.options
        (options.valueLimit, options.memoryLimit) = (10_000, 10_000)
        let error = #expect(throws: FerryError.self) {
            try StepRun.inStore(step.step, on: step.store.connection, options: options)
        }
        #expect(error?.code == .valueTooLarge)
        #expect(error?.place.entity == "Item")
        #expect(error?.place.primaryKey == 2)
        #expect(try DatabaseDump.text(step.store.path, leavingOut: []) == before)
        options.memoryLimit = 3 * Self.bytes
        try StepRun.inStore(step.step, on: step.store.connection, options: options)
        #expect(try step.store.connection.integer("SELECT count(*) FROM ZITEM WHERE ZADDED = 7") == 2)
    }
}
