internal import Ferry
internal import FerryBase
internal import FerryMapping

/// A Swift package with a struct for each policy class of a mapping model, a program that migrates with them, and a test.
///
/// The package builds as it is. Behaviour that only the classes' code defines is a call of `unwritten`, which fails the
/// migration, so that a forgotten place never loses data.
struct PolicyPackage {
    /// The path relative to the package's folder, and the text.
    typealias File = (path: String, text: String)

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

    struct PolicyClass {
        var className: String
        var typeName: String
        var parts: [StandIn.Part]
    }

    var files: [File] {
        [
            ("Package.swift", Template.manifest.filled(values)),
            ("README.md", Template.readMe.filled(values)),
            (".gitignore", ".build\n"),
            ("Sources/Policies/Policies.swift", Template.policies.filled(values)),
            ("Sources/Migrate/main.swift", Template.main.filled(values)),
            ("Tests/PoliciesTests/MigrationTests.swift", Template.tests.filled(values)),
        ] + classes.map { ("Sources/Policies/\($0.typeName).swift", source(of: $0)) }
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

    private var values: [String: String] {
        [
            "name": name, "quotedName": SwiftText.quoted(name), "requirement": ferry.requirement,
            "package": SwiftText.quoted(ferry.identity),
            "policies": classes.map { "    \(SwiftText.quoted($0.className)): { \($0.typeName)() }," }
                .joined(separator: "\n"),
            "mapping": FileLayer.name(of: mapping.path),
            "classes": classes.map { "`\(SwiftText.comment($0.className))`" }.joined(separator: ", "),
            "sourceModel": SwiftText.quoted(sourceModel),
            "models": models.map(SwiftText.quoted).joined(separator: ", "),
            "mappingModel": SwiftText.quoted(mappingModel), "target": SwiftText.quoted(target),
        ]
    }
}

/// The package of Ferry that a package with policies depends on.
struct FerryDependency {
    let requirement: String
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
