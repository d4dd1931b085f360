internal import Ferry
internal import FerryBase
internal import FerryMapping

/// A Swift package with a struct for each policy class of a mapping model, a program that migrates with them, and a test.
///
/// The package builds as it is. Behaviour that only the classes' code defines is a call of `unwritten`, which fails the
/// migration, so that a forgotten place never loses data.
struct PolicyPackage {
    struct File {
        /// The path relative to the package's folder.
        var path: String
        var text: String
    }

    let name: String
    let mapping: MappingModel
    let standIn: StandIn
    let ferry: FerryDependency
    /// The path of the mapping model relative to the package.
    let mappingModel: String
    let models: [String]
    /// The relative path of the model version for the generated store.
    let sourceModel: String
    let target: String

    /// A policy class and its entity mappings.
    struct PolicyClass {
        /// The name in the mapping model.
        var className: String
        var typeName: String
        var parts: [StandIn.Part]
    }

    var files: [File] {
        [
            File(path: "Package.swift", text: manifest), File(path: "README.md", text: readMe),
            File(path: ".gitignore", text: ".build\n"),
            File(path: "Sources/Policies/Policies.swift", text: registry),
            File(path: "Sources/Migrate/main.swift", text: program),
            File(path: "Tests/PoliciesTests/MigrationTests.swift", text: test),
        ] + classes.map { File(path: "Sources/Policies/\($0.typeName).swift", text: source(of: $0)) }
    }

    var classNames: [String] { classes.map(\.className) }

    /// The number of calls of `unwritten`.
    var openCount: Int {
        files.filter { $0.path.hasPrefix("Sources/Policies/") && !$0.path.hasSuffix("/Policies.swift") }
            .map { $0.text.split(separator: "unwritten(", omittingEmptySubsequences: false).count - 1 }.reduce(0, +)
    }

    /// Names that have another meaning in the package's files.
    private static let takenNames: Set<String> = [
        "Policies", "DefaultMigrationPolicy", "DestinationObject", "EntityMigrationPolicy", "FerryError",
        "MigrationManager", "MigrationValue", "PolicyEntityMapping", "PolicyFactory", "PolicyFunction", "SourceObject",
    ]

    /// The policy classes in the order of the mapping model.
    var classes: [PolicyClass] {
        let parts = standIn.parts.filter { $0.original.policyClassName != nil }
        var classes = parts.groups { $0.original.policyClassName ?? "" }
            .map { PolicyClass(className: $0.key, typeName: "", parts: $0.elements) }
        // The module name is left out, unless two modules have a class of one name.
        func short(_ name: String) -> String {
            SwiftText.identifier(name.split(separator: ".").last.map(String.init) ?? name)
        }
        for index in classes.indices {
            let name = short(classes[index].className)
            let isUnique = classes.count { short($0.className) == name } == 1 && !Self.takenNames.contains(name)
            classes[index].typeName = isUnique ? name : SwiftText.identifier("Policy." + classes[index].className)
        }
        return classes
    }

    /// The entities whose objects only a policy creates.
    var unfilled: [String] { standIn.parts.filter(\.isUnfilled).compactMap(\.original.destination) }

    private var manifest: String {
        """
        // swift-tools-version: 6.1
        import PackageDescription

        let package = Package(
            name: \(SwiftText.quoted(name)),
            platforms: [.macOS(.v15)],
            products: [.executable(name: "migrate", targets: ["Migrate"])],
            dependencies: [\(ferry.requirement)],
            targets: [
                .target(name: "Policies", dependencies: [.product(name: "Ferry", package: \(SwiftText.quoted(ferry.identity)))]),
                // The whole command line of Ferry, with the policies in it.
                .executableTarget(
                    name: "Migrate",
                    dependencies: ["Policies", .product(name: "FerryCommand", package: \(SwiftText.quoted(ferry.identity)))]),
                .testTarget(
                    name: "PoliciesTests",
                    dependencies: [
                        "Policies", .product(name: "Ferry", package: \(SwiftText.quoted(ferry.identity))),
                        .product(name: "FerryCommand", package: \(SwiftText.quoted(ferry.identity))),
                    ]),
            ]
        )

        """
    }

    private var registry: String {
        """
        import Ferry

        /// The policies, by the class names in the mapping model.
        public let policies: [String: PolicyFactory] = [
        \(classes.map { "    \(SwiftText.quoted($0.className)): { \($0.typeName)() }," }.joined(separator: "\n"))
        ]

        /// Stands where something is still to be written, and fails the migration: nothing is lost by forgetting it.
        func unwritten<Value>(_ what: String, file: String = #fileID, line: Int = #line) throws -> Value {
            throw FerryError(
                .rowFailed, "\\(file):\\(line): not written yet: \\(what).",
                remedy: "Replace the call of unwritten with it; the store is unchanged.")
        }

        /// For an entity mapping that came to the mapping model later.
        func unexpected(_ mapping: PolicyEntityMapping) -> FerryError {
            FerryError(
                .unsupported, "The policy does not know the entity mapping \\(mapping.name).",
                remedy: "Write what it does for it.")
        }

        """
    }

    private var program: String {
        """
        import FerryCommand
        import Foundation
        import Policies

        exit(FerryCommand.run(arguments: Array(CommandLine.arguments.dropFirst()), policies: policies))

        """
    }

    private var readMe: String {
        """
        # \(name)

        Replaces the migration policies of `\(FileLayer.name(of: mapping.path))`, which exist only in the app's code:
        \(classes.map { "`\(SwiftText.comment($0.className))`" }.joined(separator: ", ")).

        1. `swift test` builds the package, generates a store of the older version and migrates it. The known
           issues that it reports are the places that are not written yet.
        2. In `Sources/Policies`, replace each call of `unwritten` with what the class did. Until then, a migration
           fails there, and the store is unchanged.
        3. In `Tests/PoliciesTests`, add what must hold after the migration.
        4. `swift run -c release migrate migrate STORE --models … --mappings …` is `ferry` with these policies.

        """
    }
}

/// The package of Ferry that a package with policies depends on.
struct FerryDependency {
    /// The dependency in the package manifest.
    let requirement: String
    /// The package's name in the dependencies of targets.
    let identity: String

    /// Makes the dependency from a folder, whose path is made relative to the package, or from a URL.
    ///
    /// - Throws: `.notFound` for a missing folder.
    init(_ word: String, from relative: (String) -> String) throws(FerryError) {
        var last = FileLayer.name(of: word.hasSuffix("/") ? String(word.dropLast()) : word)
        if word.contains("://") || word.hasPrefix("git@") {
            if last.hasSuffix(".git") { last.removeLast(4) }
            requirement = ".package(url: \(SwiftText.quoted(word)), from: \(SwiftText.quoted(FerryVersion.text)))"
        } else {
            // The identity is the folder's own name, also for a path such as `.` or `..`.
            let path = relative(word)
            last = FileLayer.name(of: try FileLayer().realPath(word))
            requirement = ".package(path: \(SwiftText.quoted(path)))"
        }
        identity = last
    }
}
