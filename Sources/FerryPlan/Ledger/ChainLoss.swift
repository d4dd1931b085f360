internal import FerryBase
package import FerryExpression
package import FerryMapping
package import FerryModel

/// A line of the ledger: a stored property, or the objects of an entity, that the migration does not keep.
package struct ChainLoss: Sendable {
    package enum Cause: Sendable, Hashable {
        /// The destination version of the step lacks it.
        case removed
        /// No entity mapping carries the entity's objects.
        case noEntityMapping
        /// An entity mapping says that the objects are removed.
        case removedByMapping
        /// No entity mapping carries the property; these read it.
        case notCarried(readBy: [String])
        /// Only the code of this policy could carry the property.
        case leftToPolicy(String)
        /// Filters of these entity mappings leave out objects, or iterations create no object for some of them.
        case filtered(by: [String])
        /// Only these entity mappings carry the property, and not from every object.
        case carriedInPart(by: [String])
        /// The new type does not hold every value of the old one.
        case narrowed(to: AttributeType)
        /// Objects with equal values become one, which keeps the first values.
        case merged(Merging)
        /// The new relationship keeps one of several links.
        case relatedToOne
        /// Another rule fills the inverse, and thereby the relationship.
        case overruled(by: String)
        /// Later rules of these mappings fill the inverse, and thereby the relationship of some objects.
        case contested(inverse: String, winners: [String])
        /// A relationship that keeps one link gets those of several relationships.
        case shared(with: [String])
        /// The new relationship keeps the links without an order.
        case unordered
        /// The links stay, but row order decides their positions.
        case orderedAnew
        /// The damaged object or link is left out at the caller's request; the value describes the damage.
        case damaged(String)
        /// The attribute cannot take the value, and `onInvalid` leaves it empty; the value names the attribute and its type.
        case unfit(String)
        /// The parts of persistent history that number the properties of the named entity, which are others now.
        case history(String)
        /// The new table or column has the name of one with rows, which no model explains; the value is that name.
        case inTheWay(String)
    }

    package enum Count: Sendable, Hashable {
        case exactly(Int64)
        /// From an estimated number of rows.
        case about(Int64)
        /// All that can be concerned; only the run, or a longer count, tells how many are lost.
        case atMost(Int64)

        package var number: Int64 {
            switch self {
            case .exactly(let number), .about(let number), .atMost(let number): number
            }
        }

        package var isEstimated: Bool { if case .exactly = self { false } else { true } }
        package var isUpperBound: Bool { if case .atMost = self { true } else { false } }
    }

    /// The entity that declares the property, if all of its subentities lose it.
    package var entity: String
    /// Nil if the objects themselves are lost.
    package var property: String?
    package var entities: [String]
    /// The destination version of the losing step.
    package var version: String
    /// The place of the losing step in the chain, from 1.
    package var step: Int
    /// The place of the pass over the rows with that step: composed steps share one.
    package var pass: Int
    package var cause: Cause
    package var count: Count
    package var objects = Objects()
    /// Whether some of those that the rows show may live on.
    package var isBound = false
    /// Whether more than those that the rows show may be lost, because objects at the other ends of links merge, too.
    package var isOpen = false

    package init(
        entity: String, property: String?, entities: [String], version: String, step: Int, cause: Cause,
        count: Count = .atMost(.max)
    ) {
        self.entity = entity
        self.property = property
        self.entities = entities
        self.version = version
        self.step = step
        pass = step
        self.cause = cause
        self.count = count
    }

    package var name: String { property.map { "\(entity).\($0)" } ?? entity }

    package var isByFilter: Bool { if case .filtered = cause { true } else { false } }
    package var isOfOrder: Bool { cause == .unordered || cause == .orderedAnew }
    package var merging: Merging? { if case .merged(let merging) = cause { merging } else { nil } }

    /// Whether every value of the property is lost, or every object.
    package var isWhole: Bool {
        switch cause {
        case .removed, .noEntityMapping, .removedByMapping, .notCarried: true
        default: false
        }
    }

    package var because: String {
        switch cause {
        case .removed: return "\(version) does not have it"
        case .noEntityMapping: return "no entity mapping to \(version) maps \(entity)"
        case .removedByMapping: return "a mapping model to \(version) removes \(entity)"
        case .notCarried(let readers):
            let reads = readers.isEmpty ? "" : "; \(readers.words) only read\(readers.count == 1 ? "s" : "") it"
            return "no entity mapping to \(version) carries it\(reads)"
        case .leftToPolicy(let policy): return "only the code of \(policy) could carry it to \(version)"
        case .filtered: return "some objects do not meet the filters of the entity mappings to \(version)"
        case .carriedInPart([]):
            return "\(version) keeps "
                + (property == nil ? "some of the objects only" : "the values of some objects only")
        case .carriedInPart(let mappings):
            return "only \(mappings.words) carr\(mappings.count == 1 ? "ies" : "y") it, and not from every object"
        case .narrowed(let type): return "\(version) stores it as \(type)"
        case .merged(let merging):
            return "objects with equal \(merging.mapping.unique.joined(separator: ", ")) become one in \(version), "
                + "which keeps \(merging.mapping.keptObject)"
        case .relatedToOne: return "\(version) keeps only one related object"
        case .overruled(let inverse): return "\(version) fills it from its inverse \(inverse), which had other objects"
        case .contested(let inverse, let winners):
            return "\(version) fills it from its inverse \(inverse) where "
                + "\(winners.joined(separator: " or ")) relates the object"
        case .shared(let others): return "\(version) keeps one link of it and of \(others.words)"
        case .unordered: return "\(version) does not order it"
        case .orderedAnew: return "the entity mappings to \(version) recreate its order"
        case .damaged(let what): return "damage: \(what)"
        case .unfit(let attribute): return "not a value of \(attribute)"
        case .history(let entity):
            return "the history numbers the properties of \(entity), which differ in \(version), in an unknown order"
        case .inTheWay(let name): return "\(name) is left over from another migration, and is empty in \(version)"
        }
    }

    /// The count in words: `4 values`, `about 7 objects`, `at most 9 values`.
    package var amount: String {
        let one = property == nil || isOfOrder ? "object" : "value"
        switch count {
        case .exactly(let number): return number.counting(one)
        case .about(let number): return "about " + number.counting(one)
        case .atMost(let number): return "at most " + number.counting(one)
        }
    }

    package var sentence: String {
        "\(isOfOrder ? "The order of " : "")\(name) is lost, \(isOfOrder ? "of " : "")\(amount): \(because)."
    }
}

