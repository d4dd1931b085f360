package import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// The scratch database of a run: associations and lookups.
///
/// An association leads from a source object to a destination object, a lookup from the values of `unique` to a
/// destination object. Both are on disk, so memory does not grow with the rows.
package struct ScratchDatabase {
    /// The name of the lookup of an entity's objects by the attributes in `unique`.
    ///
    /// A lookup in which nil equals nothing lacks objects that the other kind has.
    static func lookup(for mapping: ResolvedEntityMapping) -> String {
        ([mapping.destination] + mapping.unique).joined(separator: ",") + (mapping.nilIsEqual ? "" : ",")
    }

    // MARK: Policies

    static let policyLookup = "scratch.policy_lookup"
    static let userInfo = "scratch.user_info"

    static func createPolicyTables(on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            CREATE TABLE \(policyLookup) (name TEXT, key, entity INTEGER, destination INTEGER, PRIMARY KEY (name, key))
            WITHOUT ROWID
            """)
        try connection.execute("CREATE TABLE \(userInfo) (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    }

    // MARK: Lookups

    /// The table with one row per lookup: its hash key, the highest saved object, and the row counts of its tables.
    static let lookups = "scratch.lookups"

    /// The tables of a lookup, from the smallest to the largest.
    static func lookupTables(of name: String) -> [String] {
        (0...2).map { "scratch.\(Connection.quoted("lookup_\(name)_\($0)"))" }
    }

    package static func createLookups(_ names: [String], on connection: Connection) throws(DatabaseError) {
        guard !names.isEmpty else { return }
        try connection.execute(
            """
            CREATE TABLE \(lookups) (
                name TEXT PRIMARY KEY, low INTEGER, high INTEGER, last INTEGER, count0 INTEGER, count1 INTEGER,
                count2 INTEGER
            ) WITHOUT ROWID
            """)
        for name in names {
            let key = KeyedHash.Key.random()
            try connection.run(
                "INSERT INTO \(lookups) VALUES (?, ?, ?, NULL, 0, 0, 0)",
                [.text(name), .integer(Int64(bitPattern: key.low)), .integer(Int64(bitPattern: key.high))])
            for table in lookupTables(of: name) {
                try connection.execute(
                    """
                    CREATE TABLE \(table) (
                        first INTEGER, second INTEGER, destination INTEGER, PRIMARY KEY (first, second)) WITHOUT ROWID
                    """)
            }
        }
    }

    /// The key of a lookup's hashes.
    package static func key(ofLookup name: String, on connection: Connection) throws -> KeyedHash.Key {
        let row = try connection.rows("SELECT low, high FROM \(lookups) WHERE name = ?", [.text(name)]).first
        guard let low = row?[0].integer, let high = row?[1].integer else {
            throw FerryError(.internalError, "The scratch database has no lookup \(name).")
        }
        return KeyedHash.Key(low: UInt64(bitPattern: low), high: UInt64(bitPattern: high))
    }

    // MARK: The last unit

    static func createUnit(on connection: Connection) throws(DatabaseError) {
        try connection.execute("CREATE TABLE scratch.last_unit (number INTEGER)")
        try connection.execute("INSERT INTO scratch.last_unit VALUES (0)")
    }

    static func setLastUnit(_ number: Int64, on connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE scratch.last_unit SET number = ?", [.integer(number)])
    }

    /// The number of the last unit that wrote to scratch, or nil for an empty file.
    static func lastUnit(on connection: Connection) throws(DatabaseError) -> Int64? {
        let exists = try connection.integer("SELECT 1 FROM scratch.sqlite_master WHERE name = 'last_unit'") != nil
        return exists ? try connection.integer("SELECT number FROM scratch.last_unit") : nil
    }
}

/// The most disk space that a copy step takes beside its new store: scratch, sorting, and verification.
///
/// The estimate uses known or estimated row counts, and the most objects that a step can make: `unique` may find none.
package struct ScratchNeed: Sendable {
    /// The known facts of the rows that a step reads.
    package struct Rows: Sendable {
        /// The number of objects by entity, without subentities.
        package var objects: [String: Int64]
        /// The number of links by many-to-many relationship, under both names.
        package var links: [PropertyKey: Int64]
        /// The average number of JSON elements in one value, by entity and attribute.
        package var elements: [PropertyKey: Double]
        /// The estimated number of objects that a mapping with `unique` makes, by its name; without an entry, the
        /// most that it can make counts.
        package var distinct: [String: Int64] = [:]
        /// The size of the store in bytes.
        package var bytes: Int64

        package init(
            objects: [String: Int64], links: [PropertyKey: Int64], elements: [PropertyKey: Double], bytes: Int64
        ) {
            self.objects = objects
            self.links = links
            self.elements = elements
            self.bytes = bytes
        }
    }

    /// The most bytes of a row of integers: the record, its cell pointer, and the empty part of a split page.
    private enum Bytes {
        static let association: Int64 = 40
        /// Without the order that a search needs.
        static let associationReadAtOnce: Int64 = 18
        static let policyAssociation: Int64 = 60
        /// 16 bytes of hash and a key, twice while a table is emptied into the next one.
        static let lookup: Int64 = 70
        static let link: Int64 = 36
        static let sortedLink: Int64 = 30
        static let verifiedAssociation: Int64 = 24
        /// Two words of hash, an object, and the mapping and kind.
        static let verifiedValue: Int64 = 32
        static let policyLookup: Int64 = 60
        static let indexEntry: Int64 = 24
        /// A value and a key, in a table and in its index.
        static let memberValue: Int64 = 24
    }

    /// Empty tables, and journals of the few pages that a unit changes.
    private static let base: Int64 = 1 << 20
    /// SQLite sorts less than this in memory, under any memory limit.
    private static let unsorted: Int64 = 1 << 20

    /// SQLite merges sixteen runs, each of at least a MiB, as they are read; it writes more of them once more before.
    private static let mergedAtOnce: Int64 = 16 << 20

    /// The bytes of a sorter's files.
    private static func files(ofSorting bytes: Int64) -> Int64 {
        if bytes < unsorted { return 0 }
        return bytes < mergedAtOnce ? bytes : bytes * 2
    }

    /// The bytes of the scratch database.
    package private(set) var scratch: Int64 = 0
    /// The bytes of the largest sort.
    package private(set) var sorted: Int64 = 0
    /// The bytes of sorting the largest index.
    private var sortedIndex: Int64 = 0
    /// The bytes of verification, during which scratch still exists.
    package private(set) var verification: Int64 = 0
    package private(set) var rowsAfter: Rows

    /// The sum at its peak.
    package var peak: Int64 { scratch + max(sorted, sortedIndex, verification) }

    /// Estimates the need of a copy step for some rows of the source.
    package init(
        _ step: StepPlan, _ program: StepProgram, source: StoreLayout, destination: StoreLayout, rows: Rows,
        memory: MemoryBudget, verifies: Bool
    ) {
        let mappings = step.resolved.entityMappings
        let made = mappings.map { Self.objects(madeBy: $0, source, rows) }
        let total = max(1, rows.objects.values.reduce(0, +))
        let width = rows.bytes / total
        let finders = max(1, mappings.count { !$0.unique.isEmpty })
        var objects: [String: Int64] = [:]
        scratch = Self.base
        for (mapping, count) in zip(mappings, made) {
            let distinct = rows.distinct[mapping.name].map { min($0, count) }
            objects[mapping.destination, default: 0] += distinct ?? count
            let association = program.fills.keys[mapping.position].association
            if association != .none {
                let bytes = association == .readAtOnce ? Bytes.associationReadAtOnce : Bytes.association
                scratch += count * (mapping.policy == nil ? bytes : Bytes.policyAssociation)
                if step.resolved.hasPolicies { scratch += count * Bytes.association }
            }
            // The lookup also holds existing objects.
            let known = (distinct ?? count) + (rows.objects[mapping.destination] ?? 0)
            let isInMemory = known <= ObjectLookup.objectsInMemory(memory, finders: finders)
            if !mapping.unique.isEmpty, !isInMemory { scratch += known * Bytes.lookup }
            if mapping.policy != nil { scratch += count * (Bytes.policyLookup + width / 2) }
            guard verifies else { continue }
            if !mapping.keepsPrimaryKey { verification += count * Bytes.verifiedAssociation }
            if !mapping.unique.isEmpty {
                // Verification notes each search, unless it remembers the object.
                let noted = (isInMemory ? known : max(known, count)) * Bytes.verifiedValue
                verification += noted + Self.files(ofSorting: noted)
            }
        }
        for index in step.resolved.memberIndexes {
            let bytes = Int64(index.paths.count) * Bytes.memberValue + (index.holdsText ? width : 0)
            let count = rows.objects[index.entity] ?? 0
            scratch += 2 * count * bytes
            sorted = max(sorted, Self.files(ofSorting: count * bytes))
        }
        var links: [PropertyKey: Int64] = [:]
        for fill in program.fills.joinTables {
            let table = fill.table
            let count = Self.links(in: table, program, mappings, made, source, rows)
            (links[table.relationship], links[table.inverse]) = (count, count)
            let isGathered = fill.order == .gathered
            if isGathered { scratch += count * Bytes.link * (step.resolved.hasPolicies ? 2 : 1) }
            guard fill.order != .asWalked else { continue }
            // Sorted by pair, then by position on either side, then by primary key.
            sorted = max(sorted, Self.files(ofSorting: count * Bytes.sortedLink) * (isGathered ? 3 : 1))
        }
        sortedIndex = Self.files(ofSorting: Self.largestIndex(destination, objects, links, width))
        // Links are compared by sums; only where these differ are the pairs of one relation written and sorted.
        if verifies {
            let most = Self.pairs(destination, objects, links).max() ?? 0
            verification = max(verification, most * Bytes.sortedLink + Self.files(ofSorting: most * Bytes.sortedLink))
        }
        rowsAfter = Rows(objects: objects, links: links, elements: [:], bytes: rows.bytes)
    }

    /// Takes the bytes of the largest index, where they are known better than by the average object.
    package mutating func setLargestIndex(bytes: Int64) { sortedIndex = min(sortedIndex, Self.files(ofSorting: bytes)) }

    // MARK: Objects

    /// The most objects that a mapping makes or finds.
    package static func objects(
        madeBy mapping: ResolvedEntityMapping, _ source: StoreLayout, _ rows: Rows
    ) -> Int64 {
        let read = rows.objects[mapping.source] ?? 0
        switch mapping.iteration?.elements {
        case nil: return read
        case .json(let text, _)?:
            let name = text.sourceKeys ?? ""
            let average = rows.elements[PropertyKey(mapping.source, name)] ?? Double(rows.bytes / 32 / max(1, read))
            return Int64(Double(read) * average) + 1
        case let elements? where elements.contains(where: { if case .fetch = $0 { true } else { false } }):
            // Each source object may fetch every object.
            let (product, overflow) = read.multipliedReportingOverflow(by: rows.objects.values.reduce(0, +))
            return overflow ? .max / 1_000_000 : product
        case let path?:
            guard let names = path.sourceKeys?.split(separator: ".").map(String.init), names.count == 1 else {
                return rows.objects.values.reduce(read, +)
            }
            return related(names[0], of: mapping.source, source, rows)
        }
    }

    /// The links of a relationship from objects of an entity, at most.
    private static func related(
        _ name: String, of entity: String, _ source: StoreLayout, _ rows: Rows
    ) -> Int64 {
        guard let relationship = source.model.relationship(name, of: entity) else { return 0 }
        if !relationship.isToMany { return rows.objects[entity] ?? 0 }
        if case .join(let table, _, _, _, _)? = source.storage(of: name, in: entity),
            let join = source.joinTables.first(where: { $0.name == table })
        {
            return rows.links[join.relationship] ?? rows.objects.values.reduce(0, +)
        }
        return source.model.family(of: relationship.destinationEntity).reduce(0) { $0 + (rows.objects[$1] ?? 0) }
    }

    // MARK: Links

    /// The rows of a join table, duplicates included.
    private static func links(
        in table: JoinTable, _ program: StepProgram, _ mappings: [ResolvedEntityMapping],
        _ made: [Int64], _ source: StoreLayout, _ rows: Rows
    ) -> Int64 {
        var count: Int64 = 0
        for contribution in program.fills.relationships.filter({ $0.joinTable == table.name }).flatMap(\.contributions)
        {
            let own = made[contribution.mapping.position]
            let ends = mappings.indices.filter { contribution.rule.mappings.contains(mappings[$0].name) }.map {
                made[$0]
            }
            if let name = contribution.rule.sourceRelationship {
                let found = related(name, of: contribution.mapping.source, source, rows)
                count += max(found, contribution.mapping.iteration == nil ? found : own)
            } else {
                // Several mappings or elements may make objects of one source object.
                count += max(own, ends.reduce(0, +))
            }
        }
        return count
    }

    /// The number of links of each relationship, counted on one side.
    private static func pairs(
        _ layout: StoreLayout, _ objects: [String: Int64], _ links: [PropertyKey: Int64]
    ) -> [Int64] {
        let keys = layout.relationshipStorage.compactMap { key, storage -> Int64? in
            switch storage {
            case .foreignKey, .inverseless:
                layout.model.family(of: key.entity).reduce(0) { $0 + (objects[$1] ?? 0) }
            case .join, .inverseForeignKey: nil
            }
        }
        return keys + layout.joinTables.map { links[$0.relationship] ?? 0 }
    }

    private static func largestIndex(
        _ layout: StoreLayout, _ objects: [String: Int64], _ links: [PropertyKey: Int64], _ width: Int64
    ) -> Int64 {
        var rows: [String: Int64] = [:]
        for (entity, count) in objects {
            if let table = layout.table(of: entity)?.name { rows[table, default: 0] += count }
        }
        for table in layout.joinTables { rows[table.name] = links[table.relationship] ?? 0 }
        return layout.indexes.map { index in
            (rows[index.table] ?? 0) * (Bytes.indexEntry + (layout.holdsTexts(index) ? width : 0))
        }.max() ?? 0
    }
}
