internal import Ferry
internal import FerryBase

/// The losses of a migration as text and as JSON, for a plan and for a report.
struct LossTable {
    /// The most losses that the sentence names.
    private static let most = 6

    let losses: [Loss]

    var json: JSON {
        .list(losses) { loss in
            [
                "entity": loss.entity, "property": loss.property, "version": loss.version, "rows": loss.rows,
                "values": loss.isCountedInValues ? loss.rows : nil, "estimated": loss.isEstimated,
                "because": loss.because, "step": loss.step, "atMost": loss.isAtMost,
            ]
        }
    }

    /// The losses in one line, as in `Loses: Book.authorName, 4 values`.
    var sentence: String {
        let named = losses.map { loss in
            let one = loss.isCountedInValues ? "value" : "object"
            let name = (loss.isOrder ? "order of " : "") + loss.name
            guard let rows = loss.rows else { return "\(name), ? \(one)s" }
            return "\(name), \(Self.number(loss)) \(one)\(rows == 1 ? "" : "s")"
        }
        return "Loses: \(named.listed(Self.most, separator: "; "))."
    }

    /// The texts of the warnings that the table does not have already.
    func others(_ warnings: [FerryWarning]) -> [String] {
        let texts = Set(losses.map(\.text))
        let places = Set(losses.map(\.name))
        return warnings.filter { warning in
            guard !texts.contains(warning.message) else { return false }
            guard warning.code == .loss || warning.code == .droppedEntity, let entity = warning.subject.entity else {
                return true
            }
            // A warning about several properties names none, but its entity.
            guard let property = warning.subject.property else {
                return !places.contains(entity) && !places.contains { $0.hasPrefix(entity + ".") }
            }
            return !places.contains("\(entity).\(property)")
        }.map(\.message)
    }

    static func number(_ loss: Loss) -> String {
        let number = Quantity.rowsText(loss.rows, isEstimated: loss.isEstimated && !loss.isAtMost)
        return loss.isAtMost ? "≤ \(number)" : number
    }
}

/// The properties whose values a migration computes anew, as text and as JSON.
struct TransformedTable {
    /// The most properties that the sentence names.
    private static let most = 6

    let transformed: [Transformation]

    var json: JSON {
        .list(transformed) { ["entity": $0.entity, "property": $0.property, "values": $0.values] }
    }

    /// As in `Computed anew: Book.price (20 values).`; nil without any.
    var sentence: String? {
        if transformed.isEmpty { return nil }
        let named = transformed.map { one in
            "\(one.entity).\(one.property) (\(one.values.map { $0.counting("value") } ?? "? values"))"
        }
        return "Computed anew: \(named.listed(Self.most))."
    }
}

/// The versions of a chain in one line; a long one by its ends.
enum ChainText {
    static func of(_ chain: [String]) -> String {
        guard chain.count > 8 else { return chain.joined(separator: " → ") }
        return "\(chain[0]) → … → \(chain[chain.count - 1]) (\(chain.count) versions)"
    }
}

extension [String] {
    /// At most the first names, and the number of the others.
    func listed(_ most: Int, separator: String = ", ") -> String {
        let more = count > most ? "\(separator == "; " ? "; " : " ")and \(count - most) more" : ""
        return prefix(most).joined(separator: separator) + more
    }
}

extension String {
    /// The text with a full stop at its end.
    var sentenceEnd: String { hasSuffix(".") ? self : self + "." }
}

enum WarningDetails {
    static func json(_ warnings: [FerryWarning]) -> JSON { .list(warnings, json) }

    static func json(_ warning: FerryWarning) -> JSON {
        let subject: JSON = [
            "entity": warning.subject.entity, "property": warning.subject.property,
            "entityMapping": warning.subject.entityMapping, "object": warning.subject.object,
            "path": warning.subject.path,
        ]
        return [
            "code": warning.code.rawValue, "message": warning.message,
            "subject": JSON.object(subject.members.filter { !$0.1.isNull }),
        ]
    }
}

/// Runs of steps, links or stores that are printed alike.
enum LikeRuns {
    /// A shorter run is printed element by element: a summary would take as many lines.
    static let fewest = 4

    /// Cuts the elements, in their order, into single elements and runs of at least ``fewest`` elements that are alike.
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
