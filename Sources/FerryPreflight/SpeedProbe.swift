internal import FerryBase
internal import FerrySQLite

/// A small piece of SQLite's work in memory, whose time shows how fast a machine is.
package enum SpeedProbe {
    package static let rows = 1_000

    /// Other work on the machine shows only over several of its time slices; the extremes count little.
    package static func seconds() -> Double? {
        do {
            let times = try (0..<5).map { _ in
                let start = Clock.nanoseconds()
                try work()
                return Clock.seconds(since: start)
            }
            return times.sorted()[1...3].reduce(0, +) / 3
        } catch {
            return nil
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
