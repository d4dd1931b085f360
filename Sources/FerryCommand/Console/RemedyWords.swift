internal import Ferry
internal import FerryBase

/// The wording of the library's remedies for a command line: settings as options, calls as commands.
enum RemedyWords {
    static let options: [Setting.Name: String] = [
        .models: "--models", .mappings: "--mappings", .source: "--source", .target: "--to", .chain: "--chain",
        .ignoresMappingsBeside: "--no-mappings", .losses: "--accept-loss", .lossExceptions: "--lose",
        .allowsDowngrade: "--allow-downgrade", .allowsQuadratic: "--accept-loss", .breaksSync: "--break-sync",
        .like: "--like", .joinTables: "--join-table", .output: "--output", .memoryLimit: "--memory-limit",
        .snapshotFolder: "--snapshot-dir", .snapshotForm: "--snapshot", .damaged: "--damaged",
        .removals: "--drop-unknown", .restart: "--restart", .missingParts: "--missing", .adoption: "--adopt",
        .holdsSwap: "--hold-swap", .rowsOf: "--rows-of",
    ]

    static let commands: [Remedy.Action: String] = [
        .listSnapshots: "snapshot list", .verifySnapshots: "rollback --check", .rollBack: "rollback",
        .recoverJournal: "repair --recover",
    ]

    static let repairs: Set<Setting.Name> = [.missingParts, .adoption, .removals]

    /// The option with its value, or the whole command of a repair.
    static func words(_ setting: Setting, repair: String = "\(FerryCommand.program) repair STORE") -> String {
        let words = option(setting)
        return repairs.contains(setting.name) && setting.value != nil ? "`\(repair) \(words)`" : words
    }

    /// The option with its value; the option alone if it has no value on the command line.
    private static func option(_ setting: Setting) -> String {
        if setting.name == .executor, case .choice(let word) = setting.value {
            return "FERRY_EXECUTOR=\(word) in the environment"
        }
        // A setting without an option keeps the library's name.
        guard let option = options[setting.name] else { return "\(setting)" }
        switch setting.value {
        case nil, .flag: return option
        case .choice where setting.name == .losses: return option
        case .some(.some(let words)) where setting.name == .chain:
            return "\(option) FILE, where FILE lists \(words), one per line"
        case .choice(let word), .text(let word), .element(let word), .some(.some(let word)):
            return "\(option) \(ShellWord.quoted(word))"
        case .number(let number): return "\(option) \(number)"
        case .mebibytes(let count): return "\(option) \(count)MiB"
        }
    }

    /// The command, with its store so that it can be pasted.
    static func words(_ action: Remedy.Action, of store: String? = nil) -> String {
        if action == .again { return "run the same command again" }
        guard let words = commands[action] else { return action.description }
        return "`\(FerryCommand.program) \(words)\(store.map { " " + ShellWord.quoted($0) } ?? "")`"
    }
}

extension FerryError {
    /// The error with the store, and the options of a repair, in the commands of its remedy.
    func naming(store: String, _ arguments: Arguments) -> FerryError {
        let isOfRepair = remedy.settings.contains { RemedyWords.repairs.contains($0.name) }
        guard isOfRepair || remedy.actions.contains(where: { $0 != .again }) else { return self }
        var named = self
        named.remedy = Remedy(
            remedy.worded({ RemedyWords.words($0, repair: arguments.repair(store, migrates: $0.name == .adoption)) }) {
                RemedyWords.words($0, of: store)
            })
        return named
    }
}

extension Remedy {
    var commandLine: String { worded({ RemedyWords.words($0) }) { RemedyWords.words($0) } }
}

/// A word of a command line, quoted for a shell so that it can be pasted.
enum ShellWord {
    static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.unicodeScalars.allSatisfy(isPlain) { return word }
        let parts = word.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", "+", ",", ":", "=", "@", "%": true
        default: scalar.value > 0x7F && !scalar.properties.isWhitespace
        }
    }
}
