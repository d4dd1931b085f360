internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The stored relations and how each is compared, found once for all walkers: for each of N entities, a search through
/// all mappings would take the square of N steps.
struct RelationForms: Sendable {
    enum Form: Sendable {
        case carried(CarriedRelation)
        /// Only rules of their own objects fill the keys, with objects that keep their keys.
        case ruled
        case made(MadeLinks)
        case other
    }

    /// A relation with the number of its tables.
    struct Known: Sendable {
        let number: Int
        let relation: StoredRelation
        let form: Form
    }

    let relations: [Known]
    /// The foreign keys to compare with the rows of a destination table.
    let keys: [String: [Known]]
    /// The links of new objects by the position of their mapping.
    let made: [Int: [MadeLinks]]
    /// The mappings whose associations the comparison of relationships needs.
    let associated: Set<Int>

    init(in context: VerificationContext) throws {
        let sources = LinkForm.byKey(of: context.source)
        relations = try StoredRelation.all(in: context).enumerated().map { number, relation in
            Known(number: number, relation: relation, form: try Form(relation, of: sources, in: context))
        }
        var keys: [String: [Known]] = [:]
        var made: [Int: [MadeLinks]] = [:]
        var associated: Set<Int> = []
        for known in relations {
            switch known.form {
            case .carried(let links):
                // Both sides of a one-to-one can be in one table.
                for table in Set(links.keys.map(\.destination.table)) { keys[table, default: []].append(known) }
            case .ruled: keys[known.relation.links.table, default: []].append(known)
            case .made(let links): made[links.mapping, default: []].append(links)
            case .other: associated.formUnion(known.relation.associatedMappings(in: context).map(\.position))
            }
        }
        (self.keys, self.made, self.associated) = (keys, made, associated)
    }
}

extension RelationForms.Form {
    fileprivate init(
        _ relation: StoredRelation, of sources: [PropertyKey: LinkForm], in context: VerificationContext
    ) throws {
        if let links = CarriedRelation(relation, of: sources, in: context) {
            self = .carried(links)
        } else if !context.step.hasPolicies, Self.haveOwnRulesOnly(relation, in: context),
            relation.rules.allSatisfy({ $0.leadsToKeptObjects(in: context) })
        {
            self = .ruled
        } else if let links = try MadeLinks(relation, in: context) {
            self = .made(links)
        } else {
            self = .other
        }
    }

    /// Whether only the rules of their own objects fill the foreign keys of a relation: no rule of the other side, no merged
    /// objects, and a rule for every object that can have a key.
    private static func haveOwnRulesOnly(_ relation: StoredRelation, in context: VerificationContext) -> Bool {
        guard relation.links.areInRowsOfA, relation.form.other == nil,
            relation.rules.allSatisfy({ !$0.isInverse && $0.mapping.unique.isEmpty })
        else { return false }
        return context.mappings(into: context.destinationModel.root(of: relation.key.entity)).allSatisfy { mapping in
            !context.destinationModel.isKind(mapping.destination, of: relation.key.entity)
                || relation.rules.contains { $0.mapping.position == mapping.position }
        }
    }
}
