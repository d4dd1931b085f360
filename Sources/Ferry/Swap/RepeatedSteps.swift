internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerrySQLite

/// The swap of a store that only steps in place have changed, in one transaction.
///
/// Their statements run once more, on the store itself, and write the pages that the steps change, and no others.
///
/// Before COMMIT the store is compared with the verified file: schema, numbers, metadata, and every row of the tables
/// that the statements have written. If anything differs, the transaction is rolled back, and all pages are written.
struct RepeatedSteps {
    let steps: [StepPlan]
    let options: EngineOptions
    /// The statements of the first step, if they are known already.
    let found: InPlacePlan?

    private struct Differs: Error {}

    /// Runs the steps and commits.
    ///
    /// - Returns: Whether the store is the verified one now; if not, it is as before.
    func run(on connection: Connection, as verified: Connection, beforeCommit: () throws -> Void) throws -> Bool {
        try connection.execute("PRAGMA secure_delete = FAST; PRAGMA temp_store = FILE")
        let written = Locked<Set<String>>([])
        do {
            try InPlaceRun.run(
                steps, on: connection, options: options,
                checks: { work in
                    written.withLock { $0.formUnion(work.tables.union(work.tablesBeside)) }
                    // Verification has seen the result, with which the store is compared.
                    return { _, _ in }
                }, found: found
            ) { _ in
                let tables = written.withLock { $0 }
                let comparison = StoreComparison(of: connection, with: verified, stop: options.stop)
                guard try comparison.isSame(in: tables) else { throw Differs() }
                try beforeCommit()
            }
            return true
        } catch is Differs {
            return false
        }
    }
}

/// Compares two stores after the same statements, with the tables that these have written.
private struct StoreComparison {
    private let stores: [Connection]
    private let stop: StopRequest
    private let key = KeyedHash.Key.random()

    /// Tables of few rows, which every step writes.
    private static let small = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE", "sqlite_stat1"]

    init(of store: Connection, with other: Connection, stop: StopRequest) {
        (stores, self.stop) = ([store, other], stop)
    }

    func isSame(in written: Set<String>) throws -> Bool {
        let schemas = try stores.map {
            try $0.rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        }
        guard schemas[0] == schemas[1] else { return false }
        let tables = Set(schemas[0].filter { $0[0].text == "table" }.compactMap { $0[1].text })
        // A later step may have renamed a table that an earlier one has written.
        let areKnown = written.isSubset(of: tables)
        let compared = areKnown ? written.union(tables.intersection(Self.small)) : tables
        return try compared.sorted().allSatisfy { table in
            let sums = try stores.map { try sum(of: table, on: $0) }
            return sums[0] == sums[1]
        }
    }

    private func sum(of table: String, on store: Connection) throws -> [Int64] {
        let names = try store.rows("SELECT name FROM pragma_table_xinfo(?) ORDER BY cid", [.text(table)])
            .compactMap { $0[0].text }
        let sums = RowSums([.init(columns: Array(names.indices))], key: key)
        try sums.add(
            names.map(Connection.quoted), "FROM main.\(Connection.quoted(table)) NOT INDEXED", on: store,
            lookingEvery: 4096
        ) { try stop.check() }
        return sums.results.flatMap { [$0.count, Int64(bitPattern: $0.sum)] }
    }
}
