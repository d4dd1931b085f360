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
    let mappingModel: String
    let models: [String]
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

    var openCount: Int {
        files.filter { $0.path.hasPrefix("Sources/Policies/") && !$0.path.hasSuffix("/Policies.swift") }
            .map { $0.text.split(separator: "unwritten(", omittingEmptySubsequences: false).count - 1 }.reduce(0, +)
    }

    /// Names that have another meaning in the package's files.
    private static let takenNames: Set<String> = [
        "Policies", "DefaultMigrationPolicy", "DestinationObject", "EntityMigrationPolicy", "FerryError",
        "MigrationManager", "MigrationValue", "PolicyEntityMapping", "PolicyFactory", "PolicyFunction", "SourceObject",
    ]

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

extension PolicyPackage {
    func source(of policy: PolicyClass) -> String {
        let related = policy.parts.filter { !late($0).isEmpty }
        var hooks = ""
        if !related.isEmpty {
            let cases = cases(policy) { late($0).isEmpty ? "break" : "try relate\(function($0))(object, manager)" }
            hooks += Template.policy.part("relating", ["cases": cases])
        }
        let calls = calls(of: policy)
        if !calls.isEmpty { hooks += Template.policy.part("functions", ["functions": calls.joined(separator: "\n")]) }
        hooks += policy.parts.map(finishing).joined()
        for part in related {
            let lines = late(part).map { "        \(setting($0, in: part))" }.joined(separator: "\n")
            hooks += Template.policy.part("relate", ["function": function(part), "lines": lines])
        }
        return Template.policy.part(
            "struct",
            [
                "className": SwiftText.comment(policy.className), "typeName": policy.typeName, "hooks": hooks,
                "cases": cases(policy) { "try finish\(function($0))(object, of: source, manager)" },
            ])
    }

    private func finishing(_ part: StandIn.Part) -> String {
        let given = part.properties.filter { !$0.isOpen }.map { "//   \($0.name): \($0.type), \($0.given ?? "")" }
        let asking = part.properties.filter { $0.isOpen && !$0.asks.isEmpty }.map {
            "//   \($0.name): \($0.type), by functions above"
        }
        let early = part.properties.filter { $0.isOpen && $0.asks.isEmpty && !late(part).contains($0) }
        let lines =
            ((given + asking).isEmpty ? [] : ["// Already set:"]) + given + asking + early.map { setting($0, in: part) }
        let made = unfilled.isEmpty ? "" : ", which may have created the objects of \(unfilled.joined(separator: ", "))"
        let rest = "whatever else \(part.original.policyClassName ?? "") did for \(part.original.name)\(made)"
        return Template.policy.part(
            "finish",
            [
                "shown": SwiftText.comment(part.original.shown.joined(separator: "; ")), "function": function(part),
                "lines": lines.map { "        \(SwiftText.comment($0))" }.joined(separator: "\n"),
                "rest": SwiftText.quoted(rest),
            ]
        ).replacing("throws {\n\n", with: "throws {\n")
    }

    private func setting(_ property: StandIn.Property, in part: StandIn.Part) -> String {
        let method = property.destinationEntity == nil ? "setValue" : property.isToMany ? "setObjects" : "setObject"
        let what = "\(part.original.destination ?? "").\(property.name), \(property.openText.dropFirst(2))"
            .replacing(", or null", with: ", or \(method == "setObjects" ? "[]" : "nil")")
        return "try object.\(method)(unwritten(\(SwiftText.quoted(what))), forKey: \(SwiftText.quoted(property.name)))"
    }

    /// The open relationships whose destination objects other entity mappings make, all before the second pass.
    private func late(_ part: StandIn.Part) -> [StandIn.Property] {
        part.properties.filter { property in
            guard property.isOpen, let entity = property.destinationEntity else { return false }
            return !unfilled.contains(entity)
        }
    }

    private func cases(_ policy: PolicyClass, _ body: (StandIn.Part) -> String) -> String {
        policy.parts.map { "        case \(SwiftText.quoted($0.original.name)): \(body($0))" }.joined(separator: "\n")
    }

    /// The suffix of a function's name for an entity mapping, unique in the mapping model.
    private func function(_ part: StandIn.Part) -> String {
        let name = SwiftText.identifier(part.original.name)
        let names = mapping.entityMappings.map(\.name)
        let isUnique = names.count { SwiftText.identifier($0) == name } == 1
        return isUnique ? name : "\(name)_\(names.firstIndex(of: part.original.name) ?? 0)"
    }

    private func calls(of policy: PolicyClass) -> [String] {
        let asked = policy.parts.flatMap { part in
            part.properties.flatMap { property in
                let words = "\(part.original.destination ?? "").\(property.name), \(property.type)\(property.hint)"
                return property.asks.map { (selector: $0, words: words) }
            }
        }
        return asked.groups(by: \.selector).map { selector, uses in
            let what = SwiftText.quoted("\(selector) for \(uses.map(\.words).joined(separator: "; "))")
            return "            \(SwiftText.quoted(selector)): { arguments in try unwritten(\(what)) },"
        }
    }
}

enum SwiftText {
    static func quoted(_ text: String) -> String {
        let signs: [Unicode.Scalar: String] = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"]
        let literal = text.unicodeScalars.map { scalar in
            signs[scalar] ?? (isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar))
        }
        return "\"\(literal.joined())\""
    }

    /// A name for a type or a function; a character that no name may hold becomes an underscore.
    static func identifier(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber ?? true ? "_" + name : name
    }

    static func comment(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ character: Unicode.Scalar) -> Bool {
        character.value < 0x20 || [0x7F, 0x85, 0x2028, 0x2029].contains(character.value)
    }
}
