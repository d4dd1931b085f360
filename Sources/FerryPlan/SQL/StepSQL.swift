package import FerryBase
package import FerryExpression
package import FerryMapping
package import FerryStore

/// What the statements of a step follow from: its plan, its program, and both layouts.
package struct StepSQL {
    package let plan: StepPlan
    /// The layout with the actual table and column names of the source store.
    package let source: StoreLayout
    package let destination: StoreLayout
    package let program: StepProgram
    /// The indexes of the run; nil if statements must do without.
    package let indexes: (any MemberIndexes)?
    /// The new store's join tables that are copied with their index.
    let wholeJoinTables: Set<String>

    package init(
        _ plan: StepPlan, source: StoreLayout, destination: StoreLayout, program: StepProgram,
        indexes: (any MemberIndexes)?, wholeJoinTables: Set<String>
    ) {
        (self.plan, self.source, self.destination) = (plan, source, destination)
        (self.program, self.indexes, self.wholeJoinTables) = (program, indexes, wholeJoinTables)
    }

    package var hasPolicies: Bool { plan.resolved.hasPolicies }

    package func mapping(named name: String) throws(FerryError) -> ResolvedEntityMapping {
        guard let mapping = plan.resolved.entityMapping(named: name) else {
            throw FerryError(.internalError, "The plan names entity mapping \(name), which it does not hold.")
        }
        return mapping
    }

    package func sourceTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try source.knownTable(of: mapping.source, in: "source")
    }

    package func destinationTable(of mapping: ResolvedEntityMapping) throws(FerryError) -> String {
        try destination.knownTable(of: mapping.destination, in: "new")
    }

    package func sourceNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try source.knownNumber(of: mapping.source, in: "source")
    }

    package func destinationNumber(of mapping: ResolvedEntityMapping) throws(FerryError) -> Int64 {
        try destination.knownNumber(of: mapping.destination, in: "new")
    }
}

/// The indexes by which statements find the objects of an entity that have certain values.
package protocol MemberIndexes: AnyObject {
    /// Returns an index over the values at the end of paths from the objects of exactly one entity.
    ///
    /// - Parameters:
    ///   - entity: The entity, without its subentities.
    ///   - paths: The paths of to-one relationships to attributes or objects.
    ///   - mayBeOfSource: Whether an index over objects of other entities too is of use.
    /// - Returns: An index of the source if it has one, else one in scratch.
    /// - Throws: Errors of the paths; ``FerryError`` `.interrupted` or `.databaseFailed` while the index is made.
    func index(of entity: String, by paths: [ResolvedPath], mayBeOfSource: Bool) throws(FerryError) -> ValueIndexPlace
}

package enum ValueIndexPlace {
    /// A column that the source's own index begins with.
    case column(String)
    /// A table in scratch with the values as `v0`, `v1`, …, and the object's key as `member`.
    case table(String)
}

extension StoreLayout {
    /// Returns the name of an entity's table; throws `.internalError` if the store has none.
    package func knownTable(of entity: String, in store: String) throws(FerryError) -> String {
        guard let table = table(of: entity) else { throw missing("table", of: entity, in: store) }
        return table.name
    }

    /// Returns the number of an entity (`Z_ENT`); throws `.internalError` if the store has none.
    package func knownNumber(of entity: String, in store: String) throws(FerryError) -> Int64 {
        guard let number = number(of: entity) else { throw missing("number", of: entity, in: store) }
        return number
    }

    private func missing(_ what: String, of entity: String, in store: String) -> FerryError {
        FerryError(.internalError, "The \(store) store has no \(what) for entity \(entity).")
    }
}

extension FerryError {
    /// The error with the entity mapping in which it occurred.
    package func placed(in mapping: ResolvedEntityMapping) -> FerryError {
        var error = self
        error.place.entityMapping = mapping.name
        error.message = "Entity mapping \(mapping.name): \(message)"
        return error
    }
}
