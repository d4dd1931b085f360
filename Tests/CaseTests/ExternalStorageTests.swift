import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Values with optional external storage, where a version sets or removes the option.
@Suite("External storage")
struct ExternalStorageTests {
    private static let name = "0D5A1F4E-3C6B-4E7A-9A55-1B2C3D4E5F60"

    private func model(isExternal: Bool, adding second: Attribute? = nil) -> ManagedObjectModel {
        let photo = Attribute(name: "photo", type: .binary, isOptional: true, allowsExternalStorage: isExternal)
        return ManagedObjectModel(
            versionIdentifiers: [], entities: [Entity(name: "Item", attributes: [photo] + [second].compactMap { $0 })])
    }

    /// Makes a store with three items: their values in the form of the option, and one empty value.
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

    @Test("With the option added, every value gets the first byte of contents in the row")
    func optionSet() throws {
        let store = try store(isExternal: false, values: [.blob([7, 8]), .null, .blob([])])
        let added = Attribute(
            name: "icon", type: .binary, defaultValue: .blob([5]), allowsExternalStorage: true)
        let (new, _) = try CodedStep.run(
            store.path, store.version, to: model(isExternal: true, adding: added), in: TemporaryFolder())
        #expect(try photos(new) == [.blob([1, 7, 8]), .null, .blob([1])])
        #expect(try new.value("SELECT ZICON FROM ZITEM WHERE Z_PK = 1") == .blob([1, 5]))
    }

    @Test("With the option removed, contents of files move into the rows")
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

    @Test("A value without its file is damage")
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

