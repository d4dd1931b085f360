import FerryBase
import FerryExpression
import FerryMapping
import FerryModel
import FerrySQLite
import FerryStore
import Foundation
import TestSupport
import Testing

/// Values that may stand in files, where the option is set or taken away between two versions.
@Suite("External storage")
struct ExternalStorageTests {
    private static let name = "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F60"

    private func model(isExternal: Bool, adding second: Attribute? = nil) -> ManagedObjectModel {
        let photo = Attribute(name: "photo", type: .binary, isOptional: true, allowsExternalStorage: isExternal)
        return ManagedObjectModel(
            versionIdentifiers: [], entities: [Entity(name: "Item", attributes: [photo] + [second].compactMap { $0 })])
    }

    /// A store with three items: their values in the form of the option, and one empty.
    private func store(isExternal: Bool, values: [Value]) throws -> StoreBuilder {
        let store = try StoreBuilder(model(isExternal: isExternal))
        for (key, value) in values.enumerated() {
            try store.connection.run(
                "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZPHOTO) VALUES (?, 1, 1, ?)", [.integer(Int64(key + 1)), value])
        }
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 9")
        return store
    }

    private func photos(_ connection: Connection) throws -> [Value] {
        try connection.rows("SELECT ZPHOTO FROM ZITEM ORDER BY Z_PK").map { $0[0] }
    }

    @Test("Set, every value gets the first byte of contents in the row")
    func optionSet() throws {
        let store = try store(isExternal: false, values: [.blob([7, 8]), .null, .blob([])])
        let added = Attribute(
            name: "icon", type: .binary, defaultValue: .blob([5]), allowsExternalStorage: true)
        let (new, _) = try CodedStep.run(
            store.path, store.version, to: model(isExternal: true, adding: added), in: TemporaryFolder())
        #expect(try photos(new) == [.blob([1, 7, 8]), .null, .blob([1])])
        #expect(try new.value("SELECT ZICON FROM ZITEM WHERE Z_PK = 1") == .blob([1, 5]))
    }

    @Test("Taken away, contents of files go into the rows")
    func optionTakenAway() throws {
        let store = try store(
            isExternal: true, values: [.blob([1, 7, 8]), .null, .blob(ExternalData.reference(to: Self.name))])
        let files = FileLayer()
        try files.createDirectory(ExternalData.folder(forStore: store.path))
        try files.replace(ExternalData.folder(forStore: store.path) + "/" + Self.name, with: Array("large".utf8))
        let (new, _) = try CodedStep.run(
            store.path, store.version, to: model(isExternal: false), in: TemporaryFolder())
        #expect(try photos(new) == [.blob([7, 8]), .null, .blob(Array("large".utf8))])
    }

    @Test("A value that names no file is damage")
    func missingFile() throws {
        let store = try store(isExternal: true, values: [.blob(ExternalData.reference(to: Self.name)), .blob([1])])
        let damage = try StoreDamage.missingFiles(
            in: store.layout, of: store.path, on: store.connection, files: FileLayer())
        #expect(damage.map(\.kind) == [.missingFile])
        #expect(damage.map(\.property) == ["photo"])
        #expect(damage.map(\.rows) == [1])
        let error = #expect(throws: FerryError.self) {
            _ = try CodedStep.run(store.path, store.version, to: model(isExternal: false), in: TemporaryFolder())
        }
        #expect(error?.code == .rowFailed)
        #expect(error?.message.contains("Item") == true)
    }

    @Test("Where the option stays, values pass as they are, with or without their files")
    func optionKept() throws {
        let values: [Value] = [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9])]
        let store = try store(isExternal: true, values: values)
        let added = Attribute(name: "text", type: .string, isOptional: true)
        let (new, _) = try CodedStep.run(
            store.path, store.version, to: model(isExternal: true, adding: added), in: TemporaryFolder())
        #expect(try photos(new) == values)
    }

    @Test(
        "A value that a condition chooses passes as it is, from a file into a row, and back", arguments: [true, false])
    func chosen(isExternal: Bool) throws {
        let store = try store(
            isExternal: true,
            values: [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9]), .null, .blob([1, 8])])
        let files = FileLayer()
        try files.createDirectory(ExternalData.folder(forStore: store.path))
        try files.replace(ExternalData.folder(forStore: store.path) + "/" + Self.name, with: Array("large".utf8))
        let rule = AttributeRule.value(
            try Expression.parse("TERNARY(1 > 2, nil, TERNARY(2 > 1, $source.photo, nil))"))
        let added = Attribute(name: "text", type: .string, isOptional: true)
        let folder = try TemporaryFolder()
        let run = try CodedStep.prepare(
            store.path, store.version, to: model(isExternal: isExternal, adding: added), in: folder,
            attributes: ["photo": rule])
        let (new, _) = try CodedStep.complete(run)
        #expect(
            try photos(new)
                == (isExternal
                    ? [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9]), .null, .blob([1, 8])]
                    : [.blob(Array("large".utf8)), .blob([9]), .null, .blob([8])]))
    }

    @Test("Whether there is a value is asked without its file")
    func nilTests() throws {
        let store = try store(
            isExternal: true, values: [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9]), .null])
        let added = Attribute(name: "text", type: .string, isOptional: true)
        let rule = AttributeRule.value(
            try Expression.parse("TERNARY($source.photo == nil OR NOT nil != photo, 'no', 'yes')"))
        let folder = try TemporaryFolder()
        let run = try CodedStep.prepare(
            store.path, store.version, to: model(isExternal: true, adding: added), in: folder,
            attributes: ["text": rule])
        let (new, _) = try CodedStep.complete(run)
        #expect(
            try new.rows("SELECT ZTEXT FROM ZITEM ORDER BY Z_PK").map { $0[0] }
                == [.text("yes"), .text("yes"), .text("no")])
    }

    @Test("What reads contents, or looks for equal ones, is refused: a column has a file's name")
    func refusesContents() throws {
        let store = try store(isExternal: true, values: [.blob([1, 9])])
        let added = Attribute(name: "size", type: .integer32, isOptional: true)
        let target = model(isExternal: true, adding: added)
        for text in ["$source.photo.length", "FUNCTION($source.photo, 'length')"] {
            let error = #expect(throws: FerryError.self) {
                try CodedStep.prepare(
                    store.path, store.version, to: target, in: TemporaryFolder(),
                    attributes: ["size": .value(try Expression.parse(text))])
            }
            #expect(error?.code == .unsupported && error?.message.contains("outside of the database") == true)
        }
        let error = #expect(throws: FerryError.self) {
            try CodedStep.prepare(
                store.path, store.version, to: target, merging: ["Item": ["photo"]], in: TemporaryFolder())
        }
        #expect(error?.code == .unsupported && error?.message.contains("Item.photo") == true)
    }
}
