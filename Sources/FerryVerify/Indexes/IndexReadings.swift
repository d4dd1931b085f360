internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The parts of checks that read an index, and the results of each reading.
///
/// An index is read once, in its order, for all checks: that its entries are those of its table's rows, and that its first
/// column's keys lead to objects (``StoredKeys``).
struct IndexReadings {
    struct Found {
        var sum = EntrySum()
        var misplaced: Int64 = 0
        var leads = true

        init() {}

        init(_ sums: RowSums) {
            sum = sums.results.map(EntrySum.init)[0]
            misplaced = sums.misplaced
            leads = sums.lost == 0
        }

        init(_ outcome: PartOutcome?) {
            (sum, misplaced) = (outcome?.sums?.first ?? EntrySum(), outcome?.misplaced ?? 0)
            leads = outcome?.leads ?? false
        }
    }

    struct Keys: Sendable {
        let stored: StoredKeys
        /// The range of the target objects' keys, if it has no gap.
        let wholeRange: ClosedRange<Int64>?

        /// Whether NULL is wrong: in a join table, unlike a foreign key.
        var areAll: Bool { !stored.areForeign }

        /// The target objects of keys above a lower bound.
        func targets(above key: Int64, on connection: Connection) throws -> RowSums.Targets {
            if let wholeRange { return .range(wholeRange) }
            let rows = try connection.prepare(stored.targets)
            try rows.bind(key, at: 1)
            return .rows(rows)
        }
    }

    /// The pairs of a one-to-one as one of its sides has them, each time with the same side first: equal sums of both
    /// sides show that all keys lead to objects whose keys lead back.
    private struct PairSide: Sendable {
        let keys: StoredKeys
        let root: String
        let pair: [String]
        /// The position of the sum in the table's ``IndexedRows``; nil for a kept table, whose rows nothing else reads.
        let sum: Int?
    }

    private var tables: [String: TableIndexes]
    /// The index whose first column has the keys, by table and column.
    private let indexOfKeys: [String: StoredIndex]
    /// The keys in an index's first column, by index name.
    private let keysOfIndex: [String: Keys]
    /// The sums of the pairs of a one-to-one, by place of its keys.
    private var pairs: [String: [PairSide]] = [:]

    init(in context: VerificationContext) throws {
        var tables: [String: TableIndexes] = [:]
        for name in try Self.tablesWithIndexes(in: context) { tables[name] = try TableIndexes(of: name, in: context) }
        self.tables = tables
        let all = try StoredKeys.all(in: context)
        let alone = Dictionary(grouping: all, by: Self.place).filter { $0.value.count == 1 }
        var (indexOfKeys, keysOfIndex): ([String: StoredIndex], [String: Keys]) = ([:], [:])
        for (place, keys) in alone where keys[0].needOnlyTargets {
            guard let index = tables[keys[0].table]?.compared.first(where: { $0.isOrdered(by: keys[0].column) }) else {
                continue
            }
            let known = Keys(stored: keys[0], wholeRange: try keys[0].wholeRange(in: context))
            (indexOfKeys[place], keysOfIndex[index.name]) = (index, known)
        }
        (self.indexOfKeys, self.keysOfIndex) = (indexOfKeys, keysOfIndex)
        // In the same order in every call: a resumed one finds the sums of earlier parts by their positions.
        for place in alone.keys.inOrder(by: codeUnitOrder) {
            guard let keys = alone[place]?.first else { continue }
            addPairs(of: keys, place, among: alone, in: context)
        }
    }

    /// Adds the sums of a one-to-one, if each table is kept or read for its indexes, and both hold objects of these
    /// entities only.
    private mutating func addPairs(
        of keys: StoredKeys, _ place: String, among all: [String: [StoredKeys]], in context: VerificationContext
    ) {
        guard let inverse = keys.inverse, keys.areAlone, keys.relationship < inverse.relationship,
            let other = all["\(inverse.table) \(inverse.column)"]?.first, other.areAlone,
            let root = other.wholeRoot, let otherRoot = keys.wholeRoot
        else { return }
        let kept = [keys, other].map { KeptTables.hold($0.table, in: context) }
        guard kept != [true, true],
            zip([keys, other], kept).allSatisfy({ $1 || tables[$0.table]?.compared.isEmpty == false })
        else { return }
        let sides = [(keys, root, ["Z_PK", keys.column]), (other, otherRoot, [other.column, "Z_PK"])].map {
            keys, root, pair in
            PairSide(
                keys: keys, root: root, pair: pair,
                sum: tables[keys.table]?.rows.add(pair: pair, where: keys.column))
        }
        for place in [place, Self.place(of: other)] { pairs[place] = sides }
    }

    var tableNames: [String] { tables.keys.inOrder(by: codeUnitOrder) }

    func indexes(of table: String) -> TableIndexes? { tables[table] }

