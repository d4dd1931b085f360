internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel

/// What SQLite has to read of the expressions of an entity mapping, and whether it can.
///
/// What passed the check of the mapping can still be too much for SQLite: a statement joins only so many tables. What is
/// deeper than its parser reads is one call of a function of ours, which takes only so many columns.
struct ExpressionDepth {
    /// SQLite joins 64 tables; some are the statement's own.
    private static let hopLimit = 48

    private let mapping: ResolvedEntityMapping
    private let translation: ExpressionTranslation
    private let destination: ManagedObjectModel

    init(of mapping: ResolvedEntityMapping, in step: ResolvedStep) {
        self.mapping = mapping
        destination = step.destination.model
        translation = ExpressionTranslation(scope: mapping.expressionScope(in: step.source.model))
    }

    /// What the body makes of an expression; nil of one that cannot be translated.
    ///
    /// The check of the mapping model refuses such a one, with its place; here it would be said again, without.
    private static func translated<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch { return nil }
    }

    private func computation(of rule: ResolvedAttribute) -> Computation? {
        guard let expression = rule.expression,
            let attribute = destination.attribute(rule.name, of: mapping.destination)
        else { return nil }
        return Self.translated { try translation.value(expression, for: attribute) }
    }

    /// Checks what is part of SQL.
    ///
    /// - Throws: ``FerryError`` `.unsupported` when an expression is deeper than SQLite reads and has more columns than a
    ///   function takes, or all expressions together follow more relationships than SQLite joins tables.
    func check() throws(FerryError) {
        var parts: [(what: String, computation: Computation)] = []
        if let filter = mapping.filter, let condition = Self.translated({ try translation.condition(filter) }) {
            parts.append(("where", condition))
        }
        if case .json(let text, _)? = mapping.iteration?.elements,
            let value = Self.translated({ try translation.value(text) })
        {
            parts.append(("forEach", value.computation))
        }
        for rule in mapping.attributes { if let value = computation(of: rule) { parts.append((rule.name, value)) } }
        for (what, computation) in parts
        where computation.depth > Computation.depthLimit && !computation.callsPolicy
            && ComputationProgram(computation) == nil
        {
            throw FerryError(
                .unsupported,
                "Entity mapping \(mapping.name): `\(what)` has more operations within each other than SQLite reads, on "
                    + "more than \(ComputationProgram.argumentLimit) attributes.",
                remedy: "Split it by several steps, or compute it in a migration policy.",
                place: .init(entityMapping: mapping.name))
        }
        var hops: Set<[String]> = []
        for part in parts { part.computation.addHops(to: &hops) }
        guard hops.count <= Self.hopLimit else {
            throw FerryError(
                .unsupported,
                "Entity mapping \(mapping.name) follows \(hops.count) relationships, more than SQLite joins tables.",
                remedy: "Split it by several steps, or follow them in a migration policy.",
                place: .init(entityMapping: mapping.name))
        }
    }
}

extension Computation {
    /// The relationships that its paths follow, each with the way to it.
    fileprivate func addHops(to hops: inout Set<[String]>) {
        switch self {
        case .column(let path):
            var way = ["\(path.start)"]
            for hop in path.hops {
                way.append(hop.relationship.name)
                hops.insert(way)
            }
        case .elementText, .parameter, .argument: break
        case .call(_, let parts), .all(let parts), .any(let parts), .policy(_, let parts):
            for part in parts { part.addHops(to: &hops) }
        case .real(_, let left, let right), .ifNull(let left, let right), .same(let left, let right),
            .precedes(let left, let right, _):
            left.addHops(to: &hops)
            right.addHops(to: &hops)
        case .isNull(let part, _), .not(let part): part.addHops(to: &hops)
        case .choose(let condition, let value, let other):
            for part in [condition, value, other] { part.addHops(to: &hops) }
        case .collection(let collection):
            // Its own statement, but joined to the objects that it begins at.
            if case .object(let path) = collection.start { Computation.column(path).addHops(to: &hops) }
            for united in collection.united { Computation.collection(united).addHops(to: &hops) }
            for part in collection.parts { part.addHops(to: &hops) }
        }
    }
}
