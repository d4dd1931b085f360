internal import FerryBase
package import FerryModel

/// Something that the store's rows hold and that nothing holds after the migration.
package struct ChainLoss: Sendable {
    /// Why it goes.
    package enum Cause: Sendable, Hashable {
        /// The version that the step leads to does not have it.
        case removed
        /// No entity mapping carries the entity's objects.
        case noEntityMapping
        /// No entity mapping reads the property.
        case notRead
        /// The filters of the entity mappings let not all objects through, or iterations make none of some.
        case filtered
        /// The new type does not hold every value of the old one.
        case narrowed(to: AttributeType)
        /// It is damaged, and was asked to be left out; what is wrong.
        case damaged(String)
    }

    /// How many objects lose it.
    package enum Count: Sendable, Hashable {
        case exactly(Int64)
        case about(Int64)
        /// At least one.
        case some
        case unknown

        package var number: Int64? {
            switch self {
            case .exactly(let number), .about(let number): number
            case .some, .unknown: nil
            }
        }

        package var isEstimated: Bool { if case .exactly = self { false } else { true } }
    }

    /// The entity that declares the property, where all below it lose it, too.
    package var entity: String
    /// Nil when the objects themselves go.
    package var property: String?
    /// The entities whose rows are counted.
    package var entities: [String]
    /// The version that the losing step leads to.
    package var version: String
    /// The place of that step in the chain, from 1.
    package var step: Int
    package var cause: Cause
    package var count = Count.unknown

    package init(
        entity: String, property: String?, entities: [String], version: String, step: Int, cause: Cause,
        count: Count = .unknown
    ) {
        self.entity = entity
        self.property = property
        self.entities = entities
        self.version = version
        self.step = step
        self.cause = cause
        self.count = count
    }

    package var name: String { property.map { "\(entity).\($0)" } ?? entity }

    package var because: String {
        switch cause {
        case .removed: "\(version) does not have it"
        case .noEntityMapping: "no entity mapping to \(version) carries \(entity)"
        case .notRead: "no entity mapping to \(version) reads it"
        case .filtered: "not all objects pass the entity mappings to \(version)"
        case .narrowed(let type): "\(version) stores it as \(type)"
        case .damaged(let what): "damage: \(what)"
        }
    }

    /// How much it is: `4 values`, `about 7 objects`.
    package var amount: String {
        let one = property == nil ? "object" : "value"
        switch count {
        case .exactly(let number): return number.counting(one)
        case .about(let number): return "about " + number.counting(one)
        case .some: return "some \(one)s"
        case .unknown: return "an unknown number of \(one)s"
        }
    }

    /// The loss as a sentence.
    package var sentence: String { "\(name) is lost, \(amount): \(because)." }
}
