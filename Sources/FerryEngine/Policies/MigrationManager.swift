internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What a migration policy works with: both stores, the associations, lookups and user info.
///
/// It holds one source object and what is made of it; everything else is on disk. What is written is committed with the
/// chunk at work, together with the record of progress. It belongs to the thread that writes; the variables that are
/// used for each object are not watched over, since no access to them lasts while other code runs.
public final class MigrationManager {
    let context: StepContext
    /// The row of the mapping at work in the first pass.
    @exclusivity(unchecked) var current: CurrentSource?
    /// The source object behind the destination object at work in the second pass.
    @exclusivity(unchecked) var origin: Int64?
    /// The links of the mapping at work in the second pass.
    @exclusivity(unchecked) var links: [Statement] = []
    /// What was inserted in the unit at work and belongs to no source object read, by entity.
    var created: [String: Int64] = [:]

    /// New keys of the unit at work, by root entity.
    var newKeys: [String: Int64] = [:]
    /// What policies touched, as far as it is not recorded yet.
    private(set) var marks: Set<String> = []
    private var recordedMarks: Set<String> = []
    /// Whether the default policy related the object at work.
    @exclusivity(unchecked) var isRelatedByDefault = false
    /// The type of policy that was asked to relate an object last and has no code of its own for that.
    @exclusivity(unchecked) var policyWithoutRelating: (any EntityMigrationPolicy.Type)?

    /// The entity mappings of the step, in the order in which they run.
    public let entityMappings: [PolicyEntityMapping]
    /// Objects with something to be written, in the order in which that began.
    @exclusivity(unchecked) private var pending: [DestinationObject] = []
    private var writers: [String: EntityWriter] = [:]
    @exclusivity(unchecked) private var recentWriter: EntityWriter?
    private var associations: [Int: PolicyAssociations] = [:]
    @exclusivity(unchecked) private var rowNumber = 0
    private var lastKeys: [String: Int64] = [:]
    private var lookups: [String: PolicyLookup] = [:]

    /// What may be pending before it is written without being asked: what most source objects make, few enough to be
    /// looked through.
    private static let pendingLimit = 64
    /// More than policies of ordinary size have.
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

    // MARK: Making objects

    /// Inserts an object with the model's default values.
    ///
    /// Of the objects that are made of one source object, the first one of the mapping's own entity keeps its `Z_PK`, where
    /// no other mapping claims that; all others get new keys.
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

    /// Inserts what the attribute mappings make of the source object at work.
    func insertDefault(
        forSource source: SourceObject, in mapping: PolicyEntityMapping
    ) throws -> DestinationObject {
        guard let current, current.mapping === mapping,
            source.isAtWork(current)
                || current.key == source.primaryKey && source.entityName == mapping.sourceEntityName
        else {
            throw FerryError(
                .badMapping,
                "A migration policy asks for the default object of a source object that is not at work in \(mapping.name).",
                remedy: "Pass the source object and the mapping that the policy was called with.",
                place: .init(entityMapping: mapping.name))
        }
        let object = try current.insert(current.row, by: self)
        if mapping.isSubstituted { try substitute(in: object, mapping, source) }
        if current.row.hasPolicyColumns { try compute(current, for: object) }
        return object
    }

    /// Sets what a policy put in the place of the mapping's expressions.
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

    /// Sets what only the policy's functions can compute.
    private func compute(_ current: CurrentSource, for object: DestinationObject) throws {
        for column in current.row.policyColumns where !object.changes.contains(column.place) {
            object.changes.set(try policyValue(column, current.row.values), at: column.place)
        }
    }

