internal import FerryBase

/// A key of `ferry.json`, and the option that it stands for.
struct ConfigKey: Sendable {
    enum Form: Sendable {
        case text, path, texts, paths, flag
        /// A whole number, or a text such as `32MiB`.
        case quantity
        /// The names of versions, in their order.
        case chain
    }

    let name: String
    let form: Form
    /// Nil for what says something of the file itself.
    let option: String?
    /// The keys of an object; empty where the key stands for an option.
    var members: [ConfigKey] = []

    static let all: [ConfigKey] = [
        ConfigKey(name: "$schema", form: .text, option: nil),
        ConfigKey(name: "ferry", form: .quantity, option: nil),
        ConfigKey(name: "models", form: .paths, option: "--models"),
        ConfigKey(name: "mappings", form: .paths, option: "--mappings"),
        ConfigKey(name: "passOverMappings", form: .flag, option: "--no-mappings"),
        ConfigKey(name: "to", form: .text, option: "--to"),
        ConfigKey(name: "chain", form: .chain, option: "--chain"),
        ConfigKey(name: "like", form: .path, option: "--like"),
        ConfigKey(name: "joinTables", form: .texts, option: "--join-table"),
        ConfigKey(name: "refuseLosses", form: .flag, option: "--refuse-loss"),
        ConfigKey(name: "allowedLosses", form: .texts, option: "--lose"),
        ConfigKey(name: "damaged", form: .text, option: "--damaged"),
        ConfigKey(name: "dropUnknown", form: .texts, option: "--drop-unknown"),
        ConfigKey(name: "executor", form: .text, option: "--executor"),
        ConfigKey(name: "verify", form: .text, option: "--verify"),
        ConfigKey(
            name: "limits", form: .text, option: nil,
            members: [
                ConfigKey(name: "memory", form: .quantity, option: "--memory-limit"),
                ConfigKey(name: "budget", form: .text, option: "--budget"),
                ConfigKey(name: "chunkRows", form: .quantity, option: "--chunk-size"),
                ConfigKey(name: "chunkBytes", form: .quantity, option: "--chunk-bytes"),
                ConfigKey(name: "chunkTime", form: .text, option: "--chunk-time"),
                ConfigKey(name: "jobs", form: .quantity, option: "--jobs"),
            ]),
        ConfigKey(
            name: "snapshots", form: .text, option: nil,
            members: [
                ConfigKey(name: "folder", form: .path, option: "--snapshot-dir"),
                ConfigKey(name: "level", form: .quantity, option: "--snapshot-level"),
            ]),
        ConfigKey(name: "report", form: .path, option: "--report"),
    ]

    /// The words that the option gets for a value; nil for a flag that is off.
    ///
    /// - Parameters:
    ///   - value: The value of the key.
    ///   - folder: Where paths begin: the folder of the file.
    /// - Returns: The words; none for a flag that is on.
    /// - Throws: `usage` for a value of another form.
    func words(_ value: JSONCursor, folder: String) throws(FerryError) -> [String]? {
        switch (form, value.node.value) {
        case (.text, .string(let text)), (.quantity, .string(let text)): return [text]
        case (.path, .string(let text)): return [Self.path(text, in: folder)]
        case (.quantity, .number(let text)) where Int64(text) != nil: return [text]
        case (.flag, .boolean(let isOn)): return isOn ? [] : nil
        case (.texts, .array): return try texts(value)
        case (.paths, .array): return try texts(value).map { Self.path($0, in: folder) }
        case (.chain, .array): return [JSON.strings(try texts(value)).line]
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

    /// What a value of the form is called.
    private var wanted: String {
        switch form {
        case .text: "a string"
        case .path: "a path"
        case .texts: "a list of names"
        case .paths: "a path or a list of paths"
        case .flag: "true or false"
        case .quantity: "a whole number or a string such as \"32MiB\""
        case .chain: "a list of version names"
        }
    }

    private static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") || folder == "." || folder.isEmpty ? path : "\(folder)/\(path)"
    }
}
