internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// A stored relationship of the source with its inverse, and the relationships of the destination that carry it on.
///
/// Unlike ``StoredRelation`` it begins with the links that exist, not with the rules: a link whose ends live on must be
/// in the destination, or have been told as a loss, whatever the rules say of it.
struct SourceLinks: Sendable {
    /// How one version stores the links, seen from the owners of ``SourceLinks/key``.
    struct Form: Sendable, Hashable {
        var links: StoredLinks
        /// The keys of the other side of a one-to-one.
        var other: StoredLinks?
        /// Whether the relationship is its own inverse.
        var isReflexive = false
    }

    /// The relationship, as the entity that declares it.
    let key: PropertyKey
    let inverse: PropertyKey?
    let form: Form
    /// The entities at both ends that have objects.
    let owners: [String]
    let members: [String]
    /// The relationships of the destination into which rules carry the links.
    private(set) var targets: [Form] = []
    /// Whether rules of other relationships fill the targets, or of entity mappings that do not stand in for an object.
    private(set) var isMixed = false
    /// Whether an expression or a policy decides which links there are: then no link of the source has an heir as such.
    private(set) var isComputed = false
    /// The number of its links that the migration says it loses; nil if it says so without a number.
    private(set) var told: Int64? = 0

    /// The relationships of the source, in name order; none if it is not known which losses were told.
    static func all(in context: VerificationContext) throws -> [SourceLinks] {
        if context.verification.told == nil { return [] }
        let (model, layout) = (context.sourceModel, context.source)
        let rules = LinkRules(in: context)
        return layout.relationshipStorage.inOrder { $0.key < $1.key }.compactMap { key, storage in
            guard let relationship = model.relationship(key.property, of: key.entity) else { return nil }
            let inverse = model.inverseKey(of: relationship)
            switch storage {
            // The other side stores these.
            case .inverseForeignKey: return nil
            case .foreignKey:
                if let inverse, inverse < key, case .foreignKey? = layout.relationshipStorage[inverse] { return nil }
            case .join(let table, let own, _, _, _):
                guard layout.joinTables.first(where: { $0.name == table })?.firstColumn == own else { return nil }
            case .inverseless: break
            }
            guard let form = Form(key, of: layout) else { return nil }
            var links = SourceLinks(
                key: key, inverse: inverse, form: form, owners: concrete(key.entity, model),
                members: concrete(relationship.destinationEntity, model))
            links.addTargets(of: rules, in: context)
            links.addTold(in: context)
            return links
        }
    }

    private init(key: PropertyKey, inverse: PropertyKey?, form: Form, owners: [String], members: [String]) {
        (self.key, self.inverse, self.form) = (key, inverse, form)
        (self.owners, self.members) = (owners, members)
    }

    private static func concrete(_ entity: String, _ model: ManagedObjectModel) -> [String] {
        model.family(of: entity).filter { model.entities[$0]?.isAbstract == false }
    }

    var title: String { key.title }
    var ends: Set<String> { Set(owners + members) }

    // MARK: Rules

    private mutating func addTargets(of rules: LinkRules, in context: VerificationContext) {
        func isDecidedByPolicy(_ mapping: ResolvedEntityMapping) -> Bool {
            mapping.policy != nil && !context.verification.policies.implied.contains(mapping.position)
        }
        isComputed = ends.contains { rules.mappings[$0]?.contains(where: isDecidedByPolicy) == true }
        for (name, isBackward) in [(key, false)] + (inverse.map { $0 == key ? [] : [($0, true)] } ?? []) {
            for target in rules.targets[name] ?? [] {
                guard let form = Form(target, of: context.destination) else { continue }
                let fillers = rules.fillers(of: target, in: context.destinationModel)
                if fillers.contains(nil) || context.verification.policies.isTouched(target.property, of: target.entity)
                {
                    isComputed = true
                }
                if fillers.contains(where: { $0 != nil && $0 != key && $0 != inverse }) { isMixed = true }
                if rules.carriesParts(name, to: target) { isMixed = true }
                let seen = isBackward ? form.reversed : form
                // Both sides of one relationship store the same links.
                if !targets.contains(where: { $0.isSame(as: seen) }) { targets.append(seen) }
            }
        }
        if targets.isEmpty {
            isComputed =
                isComputed || [key.property, inverse?.property].contains { $0.map(rules.read.contains) == true }
        }
    }

