import FerryModel
import Foundation
import TestSupport
import Testing

/// Real stores of several versions of one model, with the mapping models between the versions.
struct StoreFamily: Sendable, CustomTestStringConvertible {
    var name: String
    /// Paths of the models, below the family's folder.
    var models: [String]
    var mappings: [String] = []
    /// The stores, in version order.
    var stores: [String]
    /// Models whose path does not show their place in version order, and the paths that do.
    var moved: [String: String] = [:]
    /// Explained differences from Core Data's own stores, by a part of their text.
    var explained: [String] = []
    /// Tables of real stores with another order of columns: see the tests of the layout.
    var otherOrder: Set<String> = []

    /// Attributes that the app changed in a store after Core Data's migration, by store.
    var editedSince: [String: Set<String>] = [:]
    /// Objects that the app created or deleted after it, by the migrated store and the store of the later version.
    var changedSince: [String: [String]] = [:]

    var testDescription: String { name }

    func explains(_ difference: String) -> Bool { explained.contains { difference.contains($0) } }

    private static let movedTranslations = [
        "TranslationEntity: 5 only ours, 0 only theirs",
        "TranslationEntity.expressionEntity: 5 only ours, 0 only theirs",
    ]

    /// The families of every run, for what ``FamilyMigrationTests`` does not look at; the sweep takes all.
    static let some: [StoreFamily] = Sweep.isFull ? all : all.enumerated().filter { $0.offset % 3 == 1 }.map(\.element)

    static let all: [StoreFamily] = [
        StoreFamily(
            name: "wire-zmessaging", models: ["zmessaging.xcdatamodeld"],
            stores: ["1-25", "1-28", "2-3", "2-8", "2-21-1", "2-30-0", "2-54-0", "2-67-0", "2-80-0", "2-101-0"].map {
                "store\($0).wiredatabase"
            },
            otherOrder: ["ZMESSAGE", "ZCONVERSATION", "ZUSER"],
            // No folder has one external picture; Core Data dropped the reference when it copied the store.
            editedSince: ["store2-30-0.wiredatabase": ["User.handle"]].merging(
                ["2-54-0", "2-67-0", "2-80-0", "2-101-0"].map {
                    ("store\($0).wiredatabase", ["User.handle", "User.imageMediumData"])
                }, uniquingKeysWith: { $1 })),
        StoreFamily(
            name: "duckduckgo-bookmarks", models: ["BookmarksModel.xcdatamodeld"],
            stores: (1...5).map { "Bookmarks_V\($0).sqlite" }),
        StoreFamily(
            name: "jeffreybergier-migrationtests", models: ["Model.xcdatamodeld"],
            stores: ["1.0.0", "1.1.0", "1.1.2", "1.2.0", "2.0.0"].map { "Example_v\($0).sqlite" }),
        StoreFamily(
            name: "easylife", models: ["EasyLife.xcdatamodeld"],
            stores: ["EasyLife.sqlite", "EasyLife 1.3.0.sqlite", "EasyLife 1.5.0.sqlite"],
            moved: [
                "from-history/EasyLife 1.3.0 (older).xcdatamodel":
                    "EasyLife.xcdatamodeld/EasyLife 1.3.0 (older).xcdatamodel"
            ]),
        StoreFamily(
            name: "scout", models: ["Scout.xcdatamodeld"], stores: ["Scout-v1.sqlite", "Scout-v4.sqlite"]),
        StoreFamily(
            name: "wibosco-posts", models: ["CoreDataMigration_Example.xcdatamodeld"],
            mappings: ["Migration1to2.xcmappingmodel", "Colors.json"],
            stores: ["1", "2", "3", "WAL"].map { "CoreDataMigration_Example_\($0).sqlite" },
            // The policy makes a new identifier for each colour. The app added posts after the migration.
            editedSince: ["CoreDataMigration_Example_3.sqlite": ["Color.colorID"]],
            changedSince: [
                "CoreDataMigration_Example_2.sqlite, CoreDataMigration_Example_3.sqlite": [
                    "Color: 0 only ours, 2016 only theirs", "Post: 0 only ours, 2016 only theirs",
                    "Color.post: 0 only ours, 2016 only theirs", "Post.color: 0 only ours, 2016 only theirs",
                ]
            ]),
        StoreFamily(
            name: "objcio-moody", models: ["Moody.xcdatamodeld"], mappings: RealChainTests.moodyMappings,
            stores: ["Moody.moody"] + (2...5).map { "Moody \($0).moody" }),
        StoreFamily(
            name: "coredataplus-samplemodel", models: ["SampleModel.xcdatamodeld"], mappings: ["Makers.json"],
            stores: ["SampleModel_V1.sqlite", "SampleModel_V2.sqlite"],
            // Core Data kept the names from before the renaming in `Z_NAME`.
            explained: ["2 rows of Z_PRIMARYKEY"]),
        StoreFamily(
            name: "coredataplus-samplemodel3", models: ["SampleModel3.xcdatamodeld"],
            stores: ["SampleModel3_V1-older.sqlite", "SampleModel3_V1.sqlite"]),
        StoreFamily(
            name: "cartkit", models: ["A/CartStorage (legacy).xcdatamodel", "CartStorage.xcdatamodeld"],
            stores: ["CartStorage_v1.sqlite"],
            moved: ["from-history/CartStorage (legacy).xcdatamodel": "A/CartStorage (legacy).xcdatamodel"]),
        StoreFamily(
            name: "translationcatalog", models: (1...3).map { "CatalogModel_\($0).xcdatamodeld" },
            mappings: ["Model_1_to_2.xcmappingmodel", "Model_2_to_3.xcmappingmodel"],
            stores: ["", "_v2", "_v3"].map { "test_multi_language_core_data\($0).sqlite" },
            // After the migration the app moved the translations of five expressions into a new default value.
            editedSince: [
                "test_multi_language_core_data_v2.sqlite": ["ExpressionEntity.defaultValue"],
                "test_multi_language_core_data_v3.sqlite": [
                    "ExpressionEntity.defaultValue", "TranslationEntity.stateRawValue",
                ],
            ],
            changedSince: [
                "test_multi_language_core_data.sqlite, test_multi_language_core_data_v2.sqlite": movedTranslations,
                "test_multi_language_core_data.sqlite, test_multi_language_core_data_v3.sqlite": movedTranslations,
            ]),
        StoreFamily(
            name: "xcservercoredata", models: ["XCServerCoreData.xcdatamodeld"],
            mappings: ["Integrations.json", "MappingModel2.0.1to2.0.2.xcmappingmodel"],
            stores: ["XCServerCoreData_1.2.0.sqlite", "XCServerCoreData_2.0.1.sqlite"]),
        StoreFamily(
            name: "practical-core-data", models: ["Chapter9.xcdatamodeld"],
            mappings: ["Chapter9v2Tov3.xcmappingmodel", "Artists.json", "Covers.json"], stores: ["version1.sqlite"]),
        StoreFamily(
            name: "loopkit-model", models: ["Model.xcdatamodeld"], mappings: ["Carbs.json"],
            stores: ["Model.sqlite.v1.original"]),
    ]

    /// Copies the family's files, with every model at a path that shows its place in version order.
    func copied() throws -> Family {
        let family = try Family(name)
        for (from, to) in moved {
            let place = family.url(to).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: family.url(from), to: family.url(to))
        }
        return family
    }
}
