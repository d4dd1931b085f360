internal import Ferry
internal import FerryBase

/// What a migration loses, as text and as JSON, in a plan and in a report alike.
struct LossTable {
    /// As many as the sentence names.
    private static let most = 6

    let losses: [Loss]

    var json: JSON {
        .array(
            losses.map { loss in
                .object([
                    ("entity", .string(loss.entity)), ("property", .string(loss.property)),
                    ("version", .string(loss.version)), ("rows", .integer(loss.rows)),
                    ("values", loss.property == nil ? .null : .integer(loss.rows)),
                    ("estimated", .bool(loss.isEstimated)), ("because", .string(loss.because)),
                    ("step", .integer(loss.step)),
                ])
            })
    }

    func lines(width: Int) -> [String] {
        var table = TextTable(["Entity", "Property", "Number", "Because"], [.left, .left, .right, .left])
        for loss in losses { table.add([loss.entity, loss.property ?? "", number(loss), loss.because]) }
        return table.lines(width: width)
    }

    /// The losses in one line, as in `Loses: Book.authorName, 4 values`.
    var sentence: String {
        let named = losses.prefix(Self.most).map { loss in
            let one = loss.property == nil ? "object" : "value"
            guard let rows = loss.rows else { return "\(loss.name), ? \(one)s" }
            return "\(loss.name), \(number(loss)) \(one)\(rows == 1 ? "" : "s")"
        }
        let more = losses.count > Self.most ? "; and \(losses.count - Self.most) more" : ""
        return "Loses: \(named.joined(separator: "; "))\(more)."
    }

    private func number(_ loss: Loss) -> String {
        loss.rows.map { (loss.isEstimated ? "~" : "") + Quantity.grouped($0) } ?? "?"
    }
}
