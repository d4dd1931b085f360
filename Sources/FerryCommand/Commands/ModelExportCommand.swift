internal import Ferry
internal import FerryBase
internal import FerryModel

struct ModelExportCommand: Command {
    static let name = "model export"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let output = arguments.value("--output") ?? ""
        let name = arguments.value("--name")
        if let name, name.contains("/") || name.hasPrefix(".") {
            throw arguments.wrong("--name cannot be \"\(name)\".", "It becomes part of a file name.")
        }
        try WritePlace().check(output)
        let files = FileLayer()
        let version = try VersionWord(arguments.operands[0]).version()
        let bundle = try SourceBundle(output, files: files)
        let (contents, notes): ([UInt8], [String])
        if version.origin == .file, version.path.lowercased().hasSuffix(".xcdatamodel") {
            (contents, notes) = (try files.read(version.path + "/contents"), [])
        } else {
            let writer = try SourceModelWriter(version.model, hashes: version.hashes)
            (contents, notes) = (writer.bytes, writer.notes)
        }
        let added = try bundle.add(contents, hashes: version.hashes, named: name)
        let entities = Int64(version.hashes.count)
        let said =
            added.isNew
            ? "Wrote \(added.path): \(entities) \(entities == 1 ? "entity" : "entities"), with the version hashes of "
                + "\(arguments.operands[0])."
            : "\(output) already has this version: '\(added.name)'. Nothing was written."
        console.result(
            [
                "bundle": output, "version": added.name, "path": added.path, "written": added.isNew,
                "entities": entities, "digest": VersionHash.digest(version.hashes),
                "checksum": VersionHash.checksum(version.hashes), "notes": added.isNew ? notes : [],
            ], text: [said])
        if added.isNew { for note in notes { console.warn(note) } }
        return .success
    }
}
