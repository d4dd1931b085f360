// swift-tools-version: 6.1
import PackageDescription

let house: [SwiftSetting] = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
    .map { .enableUpcomingFeature($0) }

/// What the scripts build: `FERRY_BUILD` is `program`, `demo`, `tests`, or `checks`, which are the tests and those of the
/// benchmarks.
///
/// It sets flags that SwiftPM refuses in a dependency, so a plain build has none (docs/decisions/building.md).
let asked = Context.environment["FERRY_BUILD"]
precondition(
    [nil, "program", "demo", "tests", "checks"].contains(asked), "FERRY_BUILD is program, demo, tests or checks.")
let build = asked == "checks" ? "tests" : asked

/// The rooms whose code runs once in a migration, or once for each entity; that of the others runs for each row.
let roomsOfOnce: Set<String> = ["FerryMapping", "FerryPlan", "FerryPreflight", "Ferry", "FerryCommand"]

/// The rooms that every plan asks for each entity and property, often in a loop over all models.
let roomsOfModels: Set<String> = ["FerryModel", "FerryStore"]

func without(_ passes: String...) -> [String] { passes.flatMap { ["-Xllvm", "-sil-disable-pass=\($0)"] } }

/// For size, and without three passes that only loops over rows notice: a fifth of the compiler's time.
let lean: [SwiftSetting] = [
    .unsafeFlags(["-Osize"] + without("loop-invariant-code-motion", "release-hoisting", "bcopts"))
]

/// Generic code is shared by all types instead of compiled for each: half of the compiler's time.
let sharing = lean + [.unsafeFlags(without("generic-specializer"))]

/// No other target waits for this module: the scripts do not let it be made first, by a second look at its code.
let waitedForByNone: [SwiftSetting] = [.unsafeFlags(["-no-emit-module-separately-wmo"])]

func optimization(of room: String) -> [SwiftSetting] {
    switch (build, room) {
    case ("demo", _): [.unsafeFlags(["-Onone"])]
    // Words and reports.
    case ("program", "FerryCommand"): [.unsafeFlags(["-Onone", "-assert-config", "Release"])] + waitedForByNone
    case ("program", _) where roomsOfOnce.contains(room): sharing
    case ("program", _) where roomsOfModels.contains(room): lean
    // In a debug build, which keeps all assertions. The tests make thousands of plans, and read as many models.
    case ("tests", "FerryMapping"), ("tests", "FerryPlan"): sharing
    case ("tests", _) where !roomsOfOnce.contains(room): lean
    default: []
    }
}

/// A room of the program: one target, which may import only the rooms named here.
func room(_ name: String, over below: [Target.Dependency], embedding files: [Resource] = []) -> Target {
    .target(
        name: name, dependencies: below, exclude: ["README.md"], resources: files,
        swiftSettings: house + optimization(of: name))
}

func tests(
    _ name: String, of rooms: [Target.Dependency], excluding data: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: rooms + ["TestSupport"], exclude: data, resources: resources,
        swiftSettings: house + (build == "tests" ? waitedForByNone : []))
}

/// A library of the system.
///
/// Apple's SDKs have SQLite and zlib: there the module maps alone name them. pkg-config is not used, because it would
/// link a Mac's own libraries into a program for a phone. `FERRY_PKG_CONFIG=1` uses it nevertheless, to build against
/// Homebrew's.
func system(_ name: String, pkgConfig: String, apt: String, brew: String, isInSDK: Bool) -> Target {
    #if os(macOS)
        let pkgConfig = isInSDK && Context.environment["FERRY_PKG_CONFIG"] != "1" ? nil : pkgConfig
    #endif
    return .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt]), .brew([brew])])
}

/// Only a build with Zstandard links this library.
let zstandard: Target.Dependency = .target(name: "CZstd", condition: .when(traits: ["Zstandard"]))

