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
                    "entity": loss.entity, "property": loss.property, "version": loss.version, "rows": loss.rows,
                    "values": loss.isCountedInValues ? .integer(loss.rows) : JSON.null, "estimated": loss.isEstimated,
                    "because": loss.because, "step": loss.step,
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
            let one = loss.isCountedInValues ? "value" : "object"
            let name = (loss.isOrder ? "order of " : "") + loss.name
            guard let rows = loss.rows else { return "\(name), ? \(one)s" }
            return "\(name), \(number(loss)) \(one)\(rows == 1 ? "" : "s")"
        }
        let more = losses.count > Self.most ? "; and \(losses.count - Self.most) more" : ""
        return "Loses: \(named.joined(separator: "; "))\(more)."
    }

    private func number(_ loss: Loss) -> String {
        loss.rows.map { (loss.isEstimated ? "~" : "") + Quantity.grouped($0) } ?? "?"
    }
}

/// Warnings for programs, beside the texts of them.
enum WarningDetails {
    static func json(_ warnings: [FerryWarning]) -> JSON { .array(warnings.map(json)) }

    static func json(_ warning: FerryWarning) -> JSON {
        let subject = [
            ("entity", warning.subject.entity), ("property", warning.subject.property),
            ("entityMapping", warning.subject.entityMapping), ("object", warning.subject.object),
            ("path", warning.subject.path),
        ]
        return .object([
            "code": warning.code.rawValue, "message": warning.message,
            "subject": JSON.object(subject.filter { $0.1 != nil }.map { ($0.0, .string($0.1)) }),
        ])
    }
}

/// Neighbours that differ in nothing that is told of them.
enum LikeRuns {
    /// So many are told one by one, since they take no more lines than their sum.
    static let fewest = 4

    /// The elements in their order, cut into runs: each holds one element, or at least ``fewest`` that are alike.
    ///
    /// - Parameters:
    ///   - elements: What is told.
    ///   - areAlike: Whether the second of two neighbours could be told with the first.
    /// - Returns: The runs; all of them together are the elements.
    static func of<Element>(_ elements: [Element], areAlike: (Element, Element) -> Bool) -> [ArraySlice<Element>] {
        var runs: [ArraySlice<Element>] = []
        var start = 0
        for index in elements.indices {
            let isLast = index + 1 == elements.count
            guard isLast || !areAlike(elements[index], elements[index + 1]) else { continue }
            let run = elements[start...index]
            runs += run.count >= fewest ? [run] : run.indices.map { elements[$0...$0] }
            start = index + 1
        }
        return runs
    }
}
