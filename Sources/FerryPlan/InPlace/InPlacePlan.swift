package import FerryBase
package import FerryMapping
package import FerryModel
package import FerryStore

/// The statements that turn a store into the next version within itself, in order.
///
/// Does no I/O: given the names that the store has and those that the new version wants, the same statements follow.
/// Metadata and the cached model are not among them: the engine writes them before ``closing``.
package struct InPlacePlan: Sendable {
    /// Everything up to the indexes of the new version.
    package internal(set) var statements: [InPlaceStatement] = []
    /// Triggers and the app's views and triggers, when nothing is written any more.
    package internal(set) var closing: [InPlaceStatement] = []
    /// Tables of the new version whose rows were written, as they are called then.
    package internal(set) var touched: Set<String> = []
    /// Tables of the new version to those of the store that they continue.
    package internal(set) var continued: [String: String] = [:]
    /// Tables of the store that stay as they are but for their columns, to what they are called then.
    package internal(set) var altered: [String: String] = [:]

    /// - Parameters:
    ///   - step: A step whose mappings were inferred.
    ///   - source: The store's actual layout.
    ///   - schema: What else stands in it.
    ///   - destination: The layout of a new store of the destination version.
    ///   - shape: What the step must leave of the schema; nil for what altering and the new version's layout give.
    /// - Throws: ``InPlaceObstacle``.
    package init(
        _ step: ResolvedStep, source: StoreLayout, schema: InPlaceSchema, destination: StoreLayout,
        shape: InPlaceShape? = nil
    ) throws(InPlaceObstacle) {
        try Self.check(step)
        var builder = InPlaceBuilder(step, source: source, schema: schema, destination: destination, shape: shape)
        try builder.build()
        self = builder.plan
    }

    init() {}

    /// Makes what ANALYZE once found say what it is to say in the end.
    ///
    /// - Parameter rows: Table, index and numbers.
    package mutating func setStatistics(_ rows: [[String?]]) {
        let reason = "what ANALYZE found, of tables and indexes that were not made anew"
        statements.append(InPlaceStatement("DELETE FROM sqlite_stat1", writesObjects: false, reason: reason))
        for row in rows {
            var values = InPlaceValues()
            let texts = row.map { text in text.map { values.add(.text($0)) } ?? "NULL" }
            statements.append(
                InPlaceStatement(
                    "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (\(texts.joined(separator: ", ")))",
                    values: values, writesObjects: false, reason: reason))
        }
    }

    /// Whether a step's mappings are of the kind that rows can keep their places under.
    private static func check(_ step: ResolvedStep) throws(InPlaceObstacle) {
        var sources: Set<String> = []
        for mapping in step.entityMappings {
            guard mapping.filter == nil, mapping.iteration == nil, mapping.unique.isEmpty else {
                throw .needsCopy("entity mapping \(mapping.name) chooses, multiplies or merges objects")
            }
            guard mapping.keepsPrimaryKey else {
                throw .needsCopy("the objects of entity mapping \(mapping.name) get new keys")
            }
            guard sources.insert(mapping.source).inserted else {
                throw .needsCopy("\(mapping.source) is the source of several entity mappings")
            }
        }
    }
}

/// One statement of a migration in place, with the values that it binds and why it is there.
package struct InPlaceStatement: Sendable, Hashable {
    package var sql: String
    /// Named parameters, as `:v0`.
    package var values: [InPlaceValues.Named]
    package var reason: String
    /// The entity of the new version all of whose rows, and no other row, the statement writes.
    ///
    /// It does not number them anew, and they alone belong into their table. So the rows that it changes need not be
    /// counted again.
    package internal(set) var countedEntity: String?
    /// What an ALTER TABLE is about; nil for every other statement.
    package var alteration: Alteration?

    /// Whether it only writes objects and links: neither the schema nor what is as small as that.
    package let writesObjects: Bool

    package struct Alteration: Sendable, Hashable {
        package var table: String
        /// The table's name afterwards.
        package var newName: String
    }

    init(
        _ sql: String, values: InPlaceValues = InPlaceValues(), writesObjects: Bool, reason: String,
        alteration: Alteration? = nil
    ) {
        self.sql = sql
        self.writesObjects = writesObjects
        self.values = values.named
        self.reason = reason
        self.alteration = alteration
    }
}

/// The values that a statement is bound to: values of a model never stand in SQL text, only entity numbers do.
package struct InPlaceValues: Sendable, Hashable {
    package struct Named: Sendable, Hashable {
        package var name: String
        package var value: DefaultValue
    }

    private(set) var named: [Named] = []

    mutating func addNamed(_ name: String, _ value: DefaultValue) { named.append(Named(name: name, value: value)) }

    /// Adds a value and returns the parameter that stands for it.
    mutating func add(_ value: DefaultValue) -> String {
        if let known = named.first(where: { $0.value == value }) { return known.name }
        let name = ":v\(named.count)"
        named.append(Named(name: name, value: value))
        return name
    }
}

/// Why a step cannot be taken in place.
package enum InPlaceObstacle: Error, Sendable {
    /// A copy can do it; in words that follow "because".
    case needsCopy(String)
    /// Nothing can: the store holds what would lose its meaning.
    case refused(FerryError)
}
