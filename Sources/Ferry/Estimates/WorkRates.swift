package import FerryBase
internal import FerryPreflight

/// The kinds of work of a migration; each has a rate of its own.
package enum WorkKind: Int, Sendable, CaseIterable {
    /// Pages: copies, snapshots and swaps.
    case pages
    case statement
    case rowsInSwift
    /// Indexes, and what else is sorted.
    case sort
    case verification
}

/// A piece of a run's work, with the name that its progress reports have.
package struct WorkItem: Sendable {
    var phase: Phase
    /// Nil for work that belongs to no step.
    var step: Int?
    var subject: String?
    package var kind: WorkKind
    /// The bytes that it reads and writes.
    package var bytes: Double
    /// The rows that its reports count, where they do not say of how many; 0 if unknown.
    var rows: Double
    /// Whether it is a statement of a transaction, which reports its place.
    package var isStatement = false

    package init(
        _ phase: Phase, step: Int? = nil, _ subject: String? = nil, _ kind: WorkKind, bytes: Double, rows: Double = 0
    ) {
        (self.phase, self.step, self.subject, self.kind) = (phase, step, subject, kind)
        (self.bytes, self.rows) = (max(0, bytes), rows)
    }
}

extension [WorkItem] {
    /// The bytes of each kind of work, by its number.
    var bytesByKind: [Double] {
        reduce(into: WorkKind.allCases.map { _ in 0 }) { $0[$1.kind.rawValue] += $1.bytes }
    }
}

/// The seconds for a byte of each kind of work: a guess at first, then what this run measures.
package struct WorkRates: Sendable {
    /// The first guesses, in nanoseconds for a byte that is read or written.
    private static let guesses = [1.5, 4.5, 12, 12, 4.5]
    /// The share of a run whose measured time counts as much as the guesses: with less, the first moments would count
    /// for the whole run; with more, a slow machine would not show within a tenth of its run.
    private static let shareOfGuess = 0.03

    /// The time of work on this machine, relative to the guesses.
    private let machine: Double
    /// The seconds by the guesses of a part of the run that counts as much as they.
    private let weight: Double
    private var expected = WorkKind.allCases.map { _ in 0.0 }
    private var spent = WorkKind.allCases.map { _ in 0.0 }

    package init(machine: Double, for items: [WorkItem] = []) {
        self.machine = machine
        weight = Self.shareOfGuess * items.reduce(0) { $0 + Self.guess($1.kind, $1.bytes) }
    }

    private static func guess(_ kind: WorkKind, _ bytes: Double) -> Double { bytes * guesses[kind.rawValue] / 1e9 }

    /// The bytes of a kind of work that are expected to take so many nanoseconds.
    static func bytes(_ kind: WorkKind, in nanoseconds: Double) -> Double { nanoseconds / guesses[kind.rawValue] }

    package func seconds(_ kind: WorkKind, _ bytes: Double) -> Double { Self.guess(kind, bytes) * factor(kind) }

    /// The time of the bytes of each kind.
    func seconds(_ bytes: [Double]) -> Double { WorkKind.allCases.reduce(0) { $0 + seconds($1, bytes[$1.rawValue]) } }

    /// The measured time of a kind relative to its guess; that of all kinds counts until enough of it is measured.
    private func factor(_ kind: WorkKind) -> Double {
        guard weight > 0 else { return machine }
        let all = (spent.reduce(0, +) + weight * machine) / (expected.reduce(0, +) + weight)
        return (spent[kind.rawValue] + weight * all) / (expected[kind.rawValue] + weight)
    }

    /// Takes the measured time of work.
    mutating func learn(_ kind: WorkKind, _ bytes: Double, seconds: Double) {
        expected[kind.rawValue] += Self.guess(kind, bytes)
        spent[kind.rawValue] += seconds
    }

    /// Measures a small piece of work in memory, relative to the guesses.
    static func measuredMachine() -> Double {
        // Each of its five statements reads or writes short rows, and its index has an entry for each.
        let row = (TableSizes.rowWork + 25) * Double(SpeedProbe.rows)
        // A measurement of a few milliseconds cannot show more.
        let guess = guess(.statement, 5 * row) + guess(.sort, row)
        return SpeedProbe.seconds().map { min(max($0 / guess, 0.25), 6) } ?? 1
    }
}
