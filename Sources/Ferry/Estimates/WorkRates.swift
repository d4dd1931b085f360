internal import FerryBase
internal import FerrySQLite

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

    // MARK: The machine

    private static let rows = 4_000
    /// The migration of a smaller store takes hardly longer than the measurement.
    static let leastStore: Int64 = 4 << 20
    /// A measurement of a few milliseconds cannot show more.
    private static let bounds = 0.25...6.0

    /// Measures a small piece of work in memory, relative to the guesses.
    ///
    /// Other work on the machine shows only over several of its time slices; the extremes count little.
    static func machine() -> Double {
        do {
            let times = try (0..<5).map { _ in
                let start = Clock.nanoseconds()
                try work()
                return Clock.seconds(since: start)
            }
            // Each statement reads or writes short rows, and the index has an entry for each.
            let row = TableSizes.rowWork + 25
            let guess = Self.guess(.statement, 5 * row * Double(rows)) + Self.guess(.sort, row * Double(rows))
            return min(max(times.sorted()[1...3].reduce(0, +) / 3 / guess, bounds.lowerBound), bounds.upperBound)
        } catch {
            return 1
        }
    }

    private static func work() throws(DatabaseError) {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute(
            """
            CREATE TABLE probe (key INTEGER PRIMARY KEY, number INTEGER, text VARCHAR);
            WITH RECURSIVE places(place) AS (VALUES (1) UNION ALL SELECT place + 1 FROM places WHERE place < \(rows))
            INSERT INTO probe SELECT place, place * 2654435761 % 4294967296, 'row ' || place FROM places;
            CREATE INDEX probe_number ON probe (number);
            UPDATE probe SET text = text || number;
            SELECT sum(length(text)) FROM probe WHERE number > 0;
            """)
    }
}
