internal import Ferry
internal import FerryBase

extension [Loss] {
    var json: JSON {
        .list(self) { loss in
            [
                "entity": loss.entity, "property": loss.property, "version": loss.version, "rows": loss.rows,
                "values": loss.isCountedInValues ? loss.rows : nil, "estimated": loss.isEstimated,
                "because": loss.because, "step": loss.step, "atMost": loss.isAtMost,
            ]
        }
    }

    /// The losses in one line, as in `Loses: Book.authorName, 4 values`.
    var sentence: String {
        let named = map { loss in
            let one = loss.isCountedInValues ? "value" : "object"
            let name = (loss.isOrder ? "order of " : "") + loss.name
            return "\(name), \(loss.number) \(one)\(loss.rows == 1 ? "" : "s")"
        }
        return "Loses: \(named.listed(6, separator: "; "))."
    }

    func others(_ warnings: [FerryWarning]) -> [String] {
        let texts = Set(map(\.text))
        return warnings.filter { warning in
            let isLoss = warning.code == .loss || warning.code == .droppedEntity
            return !texts.contains(warning.message) && (isEmpty || !isLoss)
        }.map(\.message)
    }
}

extension Loss {
    var number: String {
        let number = Quantity.rowsText(rows, isEstimated: isEstimated && !isAtMost)
        return isAtMost ? "≤ \(number)" : number
    }
}

extension [Transformation] {
    var json: JSON { .list(self) { ["entity": $0.entity, "property": $0.property, "values": $0.values] } }

    var parts: [Report.Part] {
        if isEmpty { return [] }
        let named = map { "\($0.entity).\($0.property) (\($0.values.map { $0.counting("value") } ?? "? values"))" }
        return [.space, .paragraph("Computed anew: \(named.listed(6)).")]
    }
}

enum ChainText {
    static func of(_ chain: [String]) -> String {
        guard chain.count > 8 else { return chain.joined(separator: " → ") }
        return "\(chain[0]) → … → \(chain[chain.count - 1]) (\(chain.count) versions)"
    }
}

func placeName(_ entity: String?, _ property: String?) -> String {
    [entity, property].compactMap { $0 }.joined(separator: ".")
}

extension [String] {
    func listed(_ most: Int, separator: String = ", ") -> String {
        let more = count > most ? "\(separator == "; " ? "; " : " ")and \(count - most) more" : ""
        return prefix(most).joined(separator: separator) + more
    }
}

extension String { var sentenceEnd: String { hasSuffix(".") ? self : self + "." } }

extension FerryWarning {
    var json: JSON {
        let subject: JSON = [
            "entity": subject.entity, "property": subject.property, "entityMapping": subject.entityMapping,
            "object": subject.object, "path": subject.path,
        ]
        return [
            "code": code.rawValue, "message": message,
            "subject": JSON.object(subject.members.filter { !$0.1.isNull }),
        ]
    }
}