let package = Package(
    name: "ferry",
    // Required: `Duration`, `URL(filePath:)`, and an SQLite of 3.37 or newer in the SDK (docs/platforms.md).
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Ferry", targets: ["Ferry"]),
        // For another command line with migration policies of its own.
        .library(name: "FerryCommand", targets: ["FerryCommand"]),
        .executable(name: "ferry", targets: ["FerryTool"]),
        .executable(name: "ferry-bench", targets: ["FerryBench"]),
        .executable(name: "ferry-fuzz", targets: ["FerryFuzz"]),
    ],
    traits: [
        .default(enabledTraits: ["Zstandard"]),
        .trait(
            name: "Zstandard",
            description: "Snapshots as Zstandard archives, by libzstd; without it they are gzip files, by zlib."),
    ],
    targets: [
        system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev", brew: "sqlite", isInSDK: true),
        system("CZstd", pkgConfig: "libzstd", apt: "libzstd-dev", brew: "zstd", isInSDK: false),
        system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib", isInSDK: true),
        .target(name: "CSystem", exclude: ["README.md"]),
        .target(name: "CHash", exclude: ["README.md"]),
        .target(name: "CDatabase", dependencies: ["CSQLite"], exclude: ["README.md"]),

        // The rooms, lowest first: a room names only rooms above its own line.
        room("FerryBase", over: ["CHash", "CSystem"]),
        room("FerrySQLite", over: ["FerryBase", "CSQLite", "CDatabase"]),
        room("FerryModel", over: ["FerryBase"]),
        room("FerryExpression", over: ["FerryBase", "FerryModel"]),
        room("FerryMapping", over: ["FerryBase", "FerryModel", "FerryExpression"]),
        room("FerryStore", over: ["FerryBase", "FerrySQLite", "FerryModel", "CZlib"]),
        room("FerryGenerate", over: ["FerryBase", "FerrySQLite", "FerryModel", "FerryStore"]),
        room("FerrySnapshot", over: ["FerryBase", "FerrySQLite", "CZlib", zstandard]),
        room("FerryPlan", over: ["FerryBase", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore"]),
        room(
            "FerryEngine",
            over: [
                "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore", "FerryPlan",
            ]),
        room(
            "FerryVerify",
            over: ["FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore"]),
        room(
            "FerryPreflight",
            over: [
                "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore", "FerryPlan",
                "FerryEngine",
            ]),
        room(
            "Ferry",
            over: [
                "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore",
                "FerrySnapshot", "FerryPlan", "FerryEngine", "FerryVerify", "FerryPreflight",
            ]),
        room(
            "FerryCommand",
            over: [
                "Ferry", "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore",
                "FerryGenerate", "FerrySnapshot", "FerryPlan", "CSystem",
            ], embedding: [.embedInCode("Templates")]),
        .executableTarget(
            name: "FerryTool", dependencies: ["FerryCommand"], exclude: ["README.md"], swiftSettings: house),

        // Tests: the code that several test targets share, then one target per room.
        .target(name: "Unsynced", dependencies: ["CSQLite", "CSystem"], path: "Tests/Unsynced"),
        .target(
            name: "TestSupport",
            dependencies: ["Unsynced", "FerryBase", "FerrySQLite", "FerryModel", "FerryStore", "Ferry"],
            path: "Tests/TestSupport", swiftSettings: house + optimization(of: "TestSupport")),
        // Random models and mappings, for tests and benchmarks.
        .target(
            name: "RandomModels", dependencies: ["FerryBase", "FerryModel", "FerryMapping", "FerryGenerate"],
            path: "Tests/RandomModels", swiftSettings: house + optimization(of: "RandomModels")),
        tests("BaseTests", of: ["FerryBase", "CHash"]),
        tests("SQLiteTests", of: ["FerryBase", "FerrySQLite", "CDatabase"]),
        tests("ModelTests", of: ["FerryBase", "FerryModel"]),
        tests("ExpressionTests", of: ["FerryBase", "FerryModel", "FerryExpression"]),
        tests(
            "MappingTests", of: ["FerryBase", "FerryModel", "FerryExpression", "FerryMapping"],
            resources: [.copy("Goldens")]),
        tests("StoreTests", of: ["FerryBase", "FerrySQLite", "FerryModel", "FerryStore"]),
        tests(
            "GenerateTests",
            of: ["FerryBase", "FerrySQLite", "FerryModel", "FerryStore", "FerryGenerate", "FerryVerify"]),
        tests("SnapshotTests", of: ["FerryBase", "FerrySQLite", "FerrySnapshot", zstandard]),
        tests(
            "PlanTests", of: ["FerryBase", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore", "FerryPlan"]),
        tests(
            "EngineTests",
            of: [
                "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore", "FerryPlan",
                "FerryGenerate", "FerryEngine", "FerryVerify", "RandomModels",
            ]),
        tests(
            "VerifyTests",
            of: [
                "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore",
                "FerryVerify",
            ]),
        tests(
            "MigratorTests",
            of: [
                "Ferry", "FerryBase", "FerrySQLite", "FerryModel", "FerryMapping", "FerryStore", "FerryGenerate",
                "FerrySnapshot", "FerryEngine", "FerryVerify", "RandomModels",
            ]),
        tests(
            "CaseTests",
            of: [
                "Ferry", "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore",
                "FerryPlan",
                "FerryEngine", "FerryVerify",
            ], excluding: ["Cases"]),
        tests(
            "CommandTests",
            of: [
                "FerryCommand", "Ferry", "FerryBase", "FerrySQLite", "FerryStore", "FerrySnapshot",
                "FerryEngine", "Unsynced",
            ],
            excluding: ["Goldens"]),
        // It alone names the program, which others run, too: they need not wait for it to be compiled.
        tests(
            "FaultTests", of: ["FerryTool", "FerryBase", "FerrySQLite", "FerryGenerate", "CSQLite"]),
        tests(
            "FixtureTests",
            of: [
                "Ferry", "FerryBase", "FerrySQLite", "FerryModel", "FerryMapping", "FerryStore", "FerryGenerate",
                "FerryPlan", "FerryEngine", "FerryVerify",
            ],
            excluding: ["Mappings", "Versions.txt"]),

        // Benchmarks: floors in C, the harness, and the program with the cases.
        .target(
            name: "CFloor", dependencies: ["CSQLite", zstandard], path: "Benchmarks/CFloor",
            cSettings: [.define("FERRY_ZSTANDARD", .when(traits: ["Zstandard"]))]),
        .target(
            name: "BenchmarkHarness", dependencies: ["CFloor", "FerryBase"], path: "Benchmarks/Harness",
            swiftSettings: house),
        .executableTarget(
            name: "FerryBench",
            dependencies: [
                "BenchmarkHarness", "CFloor", "Ferry", "FerryCommand", "FerryBase", "FerrySQLite", "FerryModel",
                "FerryMapping", "FerryStore", "FerryGenerate", "FerryPlan", "FerryEngine", "RandomModels",
            ],
            path: "Benchmarks/FerryBench", swiftSettings: house),

        // Fuzzing: changed inputs for every reader, and for the program.
        .executableTarget(
            name: "FerryFuzz",
            dependencies: [
                "Ferry", "FerryBase", "FerrySQLite", "FerryModel", "FerryExpression", "FerryMapping", "FerryStore",
                "FerrySnapshot",
            ],
            path: "Fuzz/FerryFuzz", swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)

if asked != "tests" { package.targets.append(tests("BenchmarkTests", of: ["BenchmarkHarness", "FerryBase"])) }
