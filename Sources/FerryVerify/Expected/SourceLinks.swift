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
    let form: LinkForm
    /// The entities at both ends that have objects.
    let owners: [String]
    let members: [String]
    /// The relationships of the destination into which rules carry the links, seen from the owners, too.
    private(set) var targets: [LinkForm] = []
    /// Whether rules of other relationships fill the targets, or of entity mappings that do not stand in for an object.
    private(set) var isMixed = false
    /// Whether an expression or a policy decides which links there are: then no link of the source has an heir as such.
    private(set) var isComputed = false
    /// The number of its links that the migration says it loses; nil if it says so without a number.
    private(set) var told: Int64? = 0

    /// The relationships of the source, in name order; none if it is not known which losses were told.
    static func all(in context: VerificationContext) throws -> [SourceLinks] {
        if context.verification.told == nil { return [] }
        let rules = LinkRules(in: context)
        return LinkForm.all(of: context.source).map { form in
            var links = SourceLinks(form, in: context.sourceModel)
            links.addTargets(of: rules, in: context)
            links.addTold(in: context)
            return links
        }
    }

    private init(_ form: LinkForm, in model: ManagedObjectModel) {
        let member = model.relationship(form.key.property, of: form.key.entity)?.destinationEntity
        self.form = form
        owners = Self.concrete(form.key.entity, model)
        members = member.map { Self.concrete($0, model) } ?? []
    }

    private static func concrete(_ entity: String, _ model: ManagedObjectModel) -> [String] {
        model.family(of: entity).filter { model.entities[$0]?.isAbstract == false }
    }

    var key: PropertyKey { form.key }
    var ends: Set<String> { Set(owners + members) }

    // MARK: Rules

    private mutating func addTargets(of rules: LinkRules, in context: VerificationContext) {
        func isDecidedByPolicy(_ mapping: ResolvedEntityMapping) -> Bool {
            mapping.policy != nil && !context.verification.policies.implied.contains(mapping.position)
        }
        isComputed = ends.contains { context.step.entityMappings(of: $0).contains(where: isDecidedByPolicy) }
        for (name, isBackward) in [(key, false)] + (form.inverse.map { $0 == key ? [] : [($0, true)] } ?? []) {
            for target in rules.targets[name] ?? [] {
                guard let stored = rules.forms[target] else { continue }
                let fillers = rules.fillers[stored.key] ?? []
                if fillers.contains(nil) || context.verification.policies.isTouched(target.property, of: target.entity)
                {
                    isComputed = true
                }
                if fillers.contains(where: { $0 != nil && $0 != key && $0 != form.inverse }) { isMixed = true }
                if rules.carriesParts(name, to: target) { isMixed = true }
                let seen = isBackward ? stored.reversed : stored
                // Rules of both sides of one relationship carry the same links.
                if !targets.contains(seen) { targets.append(seen) }
            }
        }
        if targets.isEmpty {
            isComputed =
                isComputed || [key.property, form.inverse?.property].contains { $0.map(rules.read.contains) == true }
        }
    }

    private mutating func addTold(in context: VerificationContext) {
        let names = [key] + (form.inverse.map { [$0] } ?? [])
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
}

/// The rules of a step by the relationships that they read and fill.
private struct LinkRules {
    /// How the destination stores each of its relationships, seen from the entity that declares it.
    let forms: [PropertyKey: LinkForm]
    /// The relationships of the destination into which rules carry all links of one of the source.
    private(set) var targets: [PropertyKey: [PropertyKey]] = [:]
    /// Of these, those that also get links of objects for which another entity mapping stands in.
    private var partial: Set<[PropertyKey]> = []
    /// The relationships of the source whose links each form of the destination gets; nil for those of an expression.
    private(set) var fillers: [PropertyKey: Set<PropertyKey?>] = [:]
    /// The names in rules and elements that may carry links in other ways: several relationships into one, or objects.
    ///
    /// A value that reads a relationship does not carry its links.
    private(set) var read: Set<String> = []

    init(in context: VerificationContext) {
        forms = LinkForm.byKey(of: context.destination)
        for mapping in context.step.entityMappings {
            for rule in mapping.relationships where !rule.mappings.isEmpty { add(rule, of: mapping, in: context) }
            if let iteration = mapping.iteration { addNames(in: iteration.elements) }
        }
    }

    private mutating func add(
        _ rule: ResolvedRelationship, of mapping: ResolvedEntityMapping, in context: VerificationContext
    ) {
        guard let target = context.destinationModel.key(of: rule.name, in: mapping.destination),
            let form = forms[target]
        else { return }
        guard let source = rule.sourceRelationship.flatMap({ context.sourceModel.key(of: $0, in: mapping.source) }),
            context.sourceModel.relationship(source.property, of: source.entity) != nil
        else {
            fillers[form.key, default: []].insert(nil)
            return addNames(in: rule.from)
        }
        if !context.step.entityMappings(of: mapping.source).standIns.contains(where: { $0 === mapping }) {
            partial.insert([source, target])
        }
        fillers[form.key, default: []].insert(source)
        if targets[source]?.contains(target) != true { targets[source, default: []].append(target) }
    }

    func carriesParts(_ source: PropertyKey, to target: PropertyKey) -> Bool { partial.contains([source, target]) }

    private mutating func addNames(in expression: Expression) {
        if case .keyPath(_, let steps) = expression {
            for case .key(let key) in steps { read.insert(key) }
        }
        for part in expression.parts { addNames(in: part) }
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