    private static func tablesWithIndexes(in context: VerificationContext) throws -> [String] {
        // A run drops its own tables before it ends.
        let tables = try context.connection.rows(
            """
            SELECT DISTINCT tbl_name FROM destination.sqlite_master
            WHERE type = 'index' AND (tbl_name NOT LIKE 'ferry\\_%' ESCAPE '\\'
                OR tbl_name IN (SELECT name FROM source.sqlite_master)) ORDER BY tbl_name
            """)
        return tables.compactMap { $0[0].text }.filter { !KeptTables.hold($0, in: context) }
    }

    // MARK: Readings

    private static func place(of keys: StoredKeys) -> String { "\(keys.table) \(keys.column)" }

    /// The index whose reading shows whether keys lead to objects; nil if none does.
    func index(of keys: StoredKeys) -> StoredIndex? { indexOfKeys[Self.place(of: keys)] }

    /// The keys that the reading of an index checks.
    func keys(of index: StoredIndex) -> Keys? { keysOfIndex[index.name] }

    // MARK: Results

    /// Whether the rows' sums tell if the keys of a one-to-one lead back.
    func haveSums(_ keys: StoredKeys) -> Bool { pairs[Self.place(of: keys)] != nil }

    /// Whether the sums show that all keys of the one-to-one in a column lead to objects whose keys lead back; nil if it
    /// has no sums.
    func leadBack(_ table: String, _ column: String, in context: VerificationContext) throws -> Bool? {
        guard let sides = pairs["\(table) \(column)"] else { return nil }
        let sums = try sides.map { side in
            guard let sum = side.sum else {
                return context.progress.state.outcomes[ReferencesCheck.name(of: side.keys)]?.sums?.first
            }
            return try self.sum(sum, ofRowsOf: side.keys.table, in: context)
        }
        guard let sum = sums[0], sum == sums[1] else { return false }
        return try sides.allSatisfy { side in
            guard let table = context.destinationTables.first(where: { $0.root == side.root }) else { return false }
            return try TableTally(of: table, in: context).hasOnlyKnownEntities
        }
    }

    /// The sum of the pairs of a kept table, for a part of its own.
    func sumOfKept(_ keys: StoredKeys, key: KeyedHash.Key, in context: VerificationContext) throws -> EntrySum? {
        guard let side = pairs[Self.place(of: keys)]?.first(where: { $0.keys.relationship == keys.relationship })
        else { return nil }
        var rows = IndexedRows([])
        let sum = rows.add(pair: side.pair, where: keys.column)
        return try rows.sums(in: keys.table, where: nil, key: key, context).sums[sum]
    }

    /// The sum of the entries that the table's rows require.
    func expected(of index: StoredIndex, in context: VerificationContext) throws -> EntrySum {
        guard let table = tables[index.table], let place = table.compared.firstIndex(where: { $0.name == index.name })
        else { return EntrySum() }
        return try sum(table.rows.sets[place], ofRowsOf: index.table, in: context)
    }

    private func sum(_ set: Int, ofRowsOf table: String, in context: VerificationContext) throws -> EntrySum {
        var sum = EntrySum()
        guard let indexes = tables[table] else { return sum }
        let names = try TableTally.parts(forIndexesOf: table, in: context)
        for name in try names ?? Self.ranges(of: indexes, in: context).map(\.name) {
            if let sums = context.progress.state.outcomes[name]?.sums, set < sums.count { sum.add(sums[set]) }
        }
        return sum
    }

    /// Whether the reading of an index has shown that its keys lead to objects: its entries are those of the rows, and
    /// an assumed range of target keys has as many objects.
    func showsKeys(
        of index: StoredIndex, _ tallies: [String: TableTally], in context: VerificationContext
    ) throws -> Bool {
        if let keys = keysOfIndex[index.name], let range = keys.wholeRange {
            guard let tally = keys.stored.wholeRoot.flatMap({ tallies[$0] }), tally.hasOnlyKnownEntities,
                tally.rows - 1 == range.upperBound - range.lowerBound
            else { return false }
        }
        let found = Found(context.progress.state.outcomes[index.partName])
        return try found.leads && found.misplaced == 0 && found.sum == expected(of: index, in: context)
    }

    /// Ranges of a table's rows: the name of each part, and its SQL condition.
    static func ranges(
        of indexes: TableIndexes, in context: VerificationContext
    ) throws -> [(name: String, condition: String?)] {
        let name = "rows for indexes of \(indexes.table)"
        guard let key = indexes.rowID else { return [(name, nil)] }
        return try KeyRange.parts(
            name, of: "destination.\(Connection.quoted(indexes.table))", numberedBy: key, on: context.connection
        ).map { ($0.name, $0.range == .all ? nil : $0.range.condition(on: key)) }
    }
}
