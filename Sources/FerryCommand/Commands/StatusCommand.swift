internal import Ferry
internal import FerryBase

struct StatusCommand: Command {
    enum Form: String, CaseIterable { case text, json, prometheus }

    static let name = "status"

    private static let secondsBetween = 1

    let arguments: Arguments

    private typealias Entry = (store: FileURL, status: RunStatus)

    func run(on console: Console) throws -> ExitCode {
        let form = console.isJSON ? .json : try arguments.choice("--format", among: Form.allCases) ?? .text
        let stores = try self.stores
        if arguments.has("--history") { return try showHistory(of: stores, on: console) }
        guard arguments.has("--watch") else {
            try show(entries(stores), form, on: console)
            return .success
        }
        guard form == .text else {
            throw arguments.wrong("--watch shows text only.", "Leave --watch out, and repeat the command.")
        }
        try watch(stores, on: console)
        return .success
    }

    private func showHistory(of stores: [FileURL], on console: Console) throws -> ExitCode {
        guard stores.count == 1 else {
            throw arguments.wrong("--history is for one store, not for \(stores.count).", "Run each by itself.")
        }
        let history = HistoryRendering(store: stores[0], runs: try StoreFiles(stores[0]).history())
        if history.runs.isEmpty { try stores[0].checkStoreExists() }
        console.result(history.json, text: history.text(width:))
        return .success
    }

    private var stores: [FileURL] {
        get throws(FerryError) {
            guard let output = arguments.value("--output") else { return arguments.operands.map(\.fileURL) }
            guard arguments.operands.count == 1 else {
                throw arguments.wrong(
                    "--output names one file for \(arguments.operands.count) stores.", "Name the new stores as STORE.")
            }
            return [output.fileURL]
        }
    }

    private func entries(_ stores: [FileURL]) throws -> [Entry] {
        try stores.map { store in
            let status = try StoreFiles(store).status()
            // With --output the new store does not exist before the run has finished.
            if status.state == .none { try store.checkStoreExists() }
            return (store, status)
        }
    }

    private func show(_ entries: [Entry], _ form: Form, on console: Console) {
        switch form {
        case .text: for entry in entries { for line in text(entry) { console.say(line) } }
        case .prometheus:
            console.result([:], verbatim: StatusMetrics.text(entries.map { ($0.store.filePath, $0.status) }))
        case .json:
            let json: JSON =
                entries.count == 1
                ? Self.json(entries[0])
                : ["stores": JSON.list(entries) { ["store": $0.store.filePath] + Self.json($0) }]
            console.result(json, verbatim: json.asResult)
        }
    }

    /// Shows all stores again and again; on a terminal in place.
    private func watch(_ stores: [FileURL], on console: Console) throws {
        var shown: [String] = []
        while true {
            let entries = try entries(stores)
            let lines = entries.flatMap(text)
            if console.isOutputTerminal, !shown.isEmpty {
                console.rewrite(shown, with: lines)
            } else if lines != shown {
                for line in lines { console.say(line) }
            }
            shown = lines
            guard entries.contains(where: { $0.status.state == .running }) else { return }
            Clock.wait(milliseconds: 1_000 * Self.secondsBetween)
        }
    }

    private static func json(_ entry: Entry) -> JSON {
        let status = entry.status
        return [
            "state": status.state.rawValue, "phase": status.phase?.rawValue, "fraction": status.fraction,
            "rowsPerSecond": status.rowsPerSecond, "etaSeconds": status.timeLeft?.inSeconds,
            "runID": status.runID, "entity": status.subject, "step": status.step, "steps": status.steps,
            "finished": status.finished?.moment, "version": status.version,
            "restored": status.restored?.filePath, "paused": status.isPaused, "throttle": status.rest,
            "chunkRows": status.chunkRows,
        ]
    }

    private func text(_ entry: Entry) -> [String] {
        let (store, status) = (entry.store.filePath, entry.status)
        switch status.state {
        case .none: return ["There is no running or unfinished migration of \(store)."]
        case .finished where status.restored != nil:
            return [
                "\(store) was rolled back" + (status.finished.map { " at \($0.moment)" } ?? "")
                    + (status.version.map { " and has version \($0) again." } ?? "."),
                "Restored from \(status.restored?.filePath ?? ""). No migration is running.",
            ]
        case .finished:
            return [
                "The last migration of \(store) finished"
                    + (status.finished.map { " at \($0.moment)" } ?? "")
                    + (status.version.map { " with version \($0)" } ?? "") + "; none is running."
            ]
        case .running where status.isPaused == true:
            return [
                "A migration of \(store) is paused" + details(status),
                "To continue: ferry control \(ShellWord.quoted(store)) resume",
            ]
        case .running: return ["A migration of \(store) is running" + details(status)]
        case .interrupted where status.phase == .swap:
            return [
                "A migration of \(store) is finished except for the swap.",
                "Run the same migrate command without --hold-swap to swap; --restart discards the migration.",
            ]
        case .interrupted:
            return [
                "A migration of \(store) was interrupted" + details(status),
                "Run the same migrate command to continue; --restart discards it.",
            ]
        }
    }

    private func details(_ status: RunStatus) -> String {
        var parts: [String] = []
        if let phase = status.phase {
            parts.append("phase \(phase.rawValue)" + (status.subject.map { " (\($0))" } ?? ""))
        }
        if let step = status.step, let steps = status.steps, steps > 1 { parts.append("step \(step) of \(steps)") }
        if let fraction = status.fraction { parts.append("\(Quantity.decimal(fraction * 100, places: 1)) %") }
        if let rate = status.rowsPerSecond { parts.append("\(Quantity.whole(rate).counting("row"))/s") }
        if let rest = status.rest { parts.append("resting \(Quantity.decimal(rest * 100, places: 0)) % of the time") }
        if let rows = status.chunkRows { parts.append("chunks of \(Int64(rows).counting("row"))") }
        if let left = status.timeLeft, status.isPaused != true { parts.append("\(Quantity.durationText(left)) left") }
        return parts.isEmpty ? "." : ": \(parts.joined(separator: ", "))."
    }
}
