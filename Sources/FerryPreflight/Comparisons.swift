package import FerryBase
package import FerryPlan

/// The comparisons of objects of one entity with each object of another one, which no index shortens.
///
/// Their number grows with the product of the rows, so that a mapping that was tried on a small store may take days on
/// a large one.
package struct Comparisons {
    /// Comparisons of fewer objects take no time that matters.
    private static let fewest: Int64 = 1_000_000
    /// More of them must be allowed: a minute of copying, and a quarter of an hour of verification.
    private static let limit: Int64 = 1_000_000_000
    /// One comparison in a statement of SQL, on a current machine.
    private static let copySeconds = 60e-9
    /// One comparison by verification's own evaluator.
    private static let verificationSeconds = 1e-6

    package private(set) var warnings: [FerryWarning] = []
    package private(set) var refusals: [FerryError] = []

    /// `isAllowed`: any number of them may be made.
    package init(of plan: MigrationPlan, _ verify: VerifyMode, isAllowed: Bool) {
        let seconds = Self.copySeconds + (verify == .full ? Self.verificationSeconds : 0)
        for step in plan.steps {
            for (scan, comparisons) in step.scans {
                let entities = scan.entities.map { "of \($0)" }.joined(separator: " with each object ")
                let sentence = "\(scan.part) of entity mapping \(scan.entityMapping) compares each object \(entities)"
                guard let comparisons else {
                    add("\(sentence); their number is unknown before the run.", scan)
                    continue
                }
                guard comparisons >= Self.fewest else { continue }
                let text =
                    "\(sentence): \(comparisons.counting("comparison")), \(Self.duration(Double(comparisons) * seconds))"
                guard comparisons > Self.limit, !isAllowed else {
                    add("\(text).", scan)
                    continue
                }
                refusals.append(
                    FerryError(
                        .quadratic, "\(text).",
                        remedy: """
                            Relate the objects by an equality, such as `$t.id == $source.typeid`, for which Ferry makes \
                            an index, or allow the comparisons with \(on: .allowsQuadratic).
                            """,
                        place: .init(entityMapping: scan.entityMapping)))
            }
        }
    }

    private mutating func add(_ message: String, _ scan: MemberScan) {
        warnings.append(FerryWarning(.quadratic, message, about: .init(entityMapping: scan.entityMapping)))
    }

    /// The time in the largest fitting unit: only its order of magnitude is known.
    private static func duration(_ seconds: Double) -> String {
        let units = [("day", 86_400.0), ("hour", 3_600), ("minute", 60)]
        for (name, size) in units where seconds >= 2 * size {
            return "about \(Int64(min(seconds / size, 1e15).rounded()).counting(name))"
        }
        return "about \(Int64(max(1, seconds.rounded())).counting("second"))"
    }
}
