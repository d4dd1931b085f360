internal import FerryBase
internal import FerryMapping
internal import FerryPlan
internal import FerrySQLite

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The associations of one entity mapping with a policy.
///
/// A table that no statement joins has no row for the ordinary result, one object with the key of its source: the
/// object implies the row. If a policy created that object without an association, the row has element 0 and no object.
final class PolicyAssociations {
    /// An associated object: its key and its entity number.
    typealias Made = (key: Int64, entity: Int64)

    let mapping: ResolvedEntityMapping
    private let isImplied: Bool
    /// The number of the mapping's destination entity.
    private let number: Int64
    private let table: String
    private let destinationTable: String
    private let context: StepContext
    private let insertion: String
    /// Whether unread source objects may have rows: a policy may associate objects with them at any time.
    @exclusivity(unchecked) private var mayHaveLaterRows = true

    init(_ mapping: ResolvedEntityMapping, in context: StepContext) throws {
        self.mapping = mapping
        self.context = context
        number = try context.sql.destinationNumber(of: mapping)
        table = ScratchTables.association(of: mapping)
        insertion = "INSERT INTO \(table) (source, element, destination, entity) VALUES (?, ?, ?, ?)"
        destinationTable = "main.\(try context.sql.destinationTable(of: mapping))"
        isImplied = Self.isImplied(mapping, in: context)
    }

    /// Whether only this mapping keeps keys in its entity, and no statement joins the table.
    private static func isImplied(_ mapping: ResolvedEntityMapping, in context: StepContext) -> Bool {
        guard mapping.policyKeepsPrimaryKeys else { return false }
        let isAlone = context.step.resolved.entityMappings.allSatisfy {
            $0.position == mapping.position || $0.destination != mapping.destination || !$0.mayKeepPrimaryKeys
        }
        let isJoined = context.program.fills.relationships.flatMap(\.contributions).contains {
            $0.mapping.position == mapping.position || $0.rule.mappings.contains(mapping.name)
        }
        return isAlone && !isJoined
    }

    // MARK: First pass

    /// Checks whether source objects after a key have rows.
    func beginChunk(after key: Int64) throws {
        mayHaveLaterRows = try find("SELECT 1 FROM \(table) WHERE source > ?1 LIMIT 1", key)
    }

    /// More objects than a policy creates for one source object; beyond it, each is stored at once.
    private static let limit = 256

    func associate(_ made: Made, with current: CurrentSource) throws {
        current.associated += 1
        if current.made.count >= Self.limit { try storeNow(current) }
        if current.isStored { return try add(made, to: current.key) }
        for known in current.made where known == made { return }
        current.made.append(made)
    }

    /// The only object of the current source; nil if it has none or several, or if the table must tell.
    func onlyMade(of current: CurrentSource) -> Made? {
        current.isStored || mayHaveLaterRows || current.made.count != 1 ? nil : current.made[0]
    }

    /// The objects of the current source, or nil if the table must tell.
    func made(of current: CurrentSource) -> [Made]? { current.isStored || mayHaveLaterRows ? nil : current.made }

    /// Stores the current source's objects, before a query reads the table.
    func storeNow(_ current: CurrentSource) throws {
        guard !current.isStored else { return }
        current.isStored = true
        // From now on the table has all objects of the source.
        if isImplied { try insert(current.key, 0, nil) }
        try store(current.made, of: current.key)
    }

    /// Stores the current source's objects, unless they are implied.
    func finish(_ current: CurrentSource) throws {
        if current.isStored { return }
        guard isImplied else { return try store(current.made, of: current.key) }
        if mayHaveLaterRows { return try storeNow(current) }
        switch current.made.count {
        case 0: if current.isKeyTaken { try insert(current.key, 0, nil) }
        case 1 where current.made[0] == (current.key, number): break
        default: try store(current.made, of: current.key)
        }
    }

    private func store(_ made: [Made], of source: Int64) throws {
        for (index, made) in made.enumerated() {
            if mayHaveLaterRows { try add(made, to: source) } else { try insert(source, Int64(index + 1), made) }
        }
    }

    private func insert(_ source: Int64, _ element: Int64, _ made: Made?) throws {
        let store = try context.cached(insertion)
        try store.bind(source, at: 1)
        try store.bind(element, at: 2)
        try store.bind(made.map { Value.integer($0.key) } ?? .null, at: 3)
        try store.bind(made.map { Value.integer($0.entity) } ?? .null, at: 4)
        try store.run()
    }

    // MARK: Any source object

    /// Associates an object with any source object, as its last one.
    func add(_ made: Made, to source: Int64) throws {
        if isImplied, try isImplied(source) { try insert(source, 1, (source, number)) }
        mayHaveLaterRows = true
        try context.run(
            """
            INSERT INTO \(table) (source, element, destination, entity) SELECT ?1, last + 1, ?2, ?3 FROM (
                SELECT ifnull(max(element), 0) AS last, total(destination = ?2 AND entity = ?3) AS known
                FROM \(table) WHERE source = ?1)
            WHERE known = 0
            """, [.integer(source), .integer(made.key), .integer(made.entity)])
    }

    /// The objects of a source object, in order.
    func made(of source: Int64) throws -> [Made] {
        var made: [Made] = []
        try context.forEachRow(
            "SELECT destination, entity FROM \(table) WHERE source = ?1 AND element > 0 ORDER BY element", for: source
        ) { made.append(($0.integer(0), $0.integer(1))) }
        if made.isEmpty, isImplied, try isImplied(source) { made.append((source, number)) }
        return made
    }

