package import FerryBase
internal import FerryMapping
package import FerryStore

/// The statements of a step, in the order in which they run: what a plan shows of its programs.
///
/// Statements that only certain rows need are missing: for a value that is too large for its chunk, for a damaged row,
/// and those that a policy runs by itself.
package struct StepStatements: Sendable {
    /// Statements with one purpose.
    package struct Group: Sendable {
        /// Nil for the statements that make the tables.
        package var phase: Phase?
        package var reason: String?
        package var statements: [ProgramStatement]
    }

    package private(set) var groups: [Group] = []

    package init() {}

    package mutating func add(_ statements: [ProgramStatement], _ phase: Phase?, _ reason: String?) {
        guard !statements.isEmpty else { return }
        if let last = groups.indices.last, groups[last].phase == phase, groups[last].reason == reason {
            groups[last].statements += statements
        } else {
            groups.append(Group(phase: phase, reason: reason, statements: statements))
        }
    }

    package mutating func add(texts: [String], _ phase: Phase?, _ reason: String?) {
        add(texts.map { ProgramStatement($0, .once) }, phase, reason)
    }

    /// Adds the statements that write the version and the model of the new store.
    package mutating func addVersion(hasModel: Bool, _ phase: Phase?) {
        add(texts: [StoreMetadata.writing] + (hasModel ? ModelCache.writing : []), phase, "the store's version")
    }

    /// Adds the statements that make a new store's tables.
    package mutating func addTables(of destination: StoreLayout, hasModelCache: Bool) {
        let tables = StoreCreation.tables(of: destination, hasModelCache: hasModelCache)
        add(tables.map { ProgramStatement($0, .schema) }, nil, nil)
        add(texts: [StoreCreation.entityNumber], nil, nil)
    }

    /// Adds the statements of each operation of a program, in their order.
    ///
    /// - Parameters:
    ///   - sql: The statements of the step.
    ///   - hasModel: Whether the store has a cached model.
    ///   - indexes: Takes the statements of the indexes in scratch that the operation needs.
    /// - Throws: ``FerryError`` for a rule that cannot be a statement.
    package mutating func addOperations(
        of sql: StepSQL, hasModel: Bool, indexes: () -> [String]
    ) throws(FerryError) {
        for operation in sql.program.operations {
            let statements = try sql.statements(of: operation)
            add(texts: indexes(), operation.phase, "values by which objects are found")
            if case .version = operation.work { addVersion(hasModel: hasModel, operation.phase) }
            for statement in statements {
                add([statement], operation.phase, statement.reason ?? operation.heading)
            }
        }
    }
}

extension StepOperation {
    /// What it does, as a heading of its statements.
    fileprivate var heading: String {
        let subject = subject ?? ""
        return switch work {
        case .statements: subject
        case .rows: "rows of \(subject)"
        case .joinTable: "links in \(subject)"
        case .links: "links of \(subject)"
        case .settle: "other sides and positions of \(subject)"
        case .policies: "policies"
        case .highestKeys: "highest keys"
        case .version: "the store's version"
        }
    }
}