extension ChainLoss {
    /// How an entity mapping reads objects: its source objects, its elements, or those at the end of a path from them.
    package struct Reading: Sendable, Hashable {
        package var mapping: ResolvedEntityMapping
        package var path: [String] = []
        package var isOfElement = false
        /// Further conditions, beside the mapping's filter.
        package var conditions: [Predicate] = []

        package init(_ mapping: ResolvedEntityMapping, path: [String] = [], isOfElement: Bool = false) {
            (self.mapping, self.path, self.isOfElement) = (mapping, path, isOfElement)
        }
    }

    /// The source objects that lose a property, by the entity mappings that read them.
    package struct Objects: Sendable, Hashable {
        /// Only objects that one of these reads; without any, all.
        package var of: [Reading] = []
        /// No object that one of these reads.
        package var except: [Reading] = []
        /// Of a relationship, the links that no rule carries.
        package var links: Links?

        init(of: [ResolvedEntityMapping] = [], except: [Reading] = []) {
            self.of = of.contains(where: \.readsEveryObject) ? [] : of.map { Reading($0) }
            self.except = except
        }
    }

    package struct Links: Sendable, Hashable {
        /// Only links to objects that one of these reads; without any, to all.
        package var ends: [Reading] = []
        /// No link between objects that one of these reads.
        package var except: [Pair] = []

        package struct Pair: Sendable, Hashable {
            package var owner: Reading
            package var end: Reading
        }
    }

    /// How objects with equal values become one.
    package struct Merging: Sendable, Hashable {
        package var mapping: ResolvedEntityMapping
        /// The attributes of the source entity whose values are equal; nil if only the run knows which objects merge.
        package var sources: [String]?
        /// Whether the merged objects are those that have the property.
        package var isOwn: Bool
    }
}

extension [String] {
    /// `a`, `a and b`, `a, b and c`.
    fileprivate var words: String {
        guard count > 1, let last else { return joined() }
        return dropLast().joined(separator: ", ") + " and " + last
    }
}
