internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// The stored relations and how each is compared, found once for all walkers: for each of N entities, a search through
/// all mappings would take the square of N steps.
struct RelationForms: Sendable {
    /// Indirect, because the dictionary of forms has many empty places.
    indirect enum Form: Sendable {
        case carried(CarriedRelation)
        /// ``KeysOfRows/ruled(_:)``
        case ruled
        case other
    }

    let relations: [StoredRelation]
    private let forms: [PropertyKey: Form]
    /// The foreign keys to compare with the rows of a destination table.
    private let keys: [String: [KeysOfRows]]
    /// The mappings whose associations the comparison of relationships needs.
    let associated: Set<Int>

    init(in context: VerificationContext) throws {
        relations = try StoredRelation.all(in: context)
        var forms: [PropertyKey: Form] = [:]
        var keys: [String: [KeysOfRows]] = [:]
        var associated: Set<Int> = []
        for relation in relations {
            let form = Form(relation, in: context)
            forms[relation.key] = form
            switch form {
            case .carried(let links):
                // Both sides of a one-to-one can be in one table.
                for table in Set(links.keys.map(\.destination.table)) {
                    keys[table, default: []].append(.carried(links))
                }
            case .ruled: keys[relation.links.table, default: []].append(.ruled(relation))
            case .other: associated.formUnion(relation.associatedMappings(in: context).map(\.position))
            }
        }
        (self.forms, self.keys, self.associated) = (forms, keys, associated)
    }

    func form(of relation: StoredRelation) -> Form { forms[relation.key] ?? .other }

    var carried: [CarriedRelation] {
        relations.compactMap { if case .carried(let links) = form(of: $0) { links } else { nil } }
    }

    func keys(ofTable table: String) -> [KeysOfRows] { keys[table] ?? [] }
}

extension RelationForms.Form {
    fileprivate init(_ relation: StoredRelation, in context: VerificationContext) {
        if let links = CarriedRelation(relation, in: context) {
            self = .carried(links)
        } else if !context.step.hasPolicies, Self.haveOwnRulesOnly(relation, in: context),
            relation.rules.flatMap(\.relationship.mappings).allSatisfy({
                context.mapping(named: $0)?.keepsPrimaryKey ?? false
            })
        {
            self = .ruled
        } else {
            self = .other
        }
    }

    /// Whether only the rules of their own objects fill the foreign keys of a relation: no rule of the other side, no merged
    /// objects, and a rule for every object that can have a key.
    private static func haveOwnRulesOnly(_ relation: StoredRelation, in context: VerificationContext) -> Bool {
        guard relation.isForeignKey, relation.rules.allSatisfy({ !$0.isInverse && $0.mapping.unique.isEmpty }) else {
            return false
        }
        return context.mappings(into: context.destinationModel.root(of: relation.key.entity)).allSatisfy { mapping in
            !context.destinationModel.isKind(mapping.destination, of: relation.key.entity)
                || relation.rules.contains { $0.mapping.position == mapping.position }
        }
    }
}
