/// What verification found.
package struct VerificationReport: Sendable {
    package var mode: Verification.Mode
    /// Rows compared.
    package var checked: Int64
    /// Values made by a policy in code, which cannot be recomputed.
    package var notRecomputed: Int64
    package var differences: [Difference]

    package init(mode: Verification.Mode) {
        self.mode = mode
        checked = 0
        notRecomputed = 0
        differences = []
    }

    /// One kind of difference; the example is a place (table and key), never a value.
    package struct Difference: Sendable, Hashable, Codable {
        package var check: String
        package var entity: String?
        package var count: Int64
        package var example: String?

        package init(check: String, entity: String?, count: Int64, example: String?) {
            self.check = check
            self.entity = entity
            self.count = count
            self.example = example
        }
    }

    /// Puts differences into the order of their checks, whichever were made first.
    mutating func sort(by checks: [String]) {
        let places = Dictionary(checks.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        differences = differences.enumerated().sorted { left, right in
            (places[left.element.check] ?? checks.count, left.offset)
                < (places[right.element.check] ?? checks.count, right.offset)
        }.map(\.element)
    }

    /// Adds to the difference of the same check and entity; the first example is kept.
    mutating func add(check: String, entity: String?, count: Int64, example: String?) {
        guard count > 0 else { return }
        if let index = differences.firstIndex(where: { $0.check == check && $0.entity == entity }) {
            differences[index].count += count
        } else {
            differences.append(Difference(check: check, entity: entity, count: count, example: example))
        }
    }
}
