internal import FerryBase
internal import FerryExpression

/// `ferry.json`: a key per option, ignored by commands without the option; the command line takes precedence.
struct ConfigFile {
    static let fileName = "ferry.json"
    /// The number of this form of the file.
    static let form: Int64 = 1
    /// The value of `--config` for no file.
    static let none = "none"

    static let option = Syntax.Option.value(
        "--config", "FILE",
        "Read options from FILE. Command-line options override it. \"none\" disables it. Default: ferry.json "
            + "next to the models, else in the current folder.")

    let path: String
    /// The words for each option that the file sets; a flag has no words.
    let words: [String: [String]]

    /// Reads the file of `--config`, else the file beside the models or in the current folder; nil if none exists.
    ///
    /// - Throws: `notFound` for a named file that does not exist, `usage` for an invalid file.
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
        let folders = models.prefix(1).map { FileLayer.parent(of: ModelWord.split($0).path) } + ["."]
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

    /// Reads an object and the objects in it; an unknown key is refused.
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

/// A key of `ferry.json` and its option.
struct ConfigKey: Sendable {
    enum Form: Sendable {
        case text, path, texts, paths, flag
        /// Paths, which may have a name before them.
        case models
        /// A whole number, or a text such as `32MiB`.
        case quantity
        /// Version names in their order.
        case chain
    }

    let name: String
    let form: Form
    /// Nil for a key about the file itself.
    let option: String?
    /// The keys of an object; empty for a key with an option.
    var members: [ConfigKey] = []

    static let all: [ConfigKey] = [
        ConfigKey(name: "$schema", form: .text, option: nil),
        ConfigKey(name: "ferry", form: .quantity, option: nil),
        ConfigKey(name: "models", form: .models, option: "--models"),
        ConfigKey(name: "mappings", form: .paths, option: "--mappings"),
        ConfigKey(name: "passOverMappings", form: .flag, option: "--no-mappings"),
        ConfigKey(name: "to", form: .text, option: "--to"),
        ConfigKey(name: "chain", form: .chain, option: "--chain"),
        ConfigKey(name: "joinTables", form: .texts, option: "--join-table"),
        ConfigKey(name: "like", form: .path, option: "--like"),
        ConfigKey(name: "allowedLosses", form: .texts, option: "--lose"),
        ConfigKey(name: "acceptLosses", form: .flag, option: "--accept-loss"),
        ConfigKey(name: "damaged", form: .text, option: "--damaged"),
        ConfigKey(name: "verify", form: .text, option: "--verify"),
        ConfigKey(
            name: "limits", form: .text, option: nil,
            members: [
                ConfigKey(name: "memory", form: .quantity, option: "--memory-limit"),
                ConfigKey(name: "budget", form: .text, option: "--budget"),
                ConfigKey(name: "wait", form: .text, option: "--wait"),
                ConfigKey(name: "chunkRows", form: .quantity, option: "--chunk-size"),
                ConfigKey(name: "chunkTime", form: .text, option: "--chunk-time"),
            ]),
        ConfigKey(
            name: "snapshots", form: .text, option: nil,
            members: [
                ConfigKey(name: "folder", form: .path, option: "--snapshot-dir"),
                ConfigKey(name: "keep", form: .quantity, option: "--keep"),
                ConfigKey(name: "keepDaily", form: .quantity, option: "--keep-daily"),
                ConfigKey(name: "keepWeekly", form: .quantity, option: "--keep-weekly"),
                ConfigKey(name: "minAge", form: .text, option: "--min-age"),
            ]),
        ConfigKey(name: "report", form: .path, option: "--report"),
    ]

    /// The option's words for a value, with paths from the file's folder: none for a flag that is on, nil if it is off.
    ///
    /// - Throws: `usage` for a value of another form.
    func words(_ value: JSONCursor, folder: String) throws(FerryError) -> [String]? {
        switch (form, value.node.value) {
        case (.text, .string(let text)), (.quantity, .string(let text)): return [text]
        case (.path, .string(let text)): return [Self.path(text, in: folder)]
        case (.quantity, .number(let text)) where Int64(text) != nil: return [text]
        case (.flag, .boolean(let isOn)): return isOn ? [] : nil
        case (.texts, .array): return try texts(value)
        case (.paths, .array): return try texts(value).map { Self.path($0, in: folder) }
        case (.models, .array): return try texts(value).map { Self.model($0, in: folder) }
        case (.models, .string(let text)): return [Self.model(text, in: folder)]
        case (.chain, .array): return [try texts(value).json.line]
        // One path needs no list.
        case (.paths, .string(let text)): return [Self.path(text, in: folder)]
        default: throw value.expected(wanted)
        }
    }

    private func texts(_ list: JSONCursor) throws(FerryError) -> [String] {
        var texts: [String] = []
        for element in try list.elements() { texts.append(try element.string()) }
        return texts
    }

    /// The name of the form in an error.
    private var wanted: String {
        switch form {
        case .text: "a string"
        case .path: "a path"
        case .texts: "a list of names"
        case .paths, .models: "a path or a list of paths"
        case .flag: "true or false"
        case .quantity: "a whole number or a string such as \"32MiB\""
        case .chain: "a list of version names"
        }
    }

    private static func model(_ word: String, in folder: String) -> String {
        ModelWord.word(word) { Self.path($0, in: folder) }
    }

    private static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") || folder == "." || folder.isEmpty ? path : "\(folder)/\(path)"
    }
}