    @Test("With an unchanged option, values pass unchanged, with or without their files")
    func optionKept() throws {
        let values: [Value] = [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9])]
        let store = try store(isExternal: true, values: values)
        let added = Attribute(name: "text", type: .string, isOptional: true)
        let (new, _) = try CodedStep.run(
            store.path, store.version, to: model(isExternal: true, adding: added), in: TemporaryFolder())
        #expect(try photos(new) == values)
    }

    @Test(
        "A value that a condition chooses passes unchanged, from a file into a row, and back", arguments: [true, false])
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

    private static let icon = Attribute(
        name: "icon", type: .binary, isOptional: true, allowsExternalStorage: true)

    @Test("A value that replaces a missing one passes unchanged")
    func standsIn() throws {
        let store = try StoreBuilder(model(isExternal: true, adding: Self.icon))
        let reference = Value.blob(ExternalData.reference(to: Self.name))
        for (photo, icon) in [
            (Value.null, reference), (.blob([1, 7]), .null), (.null, .blob([1, 9])), (.null, .null),
        ] {
            try store.connection.run(
                "INSERT INTO ZITEM (Z_ENT, Z_OPT, ZPHOTO, ZICON) VALUES (1, 1, ?, ?)", [photo, icon])
        }
        try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 9")
        let folder = try TemporaryFolder()
        let run = try CodedStep.prepare(
            store.path, store.version, to: model(isExternal: true), in: folder,
            attributes: ["photo": .value(try Expression.parse("ifnil:then:($source.photo, $source.icon)"))])
        let (new, _) = try CodedStep.complete(run)
        #expect(try photos(new) == [reference, .blob([1, 7]), .blob([1, 9]), .null])
    }

    // MARK: One file, one value

    /// Makes a step from items to items and, by a second mapping, to prints, each with a filter.
    private func split(
        of store: StoreBuilder, _ items: String?, _ prints: String?, isExternal: Bool = true, in folder: TemporaryFolder
    ) throws -> StepRun {
        let files = FileLayer()
        try files.createDirectory(ExternalData.folder(forStore: store.path))
        try files.replace(ExternalData.folder(forStore: store.path) + "/" + Self.name, with: Array("large".utf8))
        let print = Attribute(name: "picture", type: .binary, isOptional: true, allowsExternalStorage: isExternal)
        let photo = Attribute(name: "photo", type: .binary, isOptional: true, allowsExternalStorage: true)
        let target = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [Entity(name: "Item", attributes: [photo]), Entity(name: "Print", attributes: [print])])
        let new = ModelVersion(of: target, name: "New")
        var mapping = MappingModel(
            name: "Step", path: "", sourceVersion: store.version.name, destinationVersion: new.name,
            entityMappings: [])
        for (entity, filter, attributes) in [
            ("Item", items, [:]), ("Print", prints, ["picture": AttributeRule.value(.init(sourceKeys: "photo"))]),
        ] {
            mapping.entityMappings.append(
                EntityMapping(
                    name: entity, source: "Item", destination: entity,
                    filter: try filter.map { try Predicate.parse($0) },
                    attributes: attributes))
        }
        let plan = Planner(catalog: ModelCatalog(versions: [store.version, new]), mappingModels: [mapping])
            .plan(from: store.version, to: new, rows: [:], areRowsEstimated: true)
        if let refusal = plan.refusals.first { throw refusal }
        return StepRun(
            step: plan.steps[0], sourcePath: store.path, isSourcePrivate: true, folder: folder.path,
            options: EngineOptions(chunkSize: .rows(7), now: 0))
    }

    private func threeItems() throws -> StoreBuilder {
        try store(isExternal: true, values: [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9]), .null])
    }

    @Test("Two attributes or mappings with one value are refused: both values would name the same file")
    func refusesSharedFiles() throws {
        let store = try threeItems()
        let within = #expect(throws: FerryError.self) {
            try CodedStep.prepare(
                store.path, store.version, to: model(isExternal: true, adding: Self.icon), in: TemporaryFolder(),
                attributes: ["icon": .value(try Expression.parse("SELF.photo"))])
        }
        #expect(within?.code == .unsupported && within?.message.contains("Item.icon and Item.photo") == true)
        for filter in [nil, "photo != nil"] {
            let between = #expect(throws: FerryError.self) {
                try split(of: store, filter, filter, in: TemporaryFolder())
            }
            #expect(between?.code == .unsupported && between?.message.contains("Item.photo and Print.picture") == true)
        }
    }

    @Test("If one of two attributes has no external storage, its data moves into the row")
    func remedyForSharedFiles() throws {
        let (store, folder) = (try threeItems(), try TemporaryFolder())
        let (new, _) = try CodedStep.complete(try split(of: store, nil, nil, isExternal: false, in: folder))
        #expect(
            try photos(new) == [.blob(ExternalData.reference(to: Self.name)), .blob([1, 9]), .null])
        #expect(
            try new.rows("SELECT ZPICTURE FROM ZPRINT ORDER BY Z_PK").map { $0[0] }
                == [.blob(Array("large".utf8)), .blob([9]), .null])
    }

    @Test(
        "Mappings of different objects pass; if their filters overlap, verification finds the file with two values")
    func sharedFilesFound() throws {
        let (store, folder) = (try threeItems(), try TemporaryFolder())
        let (new, _) = try CodedStep.complete(try split(of: store, "photo != nil", "photo == nil", in: folder))
        #expect(try new.integer("SELECT count(*) FROM ZPRINT") == 1)
        let second = try TemporaryFolder()
        let run = try split(of: store, nil, "photo != nil", in: second)
        let report = try run.run()
        for mode in [VerifyMode.quick, .full] {
            let found = try Verification(
                mode: mode, step: run.step.resolved, sourcePath: run.sourcePath, isSourcePrivate: true,
                destinationPath: run.destinationPath, workFolder: run.folder, counts: report.counts, now: 0
            ).run().differences
            #expect(found.map(\.check) == [.sharedFiles] && found.first?.count == 1, "\(found)")
        }
    }

    @Test("A test for nil does not need the value's file")
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

    @Test("An expression that reads or compares contents is refused: the column only has a file's name")
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
            #expect(error?.code == .unsupported && error?.message.contains("outside the database") == true)
        }
        let error = #expect(throws: FerryError.self) {
            try CodedStep.prepare(
                store.path, store.version, to: target, merging: ["Item": ["photo"]], in: TemporaryFolder())
        }
        #expect(error?.code == .unsupported && error?.message.contains("Item.photo") == true)
    }
}
