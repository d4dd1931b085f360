internal import Ferry
internal import FerryBase
internal import FerryModel

struct ModelExportCommand: Command {
    static let syntax = Syntax(
        "model export", summary: "Export a model version as source XML, for apps whose model is in code.",
        discussion:
            "Exports the model that a store contains, or a version of a compiled model. The XML has the same version hashes: "
            + "settings that XML cannot express are listed, and an export that would change a hash is refused. The version "
            + "is added to the bundle as the next one, and becomes its current version. If the bundle already has a version "
            + "with these hashes, nothing is written. A source model is copied unchanged.",
        operands: [.init("MODEL", "\(VersionWord.forms.prefix(1).uppercased() + VersionWord.forms.dropFirst()).")],
        options: [
            .value(
                "--output", "BUNDLE", "The .xcdatamodeld to write to; it is created if it does not exist.",
                isRequired: true),
            .value(
                "--name", "VERSION",
                "Name of the new version. Default: the bundle's name, with a number from the second version on."),
        ],
        example: "ferry model export default.store --output App.xcdatamodeld")

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let output = arguments.value("--output") ?? ""
        let name = arguments.value("--name")
        if let name, name.contains("/") || name.hasPrefix(".") {
            throw arguments.wrong("--name cannot be \"\(name)\".", "It is a part of a file's name.")
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
            : "\(output) has this version already: '\(added.name)'. Nothing was written."
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
