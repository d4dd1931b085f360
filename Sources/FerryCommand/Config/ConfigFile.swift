internal import FerryBase
internal import FerryExpression

/// `ferry.json`: a key per option, ignored by commands without the option; the command line takes precedence.
struct ConfigFile {
    static let fileName = "ferry.json"
    static let form: Int64 = 1
    static let none = "none"

    let path: String
    private(set) var words: [String: [String]] = [:]

    /// Reads the file of `--config`, else the file beside the models or in the current folder; nil if none exists.
    ///
    /// - Throws: `notFound` for a named file that does not exist, `usage` for an invalid file.
    static func find(for syntax: Syntax, config: String?, models: [String]) throws(FerryError) -> ConfigFile? {
        guard syntax.options.contains(where: { $0.name == "--config" }), config != none else { return nil }
        let files = FileLayer()
        if let config {
            try files.checkExists(config, remedy: "Check the path after --config.")
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
        try read(root, inside: "", also: ["$schema", "ferry"])
    }

    /// Reads an object and the objects in it; an unknown key is refused.
    private mutating func read(
        _ object: JSONCursor, inside prefix: String, also others: [String] = []
    ) throws(FerryError) {
        var options: [String: Syntax.Option] = [:]
        for option in Syntax.table.flatMap(\.options) {
            if let key = option.key, key.hasPrefix(prefix) { options[String(key.dropFirst(prefix.count))] = option }
        }
        let names = options.keys.sorted().map { String($0.prefix { $0 != "." }) }.distinct
        let members = try object.members(allowing: others + names)
        for name in names {
            guard let value = members[name] else { continue }
            if let option = options[name] {
                words[option.name] = try option.words(value, folder: FileLayer.parent(of: path))
            } else {
                try read(value, inside: prefix + name + ".")
            }
        }
    }
}

extension Syntax.Option {
    /// The option's words for a value, with paths from the file's folder: none for a flag that is on, nil if it is off.
    ///
    /// - Throws: `usage` for a value of another form.
    fileprivate func words(_ value: JSONCursor, folder: String) throws(FerryError) -> [String]? {
        func placed(_ word: String) -> String {
            guard [.file, .folder].contains(WordKind(of: self)), folder != ".", !folder.isEmpty else { return word }
            func joined(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
            // A model's path may have a name before it.
            return name == "--models" ? ModelWord.word(word, joined) : joined(word)
        }
        switch (kind, value.node.value) {
        case (.flag, .boolean(let isOn)): return isOn ? [] : nil
        case (.value, .string(let text)), (.repeated, .string(let text)): return [placed(text)]
        case (.value, .number(let text)) where Int64(text) != nil: return [text]
        case (.repeated, .array): return try texts(value).map(placed)
        // The versions themselves instead of a file of them.
        case (.value, .array) where name == "--chain": return [try texts(value).json.line]
        default: throw value.expected(wanted)
        }
    }

    private func texts(_ list: JSONCursor) throws(FerryError) -> [String] {
        var texts: [String] = []
        for element in try list.elements() { texts.append(try element.string()) }
        return texts
    }

    private var wanted: String {
        switch kind {
        case .flag: "true or false"
        case .repeated: "a string or a list of strings"
        case .value: name == "--chain" ? "a list of version names" : "a whole number or a string"
        }
    }
}
