internal import FerryBase
internal import FerryEngine
internal import FerryPlan
internal import FerrySQLite

/// The swap of a store whose tables stay, in one transaction that writes the pages that the steps change, and no others.
///
/// The statements of steps in place run once more, on the store itself; the rows of tables that the last step has filled
/// come from the verified file.
///
/// Before COMMIT the store is compared with the verified file: schema, numbers, metadata, and every row of the tables
/// that were written. If anything differs, the transaction is rolled back, and all pages are written.
struct RepeatedSteps {
    let steps: [StepPlan]
    let options: EngineOptions
    /// The statements of the first step, if they are known already.
    let found: StepProgram?

    private struct Differs: Error {}

    /// Nil if a step other than the last fills tables, or if one fills all.
    init?(_ steps: [StepPlan], options: EngineOptions, found: StepProgram?) {
        guard let last = steps.last, steps.dropLast().allSatisfy({ $0.mode == .inPlace }),
            last.mode == .inPlace || last.keptPart != nil
        else { return nil }
        (self.steps, self.options, self.found) = (steps, options, found)
    }

    /// Runs the steps and commits.
    ///
    /// - Returns: Whether the store is the verified one now; if not, it is as before.
    func run(on connection: Connection, as verified: Connection, beforeCommit: () throws -> Void) throws -> Bool {
        try connection.execute("PRAGMA secure_delete = FAST; PRAGMA temp_store = FILE")
        guard let filled = try steps.last.flatMap({ try FilledTables($0, of: verified, into: connection) }) else {
            return try run(on: connection, as: verified, nil, beforeCommit: beforeCommit)
        }
        do {
            let isDone =
                try !areMostlyDifferent(connection, verified)
                && run(on: connection, as: verified, filled, beforeCommit: beforeCommit)
            try filled.detach()
            return isDone
        } catch {
            // The first error is the one to report.
            do { try filled.detach() } catch {}
            throw error
        }
    }

    private func run(
        on connection: Connection, as verified: Connection, _ filled: FilledTables?, beforeCommit: () throws -> Void
    ) throws -> Bool {
        let written = Locked<Set<String>>(filled?.tables ?? [])
        do {
            try InPlaceRun.run(
                steps.map { $0.partInPlace ?? $0 }, on: connection, options: options,
                checks: { work in
                    written.withLock { $0.formUnion(work.tables.union(work.tablesBeside)) }
                    // Verification has seen the result, with which the store is compared.
                    return { _, _ in }
                }, found: found
            ) { _ in
                try filled?.take(options: options)
                let tables = written.withLock { $0 }
                let comparison = StoreComparison(of: connection, with: verified, stop: options.stop)
                guard try comparison.isSame(in: tables) else { throw Differs() }
                try beforeCommit()
            }
            return true
        } catch is Differs {
            return false
        } catch let error as FerryError where filled != nil && error.code == .valueTooLarge {
            // Pages have one size, whatever the rows.
            return false
        }
    }

    /// Whether writing all pages takes no longer; if not, the connection is in the transaction.
    private func areMostlyDifferent(_ connection: Connection, _ verified: Connection) throws -> Bool {
        try connection.execute("BEGIN IMMEDIATE")
        guard try PageReader(connection).differsMostly(from: PageReader(verified), stop: options.stop) else {
            return false
        }
        try connection.execute("ROLLBACK")
        return true
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