    /// Inserts an object, with a new key where none is given.
    func insert(_ writer: EntityWriter, row: SourceRow?, key: Int64?, version: Value) throws -> DestinationObject {
        if pending.count >= Self.pendingLimit { try flush() }
        let object = writer.object(try key ?? newKey(in: writer), self)
        object.beInserted(version: version, row: row)
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
            let expressions = MappingSQL(mapping.resolved, in: context)
            var scope = expressions.scope(from: "source.\(try context.sourceTable(of: mapping.resolved)) AS s")
            scope.require("s.Z_PK = :key")
            let rule = ResolvedAttribute(name: attribute.name, expression: try Expression.parse(text))
            let value = ColumnSource(rule, for: attribute, of: mapping.resolved, in: context.source)
            let sql = try value.map { try expressions.value(of: $0, in: &scope).sql } ?? "NULL"
            let statement = try context.cached("SELECT \(sql) FROM \(scope.from)\(scope.where)")
            try scope.parameters.bind(to: statement)
            try statement.bind(.integer(source.primaryKey), named: ":key")
            defer { statement.reset() }
            return try statement.step() ? statement.value(0) : .null
        }
    }

    private func policyValue(
        _ column: SourceRow.PolicyColumn, _ values: PackedValues
    ) throws -> Value {
        let value = Value(try column.evaluator.value(in: values, policy: current?.functions))
        // What the policy gave as it is must fit; what the expression made of it was converted.
        guard column.evaluator.isPolicyCall, let attribute = column.attribute else { return value }
        return try MigrationValue(raw: value).stored(in: attribute)
    }

    // MARK: Keeping small things

    /// A dictionary on disk, shared by all policies of the step under its name.
    public func lookup(_ name: String) throws -> PolicyLookup {
        if let known = lookups[name] { return known }
        let lookup = try PolicyLookup(name, self)
        if lookups.count >= Self.lookupLimit { lookups.removeAll() }
        lookups[name] = lookup
        return lookup
    }

    // MARK: Objects at hand

    /// Lets go of objects that are kept for the next one, which refer back to this.
    func end() { for writer in writers.values { writer.forgetSpare() } }

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

    /// What became of the source objects of a mapping with a policy.
    func associations(of mapping: PolicyEntityMapping) throws -> PolicyAssociations {
        if let known = associations[mapping.resolved.position] { return known }
        let new = try PolicyAssociations(mapping.resolved, in: context)
        associations[mapping.resolved.position] = new
        return new
    }

    /// A number for a row that is read, so that an object of an earlier one is told from that of this one.
    func nextRowNumber() -> Int {
        rowNumber += 1
        return rowNumber
    }

    /// The object of a key, the same one as long as it has something to be written.
    func destinationObject(number: Int64, key: Int64) throws -> DestinationObject {
        // Mostly the one that was just made.
        if let last = pending.last, last.primaryKey == key, last.writer.number == number { return last }
        let writer = try writer(number: number)
        for index in pending.indices {
            let object = pending[index]
            if object.primaryKey == key, object.writer === writer || object.writer.root == writer.root { return object }
        }
        return writer.object(key, self)
    }

    private lazy var entityNames = Dictionary(
        context.destination.entityNumbers.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    private lazy var sourceEntityNames = Dictionary(
        context.source.entityNumbers.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })

    /// A source object, or nil where its row is of no known entity.
    func sourceObject(number: Int64, key: Int64) -> SourceObject? {
        sourceEntityNames[number].map { SourceObject(entity: $0, key: key, self) }
    }

    /// Remembers that an object has something to be written.
    func touch(_ object: DestinationObject) {
        guard !object.isPending else { return }
        object.isPending = true
        pending.append(object)
    }

    /// Writes everything that was set.
    func flush() throws {
        guard !pending.isEmpty else { return }
        if pending.count == 1 {
            let object = pending.removeLast()
            object.isPending = false
            try object.write()
            return EntityWriter.recycle(object)
        }
        for index in pending.indices { try pending[index].write() }
        while let object = pending.popLast() {
            object.isPending = false
            EntityWriter.recycle(object)
        }
    }

    /// Forgets what another unit, or another executor, may have changed.
    func beginUnit() {
        precondition(pending.isEmpty, "a unit wrote everything before it ended")
        lastKeys.removeAll(keepingCapacity: true)
        created.removeAll(keepingCapacity: true)
        newKeys.removeAll(keepingCapacity: true)
        marks = recordedMarks.isEmpty ? marks : marks.subtracting(recordedMarks)
    }

    /// Remembers that a policy decides over a property.
    func mark(_ name: String) {
        if !recordedMarks.contains(name) { marks.insert(name) }
    }

    /// Remembers that a policy decides over an attribute.
    func mark(_ attribute: PlacedAttribute, of writer: EntityWriter) {
        guard writer.mark(attribute) else { return }
        mark("\(writer.entity).\(writer.attribute(attribute).name)")
    }

    /// The marks are in the transaction at work.
    func marksAreRecorded() {
        recordedMarks.formUnion(marks)
        marks.removeAll()
    }

    /// The value that the row at work has in a column of the source.
    func currentValue(of attribute: String, inRow number: Int) -> Value? {
        guard let current, current.number == number, let known = current.attributes[attribute] else { return nil }
        return current.row.values.row.value(known.place)
    }

    func contents(ofExternal bytes: [UInt8]) throws -> Value {
        try context.single("SELECT \(ScalarFunction.fromExternalName)(?1)", [.blob(bytes)])
    }
}