    private mutating func addTold(in context: VerificationContext) {
        let names = [key] + (inverse.map { [$0] } ?? [])
        func isOne(_ entity: String, _ relationship: String) -> Bool {
            names.contains { name in
                name.property == relationship && context.sourceModel.isKind(entity, of: name.entity)
            }
        }
        for loss in context.verification.told ?? [] {
            guard let property = loss.property, isOne(loss.entity, property) else { continue }
            told = told.flatMap { known in loss.number.map { known + $0 } }
        }
        // A rule of a mapping model that replaces another one is deliberate; a warning tells it.
        let isOverruled = context.step.overruled.contains { overruled in
            overruled.rule.sourceRelationship.map { isOne(overruled.source, $0) } == true
        }
        if isOverruled { told = nil }
    }

    // MARK: Counting

    /// The number of links that the destination must have; nil if it does not follow from the source's alone, and from
    /// which objects live on under their own keys.
    func expected(of before: Int64, in context: VerificationContext) throws -> Int64? {
        guard targets.count == 1, !isMixed, let owners = Heirs(of: owners, in: context),
            let members = Heirs(of: members, in: context)
        else { return nil }
        if owners.areAll, members.areAll { return before }
        guard let owned = try owners.lives(in: context), let related = try members.lives(in: context) else {
            return nil
        }
        // In the order of the objects, of which few are left out, and not of the links.
        func lost(
            _ heirs: Heirs, of entity: String, _ links: StoredLinks, without lives: (String) -> String,
            to others: (String) -> String
        ) throws -> Int64 {
            if heirs.areAll { return 0 }
            let table = try context.sourceTable(of: entity).name
            let from = links.areInRowsOfA ? "" : " CROSS JOIN source.\(links.table) AS l ON l.\(links.a) = o.Z_PK"
            let key = "\(from.isEmpty ? "o" : "l").\(links.b)"
            return try context.connection.integer(
                "SELECT count(*) FROM source.\(table) AS o\(from) WHERE \(try heirs.numbers("o", in: context)) "
                    + "AND NOT \(lives("o.Z_PK")) AND \(key) IS NOT NULL AND \(others(key))") ?? 0
        }
        return try before - lost(owners, of: self.owners[0], form.links, without: owned, to: { _ in "1" })
            - lost(members, of: self.members[0], form.links.reversed, without: related, to: owned)
    }

    /// What the objects at one end become, if each becomes one object or none.
    private struct Heirs {
        let mappings: [ResolvedEntityMapping]
        var areAll: Bool { mappings.allSatisfy(\.carriesEveryObject) }

        init?(of entities: [String], in context: VerificationContext) {
            let found = entities.map { entity in context.step.entityMappings(of: entity).standIns }
            guard found.allSatisfy({ $0.count == 1 }) else { return nil }
            mappings = found.flatMap { $0 }
            let isOne = mappings.allSatisfy { $0.iteration == nil && $0.unique.isEmpty && $0.policy == nil }
            guard isOne else { return nil }
        }

        /// The condition that the object with a key lives on; nil if its heir has another key.
        func lives(in context: VerificationContext) throws -> ((_ key: String) -> String)? {
            if areAll { return { _ in "1" } }
            let tables = try Set(mappings.map { try context.destinationTable(of: $0.destination).name })
            guard let table = tables.first, tables.count == 1, mappings.allSatisfy(\.keepsPrimaryKey) else {
                return nil
            }
            let numbers = try mappings.map { try context.destinationNumber(of: $0.destination) }.sorted()
            let list = numbers.sqlList
            return { key in
                "EXISTS (SELECT 1 FROM destination.\(table) AS h WHERE h.Z_PK = \(key) AND h.Z_ENT IN (\(list)))"
            }
        }

        /// The condition that a row is one of the objects.
        func numbers(_ row: String, in context: VerificationContext) throws -> String {
            let numbers = try mappings.map { try context.sourceNumber(of: $0.source) }.sorted()
            return "\(row).Z_ENT IN (\(numbers.sqlList))"
        }
    }
}

