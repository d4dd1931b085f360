internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The migration manager of a policy: both stores, the associations, lookups and user info.
///
/// Memory holds the current source object and its new objects; everything else is on disk. SQLite commits all writes
/// with the chunk, together with the progress record. The manager belongs to the thread that writes. Exclusivity checks
/// are off for the variables that each object uses: no access to them lasts while other code runs.
public final class MigrationManager {
    let context: StepContext
    /// The current source object of the first pass.
    @exclusivity(unchecked) var current: CurrentSource?
    /// The source object of the current destination object in the second pass.
    @exclusivity(unchecked) var origin: Int64?
    /// In the first pass, the objects that tables already have and a policy must not find yet.
    var rowsToCome = RowsToCome.none
    /// The statements that link objects of the current mapping in the second pass.
    @exclusivity(unchecked) var links: [Statement] = []
    /// Inserted objects of this unit that their mapping does not count, by entity.
    var created: [String: Int64] = [:]

    /// New keys in this unit, by root entity.
    var newKeys: [String: Int64] = [:]
    /// The changes of policies that are not yet recorded, by entity and property.
    private(set) var marks: Set<String> = []
    private var recordedMarks: Set<String> = []
    /// Whether the default policy set the current object's relationships.
    @exclusivity(unchecked) var isRelatedByDefault = false
    /// The type of the last policy that has no `createRelationships` of its own.
    @exclusivity(unchecked) var policyWithoutRelationships: (any EntityMigrationPolicy.Type)?

    /// The entity mappings of the step, in the order in which they run.
    public let entityMappings: [PolicyEntityMapping]
    /// Objects with unwritten changes, in the order of their first change.
    @exclusivity(unchecked) private var pending: [DestinationObject] = []
    private var writers: [String: EntityWriter] = [:]
    @exclusivity(unchecked) private var recentWriter: EntityWriter?
    private var associations: [Int: PolicyAssociations] = [:]
    @exclusivity(unchecked) private var rowNumber = 0
    private var lastKeys: [String: Int64] = [:]
    private var lookups: [String: PolicyLookup] = [:]

    /// The most objects in ``pending``: most source objects create fewer, and a linear search stays short.
    private static let pendingLimit = 64
    /// Policies of ordinary size have fewer lookups.
    private static let lookupLimit = 256

    init(_ context: StepContext) {
        self.context = context
        entityMappings = context.step.resolved.entityMappings.map { PolicyEntityMapping($0) }
    }

    // MARK: The step

    /// The model version identifiers of the source model.
    public var sourceModelVersionIdentifiers: [String] { context.source.model.versionIdentifiers }
    /// The model version identifiers of the destination model.
    public var destinationModelVersionIdentifiers: [String] { context.destination.model.versionIdentifiers }

    // MARK: Insertion

    /// Inserts an object with the model's default values.
    ///
    /// Of the objects that a source object becomes, the first one of the mapping's own entity keeps its `Z_PK`, unless
    /// another mapping keeps that key; all others get new keys.
    public func insert(_ entityName: String) throws -> DestinationObject {
        let writer = try writer(entityName)
        let object: DestinationObject
        if let current, current.writer === writer {
            object = try current.insert(nil, by: self)
        } else {
            created[writer.entity, default: 0] += 1
            object = try insert(writer, row: nil, key: nil, version: .integer(1))
        }
        if !object.writer.isMarked {
            object.writer.isMarked = true
            mark("\(entityName).*")
        }
        return object
    }

    /// Inserts the object that the attribute mappings make of the current source object.
    func insertDefault(
        forSource source: SourceObject, in mapping: PolicyEntityMapping
    ) throws -> DestinationObject {
        guard let current, current.mapping === mapping,
            source.isAtWork(current)
                || current.key == source.primaryKey && source.entityName == mapping.sourceEntityName
        else {
            throw FerryError(
                .badMapping,
                "A migration policy asks for the default object of a source object that is not being migrated in \(mapping.name).",
                remedy: "Pass the source object and the mapping that the policy was called with.",
                place: .init(entityMapping: mapping.name))
        }
        let object = try current.insert(current.row, by: self)
        if mapping.isSubstituted { try substitute(in: object, mapping, source) }
        try compute(current, for: object)
        return object
    }

    private func substitute(
        in object: DestinationObject, _ mapping: PolicyEntityMapping, _ source: SourceObject
    ) throws {
        for attributeMapping in mapping.attributeMappings {
            guard let substitute = attributeMapping.substitute else { continue }
            let known = try object.writer.attribute(attributeMapping.name)
            mark(known, of: object.writer)
            let attribute = object.writer.attribute(known)
            object.changes.set(try value(of: substitute, for: attribute, in: mapping, source), at: known.place)
        }
    }

    /// Sets the values of expressions that call the policy's functions.
    private func compute(_ current: CurrentSource, for object: DestinationObject) throws {
        for column in current.row.policyColumns where !object.changes.contains(column.place) {
            object.changes.set(try policyValue(column, current), at: column.place)
        }
    }

    /// Inserts an object, with a new key if none is given.
    func insert(_ writer: EntityWriter, row: DefaultPolicyRow?, key: Int64?, version: Value) throws -> DestinationObject
    {
        try writer.checkHasObjects()
        if pending.count >= Self.pendingLimit { try flush() }
        let object = writer.object(try key ?? newKey(in: writer), self)
        object.markInserted(version: version, row: row)
        touch(object)
        return object
    }

    private func newKey(in writer: EntityWriter) throws -> Int64 {
        if lastKeys[writer.root] == nil {
            lastKeys[writer.root] = try NewKeys(of: writer.root, in: context).last()
        }
        newKeys[writer.root, default: 0] += 1
        let key = (lastKeys[writer.root] ?? 0) + 1
        lastKeys[writer.root] = key
        return key
    }

