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
            let call = "\(FerryCommand.program) control \(ShellWord.quoted(store.filePath)) stop"
            error.remedy = "To end it, and have SQLite roll it back:\n\(call)\n"
            throw error
        }
        let value = arguments.operands.count > 2 ? arguments.operands[2] : ""
        let count = Quantity.count(value).map { $0.counting("row") }
        let text = "control \(arguments.operands[1])" + (value == "auto" ? " auto" : "")
        console.result(
            [
                "store": store.filePath, "runID": orders.runID, "paused": orders.isPaused, "throttle": orders.rest,
                "chunkRows": orders.chunkRows, "stopping": orders.stops,
            ],
            text: Template.messages.lines(text, ["store": ShellWord.quoted(store.filePath), "value": count ?? value]))
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
}
