internal import Ferry
internal import FerryBase
internal import Foundation

/// The words that `plan`, `migrate` and `tune` share: a store, model versions, mapping models, a target.
struct MigrationInput {
    let arguments: Arguments
    var store: URL
    let configuration: Configuration

    init(_ arguments: Arguments) throws(FerryError) {
        self.arguments = arguments
        store = arguments.store
        var configuration = Configuration { $0.target = arguments.value("--to") }
        configuration.ownsProcess = true
        if let file = arguments.value("--chain") { configuration.chain = .versions(try ChainFile.read(file)) }
        configuration.executor = try DeveloperSwitch.executor()
        configuration.ignoresMappingsBeside = arguments.has("--no-mappings")
        configuration.like = arguments.value("--like")?.fileURL
        configuration.joinTables = arguments.values("--join-table")
        // What only shows a migration tells its losses, and refuses none.
        configuration.losses.areAllowed = true
        configuration.losses.exceptions = Set(arguments.values("--lose"))
        configuration.allowsDowngrade = arguments.has("--allow-downgrade")
        configuration.breaksSync = arguments.has("--break-sync")
        configuration.allowsQuadratic = arguments.has("--accept-loss")
        configuration.damaged = try arguments.choice("--damaged") ?? .refuse
        self.configuration = configuration
    }

    /// The error; if the target is ambiguous, or losses are refused, the remedy has whole command lines.
    func worded(_ error: any Error) -> FerryError {
        var error = FerryError.from(error).naming(store: store.filePath, arguments)
        if var others = error.cause as? PlanRefusals {
            others.refusals = others.refusals.map { $0.naming(store: store.filePath, arguments) }
            error.cause = others
        }
        if let losses = error.cause as? RefusedLosses {
            let call = arguments.commandLine(with: "--lose", losses.names)
            error.remedy = "\(error.remedy) To accept exactly these losses:\n\(call)"
            return error
        }
        guard let candidates = error.cause as? TargetCandidates else { return error }
        let calls = candidates.versions.map { arguments.commandLine(with: "--to", [$0]) }
        error.remedy = "Choose one:\n\(calls.joined(separator: "\n"))"
        return error
    }

    func migrator() throws -> Migrator {
        try Migrator(
            store: store, models: arguments.models, mappings: arguments.mappings, policies: arguments.policies)
    }
}

extension Arguments {
    var store: URL { operands[0].fileURL }
    var mappings: [URL] { values("--mappings").map(\.fileURL) }

    func wait() throws(FerryError) -> Duration? { try time("--wait", "a time such as 30s or 5min") }
}

/// The library's type for a file's place; files that only pass it on need not import Foundation.
typealias FileURL = URL

extension String { var fileURL: FileURL { URL(filePath: self) } }

extension URL {
    /// - Throws: `.notFound` if no store exists at this path; then "nothing found" would mislead.
    func checkStoreExists() throws(FerryError) { try FileLayer().checkExists(filePath, as: "store") }
}

extension FileLayer {
    func checkIsWritable(_ folder: String, for path: String) throws(FerryError) {
        guard !FileManager.default.isWritableFile(atPath: folder) else { return }
        throw FerryError(
            .fileFailed, "\(path) cannot be written: its folder is not writable.", remedy: "Choose another folder.")
    }

    func checkExists(
        _ path: String, as what: String = "file", remedy: Remedy = "Check the path."
    ) throws(FerryError) {
        guard try exists(path) else { throw FerryError(.notFound, "There is no \(what) at \(path).", remedy: remedy) }
    }

    func checkIsFree(_ path: String, for what: String = "file") throws(FerryError) {
        guard try exists(path) else { return }
        throw FerryError(
            .outputExists, "\(path) already exists.", remedy: "Choose another \(what), or move that one away.")
    }
}

extension Date { var moment: String { formatted(.iso8601) } }

/// A file of version names in their order: one on each line, but for empty lines and `#` comments; or a JSON array.
enum ChainFile {
    /// The names in a file; a path that begins with a bracket is itself the JSON array, from `ferry.json`.
    static func read(_ path: String) throws(FerryError) -> [String] {
        func damaged(_ what: String) -> FerryError {
            FerryError(.usage, "\(path) \(what).", remedy: "Write one version name per line, in order.")
        }
        var content: String? = path
        if !path.hasPrefix("[") {
            try FileLayer().checkExists(path, remedy: "Check the path after --chain.")
            content = String(utf8: try FileLayer().read(path))
        }
        guard let text = content else { throw damaged("is not UTF-8 text") }
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            String(line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        var names = lines.filter { !$0.isEmpty && !$0.hasPrefix("#") }
        if lines.first(where: { !$0.isEmpty })?.hasPrefix("[") == true {
            let elements = JSON.read(Array(text.utf8))?.elements.map(\.text) ?? [nil]
            guard !elements.contains(nil) else { throw damaged("is not a JSON array of names") }
            names = elements.compactMap { $0 }
        }
        guard !names.isEmpty else { throw damaged("does not name any versions") }
        return names
    }
}
