internal import FerryBase
internal import FerryModel

struct HashesCommand: Command {
    static let syntax = Syntax(
        "hashes", summary: "Tells the version hashes of models.",
        discussion:
            "For each version: the hash of every entity as a store's metadata hold it, the digest of all and the "
            + "checksum. Two versions with equal hashes are one to Core Data.",
        operands: [.init("MODEL", .several, "An .xcdatamodeld, .xcdatamodel, .momd or .mom, or a folder of them.")],
        example: "ferry hashes App.xcdatamodeld")

    private let paths: [String]

    init(from arguments: Arguments) throws(FerryError) { paths = arguments.operands }

    func run(on console: Console) throws -> ExitCode {
        let catalog = try ModelCatalog(paths: paths)
        let versions = catalog.versions
        console.result(
            [("versions", .array(versions.map { json($0, named: catalog.displayName(of: $0)) }))],
            text: versions.flatMap { text($0, named: catalog.displayName(of: $0)) })
        for version in catalog.unreadable { console.note("ferry: warning: \(version.error.message)") }
        return .success
    }

    private func json(_ version: ModelVersion, named name: String) -> JSON {
        let hashes = version.model.sortedEntityNames.compactMap { entity in
            version.hashes[entity].map { (entity, JSON.string(VersionHash.base64($0))) }
        }
        return .object([
            ("name", .string(name)), ("path", .string(version.path)), ("current", .bool(version.isCurrent)),
            ("entities", .object(hashes)), ("digest", .string(VersionHash.digest(version.hashes))),
            ("checksum", .string(VersionHash.checksum(version.hashes))),
        ])
    }

    private func text(_ version: ModelVersion, named name: String) -> [String] {
        var table = TextTable(["Entity", "Version hash"], [.left, .left])
        for entity in version.model.sortedEntityNames {
            table.add([entity, version.hashes[entity].map(VersionHash.base64) ?? "–"])
        }
        return ["\(name)\(version.isCurrent ? " (current)" : "")  \(version.path)"] + table.lines
            + ["  checksum  \(VersionHash.checksum(version.hashes))", ""]
    }
}
