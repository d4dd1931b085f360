internal import Ferry
internal import FerryBase

struct ControlCommand: Command {
    static let name = "control"

    let arguments: Arguments

    private var store: FileURL { arguments.value("--output")?.fileURL ?? arguments.store }

    func run(on console: Console) throws -> ExitCode {
        let order = try order()
        let orders: RunOrders
        do {
            orders = try StoreFiles(store).control(order)
        } catch let error as FerryError
            where error.code == .cannotControl && error.remedy.description.hasPrefix("A stop")
        {
            var error = error
            error.remedy =
                "To end it, and have SQLite roll it back:\nferry control \(ShellWord.quoted(store.filePath)) stop\n"
            throw error
        }
        console.result(
            [
                "store": store.filePath, "runID": orders.runID, "paused": orders.isPaused, "throttle": orders.rest,
                "chunkRows": orders.chunkRows, "stopping": orders.stops,
            ], text: [text(order)])
        return .success
    }

    private func order() throws(FerryError) -> RunOrder {
        let words = Array(arguments.operands.dropFirst())
        let value = words.dropFirst().first
        func only(_ order: RunOrder) throws(FerryError) -> RunOrder {
            guard let value else { return order }
            throw arguments.wrong("\(words[0]) takes no value, such as \"\(value)\".")
        }
        switch words[0] {
        case "pause": return try only(.pause)
        case "resume": return try only(.resume)
        case "stop": return try only(.stop)
        case "throttle":
            guard let share = value.flatMap(Self.share) else {
                throw arguments.wrong("throttle needs a share of the time from 0% to 95%.", "For example: throttle 50%")
            }
            return .throttle(share)
        case "chunk-size":
            if value == "auto" { return .chunkRows(nil) }
            guard let rows = value.flatMap(Quantity.count), (1...100_000_000).contains(rows) else {
                throw arguments.wrong("chunk-size needs a number of rows (1 or more), or auto.")
            }
            return .chunkRows(Int(rows))
        default:
            throw arguments.wrong(
                "Unknown order \"\(words[0])\".", "There are: pause, resume, throttle SHARE, chunk-size N, stop.")
        }
    }

    private static func share(_ text: String) -> Double? {
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...95).contains(number) else { return nil }
        return number / 100
    }

    private func text(_ order: RunOrder) -> String {
        switch order {
        case .pause:
            "The migration pauses after the current unit of work. To continue: "
                + "ferry control \(ShellWord.quoted(store.filePath)) resume"
        case .resume: "The migration continues."
        case .throttle(let share) where share == 0: "The migration runs at full speed again."
        case .throttle(let share):
            "The migration rests \(Quantity.decimal(share * 100, places: 0)) % of the time, from the next unit of work on."
        case .chunkRows(let rows?): "The next chunks have \(Int64(rows).counting("row"))."
        case .chunkRows(nil): "The next chunks have the size that the migration's own options set."
        case .stop: "The migration stops after the current unit of work. The same migrate command continues it."
        @unknown default: "The order was given."
        }
    }
}
