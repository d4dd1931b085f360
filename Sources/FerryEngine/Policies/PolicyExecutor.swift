internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite

/// Carries the rows of an entity mapping with a migration policy: the policy is called for each source object.
final class PolicyExecutor: MappingExecutor {
    private let calls: PolicyCalls
    private let rows: RowStream
    private let current: CurrentSource
    private let associations: PolicyAssociations

    init(_ calls: PolicyCalls, in context: StepContext) throws {
        self.calls = calls
        let plan = try RowPlan(MappingSQL(calls.mapping.resolved, in: context), .aheadOfPolicy)
        rows = try RowStream(plan, in: context)
        current = try CurrentSource(calls, plan, on: context.connection)
        associations = current.associations
    }

    var writesScratch: Bool { true }

    var takesOpenRanges: Bool { rows.runsAhead }

    func carry(_ range: KeyRange) throws -> ChunkOutcome {
        let (manager, mapping, policy) = (calls.manager, calls.mapping, calls.policy)
        var outcome = ChunkOutcome()
        manager.beginUnit()
        manager.current = current
        defer {
            rows.end()
            manager.current = nil
        }
        try associations.beginChunk(after: range.low)
        try rows.begin(range)
        var source: SourceObject?
        while let row = try rows.next() {
            outcome.read += 1
            guard row.isTaken else { continue }
            current.begin(row, number: manager.nextRowNumber())
            mapping.resetValues()
            // The object of the row before serves again unless the policy has kept it.
            if !isKnownUniquelyReferenced(&source) { source = SourceObject(current, manager) }
            guard let source else { continue }
            source.stand(for: current.key, row: current.number)
            try calls.call {
                try policy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            }
            try associations.finish(current)
            if current.inserted > 0 {
                outcome.written += current.inserted
                outcome.created += current.inserted - 1
            } else if current.associated > 0 {
                outcome.merged += 1
            }
        }
        outcome.taken = try rows.takenRange()
        return outcome
    }
}

/// One policy at work in one entity mapping.
final class PolicyCalls: PolicyFunctions {
    let policy: any EntityMigrationPolicy
    let mapping: PolicyEntityMapping
    let manager: MigrationManager
    private let functions: [String: PolicyFunction]

    init(_ policy: any EntityMigrationPolicy, _ mapping: PolicyEntityMapping, _ manager: MigrationManager) {
        self.policy = policy
        self.mapping = mapping
        self.manager = manager
        functions = policy.functions
    }

    /// Runs a hook and writes what it set; an error says whose it is.
    func call(_ hook: () throws -> Void) throws {
        do {
            try hook()
            try manager.flush()
        } catch var error as FerryError {
            if error.place.entityMapping == nil {
                error.place.entityMapping = mapping.name
                error.message = "Entity mapping \(mapping.name): \(error.message)"
            }
            throw error
        } catch {
            // Its words could hold what must not be in a message.
            throw FerryError(
                .rowFailed,
                "The migration policy \(mapping.resolved.policy ?? "") of entity mapping \(mapping.name) failed.",
                remedy: "The cause is the policy's own error; correct it and run the same migration to go on.",
                place: .init(entityMapping: mapping.name, entity: mapping.sourceEntityName), cause: error)
        }
    }

    func call(_ name: String, _ arguments: [FunctionValue]) throws -> OwnedValue {
        guard let function = functions[name] else {
            throw FerryError(
                .missingPolicy, "The migration policy \(mapping.resolved.policy ?? "") offers no function \(name).",
                remedy: "Add it to the policy's functions.")
        }
        return OwnedValue(try function(arguments.map { MigrationValue($0) }).plain)
    }
}

/// An entity mapping as its policy sees it.
public final class PolicyEntityMapping {
    let resolved: ResolvedEntityMapping
    /// Whether a policy may have set a value for one source object.
    @exclusivity(unchecked) private(set) var isSubstituted = false
    /// The attribute mappings, by the names of the destination's attributes.
    public let attributeMappings: [PolicyPropertyMapping]
    /// The relationship mappings, by the names of the destination's relationships.
    public let relationshipMappings: [PolicyPropertyMapping]

    public let name: String
    public let sourceEntityName: String
    public let destinationEntityName: String
    /// Whether the first object that is made of a source object has its key.
    let keepsPrimaryKeys: Bool
    /// What the mapping model's author wrote beside the mapping.
    public var userInfo: [String: String] { resolved.userInfo }

    init(_ resolved: ResolvedEntityMapping) {
        self.resolved = resolved
        name = resolved.name
        sourceEntityName = resolved.source
        destinationEntityName = resolved.destination
        keepsPrimaryKeys = resolved.policyKeepsPrimaryKeys
        attributeMappings = resolved.attributes.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.expression?.description)
        }
        relationshipMappings = resolved.relationships.map {
            PolicyPropertyMapping(name: $0.name, valueExpression: $0.from.description)
        }
        for mapping in attributeMappings { mapping.owner = self }
    }

    /// The attribute mapping of a destination attribute.
    public func attributeMapping(named name: String) -> PolicyPropertyMapping? {
        attributeMappings.first { $0.name == name }
    }

    fileprivate func substitutes() { isSubstituted = true }

    /// Takes back what a policy set for one source object.
    func resetValues() {
        guard isSubstituted else { return }
        for mapping in attributeMappings where mapping.substitute != nil { mapping.substitute = nil }
        isSubstituted = false
    }
}

/// What an entity mapping gives to one property.
public final class PolicyPropertyMapping {
    public enum Substitute: Sendable, Hashable {
        case constant(MigrationValue)
        /// An expression in the language of mapping models, over `$source`.
        case expression(String)
    }

    public let name: String
    /// The expression of the mapping model as text; nil where the property keeps its default.
    public let valueExpression: String?
    /// Takes the expression's place for the source object at work; the next one begins with the mapping model's again.
    ///
    /// Set before the default policy makes the object. It has no effect on relationships.
    public var substitute: Substitute? { didSet { owner?.substitutes() } }
    fileprivate weak var owner: PolicyEntityMapping?

    init(name: String, valueExpression: String?) {
        self.name = name
        self.valueExpression = valueExpression
    }
}
