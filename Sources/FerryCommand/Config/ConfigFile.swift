internal import FerryBase

/// `ferry.json`: what a project says once, instead of in every command line.
///
/// Each of its keys stands for an option, and is passed over by a command without that option. The command line goes
/// before it.
struct ConfigFile {
    static let fileName = "ferry.json"
    /// The number of this form of the file.
    static let form: Int64 = 1
    /// What `--config` takes where no file is to be read.
    static let none = "none"

    static let option = Syntax.Option.value(
        "--config", "FILE",
        "A file with values for options, which the command line goes before; none for no such file. Default: ferry.json "
            + "beside the models, else in the current folder, if it is there.")

    let path: String
    /// The words for each option that the file has a value for; a flag has none.
    let words: [String: [String]]

    /// What the command line leaves to the file.
    ///
    /// - Parameters:
    ///   - syntax: The command.
    ///   - config: The value of `--config`.
    ///   - models: The models that the command line names.
    /// - Returns: Nil where there is no file.
    /// - Throws: `notFound` for a file that was named and is not there, `usage` for one that cannot be used.
    static func find(for syntax: Syntax, config: String?, models: [String]) throws(FerryError) -> ConfigFile? {
        guard syntax.options.contains(where: { $0.name == option.name }), config != none else { return nil }
        let files = FileLayer()
        if let config {
            guard try files.exists(config) else {
                throw FerryError(
                    .notFound, "There is no file at \(config).", remedy: "Check the path after --config.")
            }
            return try ConfigFile(config, files)
        }
        let folders = models.prefix(1).map { FileLayer.parent(of: $0) } + ["."]
        for folder in folders {
            let path = folder == "." ? fileName : "\(folder)/\(fileName)"
            if try files.exists(path) { return try ConfigFile(path, files) }
        }
        return nil
    }

    private init(_ path: String, _ files: FileLayer) throws(FerryError) {
        self.path = path
        let root = try JSONCursor(try files.read(path, limit: 1 << 20), of: path, code: .usage)
        let folder = FileLayer.parent(of: path)
        var words: [String: [String]] = [:]
        try Self.read(root, ConfigKey.all) { key, value throws(FerryError) in
            guard let option = key.option, let found = try key.words(value, folder: folder) else { return }
            words[option] = found
        }
        self.words = words
    }

    /// Goes through an object and those in it, and refuses what is not known.
    private static func read(
        _ object: JSONCursor, _ keys: [ConfigKey], _ body: (ConfigKey, JSONCursor) throws(FerryError) -> Void
    ) throws(FerryError) {
        let members = try object.members(allowing: keys.map(\.name))
        for key in keys {
            guard let value = members[key.name] else { continue }
            if key.members.isEmpty {
                try body(key, value)
            } else {
                try read(value, key.members, body)
            }
        }
    }
}
