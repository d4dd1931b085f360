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
/// chunk at work, together with the record of progress.
public final class MigrationManager {
    let context: StepContext
    /// The row of the mapping at work in the first pass.
    var current: CurrentSource?
    /// The source object behind the destination object at work in the second pass.
    var origin: Int64?
    /// The links of the mapping at work in the second pass.
    var links: [Statement] = []
    /// What was inserted in the unit at work and belongs to no source object read, by entity.
    var created: [String: Int64] = [:]

    /// New keys of the unit at work, by root entity.
    var newKeys: [String: Int64] = [:]
    /// What policies touched, as far as it is not recorded yet.
    private(set) var marks: Set<String> = []
    private var recordedMarks: Set<String> = []
    /// Whether the default policy related the object at work.
    var isRelatedByDefault = false

    private let mappings: [Int: PolicyEntityMapping]
    private var pending: [ObjectKey: DestinationObject] = [:]
    private var order: [ObjectKey] = []
    private var writers: [String: EntityWriter] = [:]
    private var lastKeys: [String: Int64] = [:]
    private var statements: [String: Statement] = [:]
    private var lookups: [String: PolicyLookup] = [:]

    private struct ObjectKey: Hashable {
        var root: String
        var key: Int64
    }

    /// The source object that is read, and what has become of it.
    final class CurrentSource {
        let plan: RowPlan
        let mapping: PolicyEntityMapping
        let row: SourceRow
        /// Counts the rows, so that an object of an earlier one is told from that of this one.
        var number = 0
        var key: Int64 = 0
        var isKeyTaken = false
        /// Objects of the mapping's own entity.
        var inserted: Int64 = 0
        var associated: Int64 = 0

        init(_ plan: RowPlan, _ mapping: PolicyEntityMapping, _ row: SourceRow) {
            self.plan = plan
            self.mapping = mapping
            self.row = row
        }
    }

    /// What may be pending before it is written without being asked: as much as a large source object makes.
    private static let pendingLimit = 512
    /// Statements that are kept: more than a policy of ordinary size has.
    private static let statementLimit = 256

    init(_ context: StepContext) {
        self.context = context
        mappings = Dictionary(
            uniqueKeysWithValues: context.step.resolved.entityMappings.map { ($0.position, PolicyEntityMapping($0)) })
    }

    // MARK: The step

    /// The model version identifiers of the source model.
    public var sourceModelVersionIdentifiers: [String] { context.source.model.versionIdentifiers }
    /// The model version identifiers of the destination model.
    public var destinationModelVersionIdentifiers: [String] { context.destination.model.versionIdentifiers }
    /// The entity mappings of the step, in the order in which they run.
    public var entityMappings: [PolicyEntityMapping] { mappings.sorted { $0.key < $1.key }.map(\.value) }

    func mapping(at position: Int) throws(FerryError) -> PolicyEntityMapping {
        guard let mapping = mappings[position] else {
            throw FerryError(.internalError, "The step has no entity mapping \(position).")
        }
        return mapping
    }

    // MARK: Making objects

    /// Inserts an object with the model's default values.
    ///
    /// Of the objects that are made of one source object, the first one of the mapping's own entity keeps its `Z_PK`, where
    /// no other mapping claims that; all others get new keys.
    public func insert(_ entityName: String) throws -> DestinationObject {
        mark("\(entityName).*")
        return try insert(entityName, row: nil)
    }

    /// Inserts what the attribute mappings make of the source object at work.
    func insertDefault(
        forSource source: SourceObject, in mapping: PolicyEntityMapping
    ) throws -> DestinationObject {
        guard let current, current.mapping === mapping, current.key == source.primaryKey,
            source.entityName == mapping.sourceEntityName
        else {
            throw FerryError(
                .badMapping,
                "A migration policy asks for the default object of a source object that is not at work in \(mapping.name).",
                remedy: "Pass the source object and the mapping that the policy was called with.",
                place: .init(entityMapping: mapping.name))
        }
        let object = try insert(mapping.destinationEntityName, row: current.row)
        for column in current.plan.columns {
            guard let place = object.writer.places[column.name] else { continue }
            if let attribute = column.attribute,
                let substitute = mapping.attributeMapping(named: attribute.name)?.substitute
            {
                mark("\(object.entityName).\(attribute.name)")
                object.changes[place] = try value(of: substitute, for: attribute, in: mapping, source)
            } else if case .evaluated(let evaluator) = column.value, evaluator.callsPolicy {
                object.changes[place] = try policyValue(evaluator, column, current.row.values)
            }
        }
        // A substitute may stand where the mapping model has nothing.
        let known = Set(current.plan.columns.compactMap(\.attribute?.name))
        for attributeMapping in mapping.attributeMappings where !known.contains(attributeMapping.name) {
            guard let substitute = attributeMapping.substitute else { continue }
            let (attribute, place) = try object.writer.attribute(attributeMapping.name)
            mark("\(object.entityName).\(attribute.name)")
            object.changes[place] = try value(of: substitute, for: attribute, in: mapping, source)
        }
        return object
    }

    private func insert(_ entityName: String, row: SourceRow?) throws -> DestinationObject {
        let writer = try writer(entityName)
        var insertion = DestinationObject.Insertion(version: .integer(1), row: row)
        var key: Int64?
        if let current, current.mapping.destinationEntityName == entityName {
            current.inserted += 1
            if current.mapping.resolved.policyKeepsPrimaryKeys, !current.isKeyTaken {
                current.isKeyTaken = true
                key = current.key
                insertion.version = current.row.values.row.value(RowPlan.versionCell)
            }
        } else {
            created[entityName, default: 0] += 1
        }
        let object = DestinationObject(writer, key: try key ?? newKey(in: writer), insertion: insertion, self)
        try makeRoom()
        touch(object)
        return object
    }

