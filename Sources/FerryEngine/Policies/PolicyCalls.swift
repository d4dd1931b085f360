internal import FerryBase
internal import FerryExpression
internal import FerryMapping

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
