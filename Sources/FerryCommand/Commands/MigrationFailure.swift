internal import Ferry
internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A migration that did not come to its end, as text and as JSON.
struct MigrationFailure {
    let error: FerryError
    /// The plan, when there was one before the failure.
    let plan: PlanReport?
    let store: URL

    func show(on console: Console) {
        guard console.isJSON else {
            console.note(error)
            for refusal in refusals.dropFirst() { console.note(refusal) }
            for line in differences { console.note(line) }
            return
        }
        console.fail(error, members)
    }

    /// What is known of the result, without the error.
    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [
            ("outcome", .string(outcome)), ("from", .string(plan?.chain.first)), ("to", .string(plan?.chain.last)),
            ("mode", .string(plan?.steps.first?.mode.rawValue)), ("store", .string(store.filePath)),
        ]
        if let summary { members.append(("verification", MigrationRendering.json(summary))) }
        if refusals.count > 1 { members.append(("refusals", .array(refusals.map(\.json)))) }
        return members
    }

    private var outcome: String {
        switch error.code.consequence {
        case .refused, .usage: "refused"
        case .failed, .differs: "failed"
        case .resumable: "resumable"
        }
    }

    private var refusals: [FerryError] { (error.cause as? PlanRefusals)?.refusals ?? [] }

    private var summary: VerificationSummary? { (error.cause as? VerificationDifferences)?.summary }

    private var differences: [String] {
        (summary?.differences ?? []).map { difference in
            let place = [difference.entity, difference.example.map { "for example \($0)" }].compactMap { $0 }
            return "  \(difference.check): \(Quantity.grouped(difference.count)) "
                + (place.isEmpty ? "" : "(\(place.joined(separator: ", ")))")
        }
    }
}