    /// The source objects of an object, in the order of their keys.
    func sources(of made: Made) throws -> [Int64] {
        let search = try context.cached(
            "SELECT source FROM \(table) WHERE destination = ?1 AND entity = ?2 ORDER BY source, element")
        try search.bind([.integer(made.key), .integer(made.entity)])
        var sources: [Int64] = []
        while try search.step() { sources.append(search.integer(0)) }
        if isImplied, made.entity == number, try isImplied(made.key), try context.isSource(made.key, of: mapping) {
            sources.insert(made.key, at: sources.firstIndex { $0 > made.key } ?? sources.endIndex)
        }
        return sources
    }

    /// Whether a source object has no rows, and an object with its key exists.
    private func isImplied(_ source: Int64) throws -> Bool {
        try !find("SELECT 1 FROM \(table) WHERE source = ?1 LIMIT 1", source)
            && find("SELECT 1 FROM \(destinationTable) WHERE Z_PK = ?1 AND Z_ENT = \(number)", source)
    }

    private func find(_ sql: String, _ key: Int64) throws -> Bool {
        try context.first(sql, for: key) { _ in true } ?? false
    }

    // MARK: Second pass

    struct Row {
        var source: Int64
        var element: Int64
        var made: Made
    }

    /// Reads the next associations after a given one, in order, up to a source key.
    func page(after source: Int64, _ element: Int64, upTo high: Int64, into rows: inout [Row]) throws {
        rows.removeAll(keepingCapacity: true)
        let limit = "ORDER BY 1, 2 LIMIT \(Self.limit)"
        let stored = """
            SELECT source, element, destination, entity FROM \(table)
            WHERE (source, element) > (?1, ?2) AND source <= ?3 AND element > 0
            """
        let implied = """
            SELECT Z_PK, 1, Z_PK, Z_ENT FROM \(destinationTable) AS t
            WHERE Z_PK > ?1 AND Z_PK <= ?3 AND Z_ENT = \(number)
            """
        let text: String
        if !isImplied {
            text = "\(stored) \(limit)"
        } else if try find("SELECT 1 FROM \(table) WHERE source >= ?1 LIMIT 1", source) {
            text = """
                \(stored) UNION ALL
                \(implied) AND NOT EXISTS (SELECT 1 FROM \(table) AS a WHERE a.source = t.Z_PK) \(limit)
                """
        } else {
            text = "\(implied) \(limit)"
        }
        let page = try context.cached(text)
        try page.bind([.integer(source), .integer(element), .integer(high)])
        while try page.step() {
            rows.append(
                Row(source: page.integer(0), element: page.integer(1), made: (page.integer(2), page.integer(3))))
        }
    }

    /// Whether each source object with an association became one object with its own key.
    func areAllImplied() throws -> Bool {
        try context.connection.integer(
            """
            SELECT 1 FROM \(table)
            WHERE element > 0 AND (source <> destination OR element <> 1 OR entity <> \(number)) LIMIT 1
            """) == nil
    }
}

/// A dictionary from values to destination objects on disk, which SQLite commits with the rows.
///
/// Policies use it to find or create objects. All policies of a step share lookups by name.
public final class PolicyLookup {
    public let name: String
    private let manager: MigrationManager
    private let search: Statement
    private let record: Statement

    init(_ name: String, _ manager: MigrationManager) throws {
        (self.name, self.manager) = (name, manager)
        let (connection, table) = (manager.context.connection, ScratchDatabase.policyLookup)
        search = try connection.prepare("SELECT entity, destination FROM \(table) WHERE name = ?1 AND key = ?2")
        record = try connection.prepare("REPLACE INTO \(table) VALUES (?1, ?2, ?3, ?4)")
    }

    /// The object under a key, or nil.
    public func object(forKey key: MigrationValue) throws -> DestinationObject? {
        try search.bind(name, at: 1)
        try search.bind(Value(key.plain), at: 2)
        defer { search.reset() }
        guard try search.step() else { return nil }
        return try manager.destinationObject(number: search.integer(0), key: search.integer(1))
    }

    /// Sets the object of a key, and replaces a former one.
    public func setObject(_ object: DestinationObject, forKey key: MigrationValue) throws {
        guard !key.isNull else {
            throw FerryError(
                .rowFailed, "The lookup \(name) was given nil as a key.", remedy: "Look up values only.")
        }
        try record.bind([.text(name), Value(key.plain), .integer(object.writer.number), .integer(object.primaryKey)])
        try record.run()
    }
}

/// The user info of Core Data's migration manager, on disk, so that a resumed run has it.
extension MigrationManager {
    /// Sets the value of a key, and replaces a former one; nil removes it.
    public func setUserInfo(_ value: (some Encodable)?, forKey key: String) throws {
        guard let value else {
            return try context.run("DELETE FROM \(ScratchDatabase.userInfo) WHERE key = ?1", [.text(key)])
        }
        // In an array, since not every decoder takes a bare number.
        let bytes = Array(try JSONEncoder().encode([value]))
        try context.run("REPLACE INTO \(ScratchDatabase.userInfo) VALUES (?1, ?2)", [.text(key), .blob(bytes)])
    }

    /// The value under a key, or nil.
    public func userInfo<Info: Decodable>(_ type: Info.Type = Info.self, forKey key: String) throws -> Info? {
        guard
            case .blob(let bytes) = try context.single(
                "SELECT value FROM \(ScratchDatabase.userInfo) WHERE key = ?1", [.text(key)])
        else { return nil }
        return try JSONDecoder().decode([Info].self, from: Data(bytes)).first
    }
}