extension SourceLinks.Form {
    /// Nil if the relationship is not stored.
    fileprivate init?(_ key: PropertyKey, of layout: StoreLayout) {
        guard let storage = layout.relationshipStorage[key],
            let relationship = layout.model.relationship(key.property, of: key.entity)
        else { return nil }
        self.init(links: StoredLinks(storage))
        let inverse = layout.model.inverseKey(of: relationship)
        switch storage {
        case .foreignKey:
            guard let inverse, let back = layout.relationshipStorage[inverse] else { break }
            // A one-to-one that is its own inverse stores a pair in two rows of one column.
            if inverse == key {
                isReflexive = true
            } else if case .foreignKey = back {
                other = StoredLinks(back).reversed
            }
        case .join(let table, _, _, _, _):
            isReflexive = layout.joinTables.first { $0.name == table }?.isReflexive ?? false
        case .inverseForeignKey, .inverseless: break
        }
    }

    var reversed: Self { Self(links: links.reversed, other: other?.reversed, isReflexive: isReflexive) }

    /// The condition that the other side of a one-to-one has the key, too; the rows are those of an owner and a member.
    func agreement(of owner: String, with member: String) -> String? {
        other.map { other in
            other.areInRowsOfA ? "\(owner).\(other.b) = \(member).Z_PK" : "\(member).\(other.a) = \(owner).Z_PK"
        }
    }

    fileprivate func isSame(as form: Self) -> Bool {
        let columns = [links.table, links.a, links.b]
        return [form.links, form.other].contains { $0.map { [$0.table, $0.a, $0.b] == columns } == true }
    }
}

/// The rules of a step by the relationships that they read and fill.
private struct LinkRules {
    let mappings: [String: [ResolvedEntityMapping]]
    /// The relationships of the destination into which rules carry all links of one of the source.
    private(set) var targets: [PropertyKey: [PropertyKey]] = [:]
    /// Of these, those that also get links of objects for which another entity mapping stands in.
    private var partial: Set<[PropertyKey]> = []
    /// The relationships of the source whose links each of the destination gets; nil for those of an expression.
    private var fillers: [PropertyKey: Set<PropertyKey?>] = [:]
    /// The names in rules and elements that may carry links in other ways: several relationships into one, or objects.
    ///
    /// A value that reads a relationship does not carry its links.
    private(set) var read: Set<String> = []

    init(in context: VerificationContext) {
        mappings = context.step.mappingsOfSource
        for mapping in context.step.entityMappings {
            for rule in mapping.relationships where !rule.mappings.isEmpty { add(rule, of: mapping, in: context) }
            if let iteration = mapping.iteration { addNames(in: iteration.elements) }
        }
    }

    private mutating func add(
        _ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping, in context: VerificationContext
    ) {
        guard let target = context.destinationModel.key(of: rule.name, in: mapping.destination) else { return }
        guard let source = rule.sourceRelationship.flatMap({ context.sourceModel.key(of: $0, in: mapping.source) }),
            context.sourceModel.relationship(source.property, of: source.entity) != nil
        else {
            fillers[target, default: []].insert(nil)
            return addNames(in: rule.from)
        }
        if mappings[mapping.source]?.standIns.contains(where: { $0.position == mapping.position }) != true {
            partial.insert([source, target])
        }
        fillers[target, default: []].insert(source)
        if targets[source]?.contains(target) != true { targets[source, default: []].append(target) }
    }

    func carriesParts(_ source: PropertyKey, to target: PropertyKey) -> Bool { partial.contains([source, target]) }

    private mutating func addNames(in expression: Expression) {
        if case .keyPath(_, let steps) = expression {
            for case .key(let key) in steps { read.insert(key) }
        }
        for part in expression.parts { addNames(in: part) }
    }

    /// What fills a relationship of the destination or its inverse, which are stored once.
    func fillers(of target: PropertyKey, in model: ManagedObjectModel) -> Set<PropertyKey?> {
        let inverse = model.relationship(target.property, of: target.entity).flatMap(model.inverseKey)
        return (fillers[target] ?? []).union(inverse.flatMap { fillers[$0] } ?? [])
    }
}

extension [ResolvedEntityMapping] {
    /// Those that stand in for an object of their entity: beside an entity mapping that carries the object, one with
    /// elements or with `unique` reads it for a part of it.
    var standIns: [ResolvedEntityMapping] {
        let carriers = filter { $0.iteration == nil && $0.unique.isEmpty }
        return carriers.isEmpty ? self : carriers
    }
}

extension ResolvedEntityMapping {
    /// Whether each object of the entity becomes one object of its own.
    var carriesEveryObject: Bool { readsEveryObject && unique.isEmpty && policy == nil }
}