    private func value(
        of substitute: PolicyPropertyMapping.Substitute, for attribute: Attribute, in mapping: PolicyEntityMapping,
        _ source: SourceObject
    ) throws -> Value {
        switch substitute {
        case .constant(let value): return try value.stored(in: attribute)
        case .expression(let text):
            let expressions = MappingSQL(mapping.resolved, in: context.sql)
            var scope = expressions.scope(from: "source.\(try context.sql.sourceTable(of: mapping.resolved)) AS s")
            scope.require("s.Z_PK = :key")
            let rule = ResolvedAttribute(name: attribute.name, expression: try Expression.parse(text))
            let value = ColumnSource(rule, for: attribute, of: mapping.resolved, in: context.source)
            let sql = try value.map { try expressions.value(of: $0, in: &scope).sql } ?? "NULL"
            let statement = try context.cached("SELECT \(sql) FROM \(scope.from)\(scope.where)")
            try scope.parameters.bind(to: statement, now: context.options.now)
            try statement.bind(.integer(source.primaryKey), named: ":key")
            defer { statement.reset() }
            return try statement.step() ? statement.value(0) : .null
        }
    }

    private func policyValue(_ column: DefaultPolicyRow.PolicyColumn, _ current: CurrentSource) throws -> Value {
        let value = Value(try current.row.value(of: column.evaluator, column.cells, policy: current.functions))
        // A value that comes straight from the policy must fit; an expression converts its own.
        return column.evaluator.isPolicyCall ? try MigrationValue(raw: value).stored(in: column.attribute) : value
    }

    /// The dictionary of a name, on disk, which all policies of the step share.
    public func lookup(_ name: String) throws -> PolicyLookup {
        if let known = lookups[name] { return known }
        let lookup = try PolicyLookup(name, self)
        if lookups.count >= Self.lookupLimit { lookups.removeAll() }
        lookups[name] = lookup
        return lookup
    }

    // MARK: Objects

    /// Releases the spare objects and the lookups, which retain the manager, and so the connection.
    func end() {
        for writer in writers.values { writer.forgetSpare() }
        lookups.removeAll()
    }

    func writer(_ entity: String) throws -> EntityWriter {
        if let recentWriter, recentWriter.entity == entity { return recentWriter }
        let writer = try writers[entity] ?? EntityWriter(entity, in: context)
        writers[entity] = writer
        recentWriter = writer
        return writer
    }

    private func writer(number: Int64) throws -> EntityWriter {
        if let recentWriter, recentWriter.number == number { return recentWriter }
        guard let entity = entityNames[number] else {
            throw FerryError(.internalError, "The new model has no entity number \(number).")
        }
        return try writer(entity)
    }

    func associations(of mapping: PolicyEntityMapping) throws -> PolicyAssociations {
        if let known = associations[mapping.resolved.position] { return known }
        let new = try PolicyAssociations(mapping.resolved, in: context)
        associations[mapping.resolved.position] = new
        return new
    }

    /// Numbers the rows, so that an object of an earlier row is not taken for one of the current row.
    func nextRowNumber() -> Int {
        rowNumber += 1
        return rowNumber
    }

    /// The object of a key; the same instance as long as it has unwritten changes.
    func destinationObject(number: Int64, key: Int64) throws -> DestinationObject {
        // Usually the object that was inserted last.
        if let last = pending.last, last.primaryKey == key, last.writer.number == number { return last }
        let writer = try writer(number: number)
        for index in pending.indices {
            let object = pending[index]
            if object.primaryKey == key, object.writer === writer || object.writer.root == writer.root { return object }
        }
        return writer.object(key, self)
    }

    private lazy var entityNames = context.destination.entitiesByNumber
    private lazy var sourceEntityNames = context.source.entitiesByNumber

    /// A source object, or nil if its row has an unknown entity.
    func sourceObject(number: Int64, key: Int64) -> SourceObject? {
        sourceEntityNames[number].map { SourceObject(entity: $0, key: key, self) }
    }

    /// Records that an object has unwritten changes.
    func touch(_ object: DestinationObject) {
        guard !object.isPending else { return }
        object.isPending = true
        pending.append(object)
    }

    func flush() throws {
        guard !pending.isEmpty else { return }
        for index in pending.indices { try pending[index].write() }
        while let object = pending.popLast() {
            object.isPending = false
            EntityWriter.recycle(object)
        }
    }

    /// Resets state that another unit, or another executor, may have changed.
    func beginUnit() {
        precondition(pending.isEmpty, "a unit wrote everything before it ended")
        lastKeys.removeAll(keepingCapacity: true)
        created.removeAll(keepingCapacity: true)
        newKeys.removeAll(keepingCapacity: true)
        marks = recordedMarks.isEmpty ? marks : marks.subtracting(recordedMarks)
    }

    func mark(_ name: String) {
        if !recordedMarks.contains(name) { marks.insert(name) }
    }

    func mark(_ attribute: PlacedAttribute, of writer: EntityWriter) {
        guard writer.mark(attribute) else { return }
        mark("\(writer.entity).\(writer.attribute(attribute).name)")
    }

    func marksAreRecorded() {
        recordedMarks.formUnion(marks)
        marks.removeAll()
    }

    /// The value of a source attribute in the current row, if that has the number.
    func currentValue(of attribute: String, inRow number: Int) -> Value? {
        guard let current, current.number == number, let known = current.attributes[attribute] else { return nil }
        return current.row.current.value(known.place)
    }

    func contents(ofExternal bytes: [UInt8]) throws -> Value {
        try context.single("SELECT \(ScalarFunction.fromExternalName)(?1)", [.blob(bytes)])
    }
}
