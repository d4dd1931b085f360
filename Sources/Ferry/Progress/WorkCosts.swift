internal import FerryBase
internal import FerryPlan
internal import FerrySQLite

/// The seconds of each kind of work: the one table from which the longest unit, the time left and the whole time follow.
///
/// Measured with two processors: three copied steps over two million books with three million links, each alone, and
/// steps in place over stores of other apps. ``MachineProbe`` compares this machine with that one, and ``RunEstimate``
/// learns the rest while the run is at work.
enum WorkCosts {
    // For a byte: to check it, to compress and read it back, to write it into the store, and to copy it in a page copy.
    static let check = 1.2e-9
    static let snapshot = 4.7e-9
    static let swap = 6.5e-9
    static let pageCopy = 3e-9

    // For a row: by SQL without its bytes; by Swift; by a policy; found by its values; made by an iteration.
    static let row = 0.23e-6
    static let rowByte = 3.8e-9
    /// For a value of a row, a foreign key taken unchanged, one found by a rule, and a part of an expression.
    static let rowValue = 0.05e-6
    static let rowKey = 0.4e-6
    static let rowLink = 1.2e-6
    static let rowExpression = 0.3e-6
    static let rowInSwift = 1.2e-6
    static let rowOfPolicy = 3e-6
    static let found = 1.2e-6
    static let iterated = 1.7e-6
    static let link = 0.65e-6
    /// For an object whose foreign key is found after all rows are written.
    static let linkedLater = 4e-6
    /// For an entry of an index of numbers, and of texts.
    static let number = 0.65e-6
    static let text = 0.95e-6

    static let verifiedRow = 0.6e-6
    static let verifiedByte = 1e-9
    /// For a value of a row, a foreign key taken unchanged, one found by a rule, and a part of an expression.
    static let verifiedValue = 0.07e-6
    static let verifiedKey = 0.2e-6
    static let verifiedRule = 0.7e-6
    static let verifiedExpression = 0.3e-6
    static let verifiedLink = 0.25e-6
    static let verifiedEntry = 0.15e-6
    /// For a row that is found by its values, and for confirming the result; one thread does both.
    static let verifiedFound = 1.6e-6
    static let sortedFound = 0.4e-6
    /// A quick verification as a share of a full one.
    static let quickly = 0.33
    /// The number of threads in the measurement, and the highest number that is as efficient.
    static let jobs = 2.0
    static let mostJobs = 8.0

    // Statements of a step in place.
    static let readRow = 0.1e-6
    static let readByte = 0.8e-9
    static let writtenRow = 0.5e-6
    static let writtenValue = 0.014e-6
    static let writtenByte = 5e-9
    static let lookup = 0.6e-6
    /// For an entry of a new index: sorted among others in memory, or after the entry before it already.
    static let sortedEntry = 0.8e-6
    static let equalEntry = 0.35e-6
    /// For an entry of so many that their sorting needs files.
    static let mergedEntry = 0.9e-6
    static let entryByte = 6e-9
    /// For an entry of an existing index: each has a page of its own.
    static let changedEntry = 2.5e-6
    static let freedByte = 1e-9
    static let overwrittenByte = 2e-9
    static let statement = 0.1e-3
    /// For an alteration: SQLite reads the schema again.
    static let alteration = 0.3e-3
    /// For each entity, once for each entity: planning and the checks read the schema and compare it.
    static let plannedEntity = 8e-6
    static let checkedEntity = 2e-6
    /// For the record of the step, the syncs of COMMIT, and the change of the journal mode.
    static let commit = 0.06
    /// A rewritten row of a step whose statements are not known.
    static let rowInPlace = 1.0e-6

    /// The fixed cost of a phase, and of a mapping, an index, and a table: mostly that of a synced COMMIT.
    static let phase = 0.02
    static let item = 2e-3

    static func seconds(_ work: StatementWork) -> Double {
        statement + work.readRows * readRow + work.readBytes * readByte
            + work.writtenRows * writtenRow + work.writtenValues * writtenValue + work.writtenBytes * writtenByte
            + work.lookups * lookup + work.sortedEntries * sortedEntry + work.equalEntries * equalEntry
            + work.mergedEntries * mergedEntry + work.entryBytes * entryByte + work.changedEntries * changedEntry
            + work.freedBytes * freedByte + work.overwrittenBytes * overwrittenByte
    }
}

/// The speed of this machine, by a fixed piece of work in memory.
package enum MachineProbe {
    private static let rows = 4_000
    /// The time of a round of the probe on the machine of ``WorkCosts``.
    private static let usualSeconds = 0.008
    /// Other work on the machine shows only over several of its time slices; a round that it happens to hold up, or to
    /// spare, counts little.
    private static let rounds = 5
    /// A slow machine shows in fewer rounds.
    private static let mostSeconds = 0.1
    /// The migration of a smaller store takes hardly longer than the probe.
    static let leastStore: Int64 = 4 << 20
    /// The tables that a step in place writes, if the others are not even read.
    static let leastPart: Int64 = 32 << 20
    /// A probe of a few milliseconds cannot show more.
    private static let bounds = 0.25...6.0

    /// The time of work here, relative to the machine of ``WorkCosts``.
    static func factor() -> Double {
        do {
            var times: [Double] = []
            while times.count < rounds, times.reduce(0, +) < mostSeconds {
                let start = Clock.nanoseconds()
                try run()
                times.append(Clock.seconds(since: start))
            }
            return factor(rounds: times)
        } catch {
            // Without a probe, the machine counts as usual.
            return 1
        }
    }

    private static func run() throws(DatabaseError) {
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

    /// The factor by the average round, without the shortest and the longest one if there are enough.
    package static func factor(rounds: [Double]) -> Double {
        let kept = rounds.count < 3 ? rounds[...] : rounds.sorted().dropFirst().dropLast()
        let average = kept.reduce(0, +) / Double(max(1, kept.count))
        return min(max(average / usualSeconds, bounds.lowerBound), bounds.upperBound)
    }
}