    private func newKey(in writer: EntityWriter) throws -> Int64 {
        if lastKeys[writer.root] == nil {
            let highest = try single("SELECT max(Z_PK) FROM main.\(writer.table)", []).integer ?? 0
            lastKeys[writer.root] = max(highest, try KeyBase.lastKeptKey(inTableOf: writer.root, context))
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
            let expressions = ExpressionSQL(context: context, mapping: mapping.resolved)
            var scope = SourceScope(
                layout: context.source, from: "source.\(try context.sourceTable(of: mapping.resolved)) AS s",
                source: .init(alias: "s", entity: mapping.sourceEntityName))
            scope.require("s.Z_PK = :key")
            let rule = ResolvedAttribute(name: attribute.name, expression: try Expression.parse(text))
            let sql = try expressions.attribute(attribute, from: rule, in: &scope) ?? "NULL"
            let statement = try cached("SELECT \(sql) FROM \(scope.from)\(scope.where)")
            try scope.parameters.bind(to: statement)
            try statement.bind(.integer(source.primaryKey), named: ":key")
            defer { statement.reset() }
            return try statement.step() ? statement.value(0) : .null
        }
    }

    private func policyValue(
        _ evaluator: RowEvaluator, _ column: RowPlan.DestinationColumn, _ values: PackedValues
    ) throws -> Value {
        let value = Value(try evaluator.value(in: values, policy: functions))
        // What the policy gave as it is must fit; what the expression made of it was converted.
        guard evaluator.isPolicyCall, let attribute = column.attribute else { return value }
        return try MigrationValue(raw: value).stored(in: attribute)
    }

    /// The functions of the policy at work.
    var functions: (any PolicyFunctions)?

    // MARK: Keeping small things

    /// A dictionary on disk, shared by all policies of the step under its name.
    public func lookup(_ name: String) throws -> PolicyLookup {
        if let known = lookups[name] { return known }
        let lookup = try PolicyLookup(name, self)
        if lookups.count >= Self.statementLimit { lookups.removeAll() }
        lookups[name] = lookup
        return lookup
    }

    // MARK: Objects at hand

    func writer(_ entity: String) throws -> EntityWriter {
        if let known = writers[entity] { return known }
        let writer = try EntityWriter(entity, in: context)
        writers[entity] = writer
        return writer
    }

    /// The object of a key, the same one as long as it has something to be written.
    func destinationObject(number: Int64, key: Int64) throws -> DestinationObject {
        guard let entity = entityNames[number] else {
            throw FerryError(.internalError, "The new model has no entity number \(number).")
        }
        let writer = try writer(entity)
        return pending[ObjectKey(root: writer.root, key: key)] ?? DestinationObject(writer, key: key, self)
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
        let key = ObjectKey(root: object.writer.root, key: object.primaryKey)
        guard pending[key] !== object else { return }
        if pending[key] == nil { order.append(key) }
        pending[key] = object
    }

    private func makeRoom() throws { if order.count >= Self.pendingLimit { try flush() } }

    /// Writes everything that was set.
    func flush() throws {
        guard !order.isEmpty else { return }
        let keys = order
        for key in keys { try pending[key]?.write() }
        order.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
    }

    /// Forgets what another unit, or another executor, may have changed.
    func beginUnit() {
        precondition(order.isEmpty, "a unit wrote everything before it ended")
        lastKeys.removeAll(keepingCapacity: true)
        created.removeAll(keepingCapacity: true)
        newKeys.removeAll(keepingCapacity: true)
        marks = recordedMarks.isEmpty ? marks : marks.subtracting(recordedMarks)
    }

    /// Remembers that a policy decides over a property.
    func mark(_ name: String) {
        if !recordedMarks.contains(name) { marks.insert(name) }
    }

    /// The marks are in the transaction at work.
    func marksAreRecorded() {
        recordedMarks.formUnion(marks)
        marks.removeAll()
    }

    /// The value that the row at work has in a column of the source.
    func currentValue(of attribute: String, inRow number: Int) -> Value? {
        guard let current, current.number == number,
            let cell = current.plan.attributes.first(where: { $0.attribute.name == attribute })?.cell
        else {
            return nil
        }
        return current.row.values.row.value(cell)
    }

    // MARK: Statements

    /// A statement of one's own, for rows that are handed out one by one.
    func prepare(_ sql: String) throws -> Statement { try context.connection.prepare(sql) }

    /// A kept statement, for work that is over before anything else is done.
    func cached(_ sql: String) throws -> Statement {
        if let known = statements[sql] { return known }
        if statements.count >= Self.statementLimit { statements.removeAll() }
        let statement = try context.connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    func run(_ sql: String, _ values: [Value]) throws {
        let statement = try cached(sql)
        try statement.bind(values)
        try statement.run()
    }

    /// The first column of the first row.
    func single(_ sql: String, _ values: [Value]) throws -> Value {
        let statement = try cached(sql)
        try statement.bind(values)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    func contents(ofExternal bytes: [UInt8]) throws -> Value {
        try single("SELECT \(ScalarFunction.fromExternalName)(?1)", [.blob(bytes)])
    }
}
