internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Each value of the source is in the destination by a rule that copies it, or the migration has said that it is lost.
///
/// ``RowsCheck`` compares what the rules yield. This check begins with the attributes of the source: it counts the values
/// of those that no rule copies from every object.
struct ValuesCheck: Check {
    static let name = "values"
    static let scope = CheckScope.migration

    func parts(in context: VerificationContext) -> [CheckPart] {
        guard let told = context.verification.told else { return [] }
        return SourceValues.all(told, in: context).map { values in
            CheckPart(name: "values of \(values.entity)", subject: nil) { context, _ in
                try context.announce(values.entity)
                try values.check(in: context)
            }
        }
    }
}

/// The attributes of a source entity that no rule copies from every object and no loss tells.
private struct SourceValues: Sendable {
    private struct Open: Sendable {
        let attribute: String
        let column: String
        /// The attributes into which rules copy some of the values.
        var copies: Set<PropertyKey> = []
    }

    let entity: String
    private let attributes: [Open]
    /// Objects that the migration says it loses.
    private let toldObjects: Int64

    static func all(_ told: [ToldLoss], in context: VerificationContext) -> [SourceValues] {
        let mappings = context.step.mappingsOfSource
        let pathEnds = Set(context.step.entityMappings.flatMap(\.attributes).flatMap { $0.expression?.pathEnds ?? [] })
        return mappings.keys.sorted().compactMap { entity in
            SourceValues(entity, mappings[entity] ?? [], told, pathEnds, in: context)
        }
    }

    private init?(
        _ entity: String, _ mappings: [ResolvedEntityMapping], _ told: [ToldLoss], _ pathEnds: Set<String>,
        in context: VerificationContext
    ) {
        let model = context.sourceModel
        let own = told.filter { model.isKind(entity, of: $0.entity) }
        let objects = own.filter { $0.property == nil }
        // Only the run knew how many objects have no successor, or which of them a policy or `unique` made one.
        guard !objects.contains(where: { $0.number == nil }),
            mappings.allSatisfy({ $0.policy == nil && $0.unique.isEmpty })
        else { return nil }
        let names = Set(own.compactMap(\.property))
        var copies: [String: Set<PropertyKey>] = [:]
        var carried: Set<String> = []
        for mapping in mappings {
            for rule in mapping.attributes {
                for name in rule.expression?.copied ?? [] {
                    copies[name, default: []].insert(PropertyKey(mapping.destination, rule.name))
                    if mapping.carriesEveryObject { carried.insert(name) }
                }
            }
        }
        let open = model.leaves(of: entity).compactMap { leaf -> Open? in
            guard !carried.contains(leaf.name), !leaf.isTransient, !model.isComputedByStore(leaf, of: entity),
                !names.contains(leaf.name), !pathEnds.contains(leaf.name),
                let column = context.source.column(of: leaf.name, in: entity)?.name
            else { return nil }
            return Open(attribute: leaf.name, column: column, copies: copies[leaf.name] ?? [])
        }
        if open.isEmpty { return nil }
        self.entity = entity
        attributes = open
        toldObjects = objects.compactMap(\.number).reduce(0, +)
    }

    func check(in context: VerificationContext) throws {
        let table = try context.sourceTable(of: entity).name
        let number = try context.sourceNumber(of: entity)
        let counts = attributes.map { "count(\(Connection.quoted($0.column)))" }.joined(separator: ", ")
        let row = try context.connection.rows(
            "SELECT \(counts) FROM source.\(Connection.quoted(table)) WHERE Z_ENT = \(number)")
        for (open, before) in zip(attributes, row.first ?? []) {
            var missing = (before.integer ?? 0) - toldObjects
            for copy in open.copies where missing > 0 {
                guard let column = context.destination.column(of: copy.property, in: copy.entity)?.name else {
                    continue
                }
                missing -=
                    try context.connection.integer(
                        "SELECT count(\(Connection.quoted(column))) FROM "
                            + "destination.\(Connection.quoted(context.destinationTable(of: copy.entity).name)) "
                            + "WHERE Z_ENT = \(context.destinationNumber(of: copy.entity))") ?? 0
            }
            context.report(
                ValuesCheck.self, entity: entity, property: open.attribute, count: max(0, missing),
                example: "\(table) \(open.column)")
        }
    }
}

extension Expression {
    /// The attributes of the source object of which the value is that of one, wherever it has one.
    fileprivate var copied: [String] {
        switch self {
        case .keyPath: (sourceKeys ?? fromSource.sourceKeys).map { [$0] } ?? []
        case .ifNil(let value, _): value.copied
        case .ternary(_, let value, let other): value.copied + other.copied
        case .predefined("castObject:toType:", let operands), .predefined("noindex:", let operands),
            .predefined(Expression.validSelector, let operands):
            operands.first?.copied ?? []
        default: []
        }
    }

    /// The last keys of all paths over relationships, which may lead to the attributes of other objects.
    fileprivate var pathEnds: [String] {
        var ends: [String] = []
        if case .keyPath(let base, let steps) = self, steps.count > 1 || base.sourceKeys != nil || base.isElement,
            case .key(let key)? = steps.last
        {
            ends.append(key)
        }
        return ends + parts.flatMap(\.pathEnds)
    }

    private var isElement: Bool {
        if case .variable(let name) = self { name != "source" } else { false }
    }
}
