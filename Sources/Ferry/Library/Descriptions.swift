public import FerryBase
internal import Foundation

// Sentences for `print` and logs; a report's properties say all of it. No description has a value of a row.

extension MigrationReport: CustomStringConvertible {
    public var description: String {
        let name = store.lastPathComponent
        switch outcome {
        case .upToDate: return "\(name) is of version \(to) already."
        case .copied: return "\(name) is a copy: the store is of version \(to) already."
        case .migrated: break
        }
        let way = mode == .inPlace ? "in place" : "by a copy"
        let objects = entityMappings.reduce(0) { $0 + $1.written }.counting("object")
        return "\(name) was migrated from \(chain.joined(separator: " to ")) \(way) in \(wallTime.inWords): "
            + "\(objects). \(verification)"
    }
}

extension VerificationSummary: CustomStringConvertible {
    public var description: String {
        guard mode != .none else { return "It was not verified." }
        guard !differences.isEmpty else { return "Verification (\(mode)) found no differences." }
        return "Verification (\(mode)) found differences: \(differences.map(\.description).joined(separator: ", "))."
    }
}

extension VerificationSummary.Difference: CustomStringConvertible {
    public var description: String {
        "\(count.grouped) of \(check)" + (entity.map { " in \($0)" } ?? "") + (example.map { ", such as \($0)" } ?? "")
    }
}

extension PlanReport: CustomStringConvertible {
    public var description: String {
        let name = store.lastPathComponent
        if let refusal = refusals.first {
            let others = refusals.count > 1 ? " (\(Int64(refusals.count).counting("refusal")) in all)" : ""
            return "\(name) cannot be migrated\(others): \(refusal)"
        }
        guard !isUpToDate else { return "\(name) is of version \(chain.last ?? "the target") already." }
        let time = estimatedTime.map { " in about \($0.inWords)" } ?? ""
        let lost = losses.isEmpty ? "" : ", with \(Int64(losses.count).counting("kind")) of losses"
        return "\(name) would be migrated from \(chain.joined(separator: " to "))\(time): "
            + "\(rows.counting("object"))\(lost)."
    }
}

extension RehearsalReport: CustomStringConvertible {
    public var description: String {
        let whole = migration.map(\.description) ?? "A sample of \(rows.counting("row")) was migrated."
        return "\(whole) The longest unit took \(longestUnit.inWords)."
    }
}

extension RollbackReport: CustomStringConvertible {
    public var description: String {
        "\(store.lastPathComponent) has the content of \(snapshot.lastPathComponent)"
            + (version.map { ", version \($0)" } ?? "") + "."
    }
}

extension Identification: CustomStringConvertible {
    public var description: String {
        "\(store.lastPathComponent) is of \(version.map { "version \($0)" } ?? "no version of the models")."
    }
}

extension MigrationEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .planned(let plan): plan.description
        case .phase(let phase, let step): "Phase \(phase)" + (step.map { " of step \($0)" } ?? "")
        case .progress(let update): update.description
        case .warning(let warning): warning.description
        case .finished(let report): report.description
        }
    }
}

extension Duration {
    /// In seconds, with a digit after the point if there are few.
    var inWords: String {
        let tenths = Int64((inSeconds * 10).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : "\((tenths + 5) / 10) s"
    }
}

extension PlanReport.Step: CustomStringConvertible {
    public var description: String {
        let mappings = partitions.joined().count
        return "\(from) → \(to), \(mode.rawValue), \(mappings) entity mapping\(mappings == 1 ? "" : "s"): \(reason)"
    }
}
