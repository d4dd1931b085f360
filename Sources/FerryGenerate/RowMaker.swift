internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

struct RowMaker {
    private let table: EntityTable
    private let number: Int64
    private let keys: Range<Int64>
    private let attributes: [AttributeMaker]
    private let foreignKeys: [ForeignKeyMaker]
    private let inverseless: [InverselessMaker]
    private let seed: UInt64
    private let stream: UInt64

    init(
        _ entity: String, table: EntityTable, in layout: StoreLayout, ranges: KeyRanges, options: GenerationOptions
    ) throws(FerryError) {
        self.table = table
        number = layout.entityNumbers[entity] ?? 0
        keys = ranges.own[entity] ?? 1..<1
        seed = options.seed
        stream = entity.stream
        let unique = try UniqueProperties(of: entity, in: layout, ranges: ranges).divisors
        attributes = layout.attributeColumns(of: entity).compactMap { key, column in
            // Derived columns are computed after all rows are inserted.
            layout.attribute(key).flatMap {
                $0.isDerived
                    ? nil
                    : AttributeMaker(key, $0, column: column, divisor: unique[key.property], options: options)
            }
        }
        foreignKeys = layout.relationshipStorage(of: entity).compactMap {
            ForeignKeyMaker(
                $0.key, in: layout, ranges: ranges, options: options, divisor: unique[$0.key.property])
        }
        inverseless = layout.relationshipStorage.inOrder { $0.key < $1.key }.compactMap {
            InverselessMaker($0.key, $0.value, endingIn: entity, layout: layout, ranges: ranges, options: options)
        }
    }

    /// Inserts all rows; `written` gets the number of inserted rows.
    func write(to connection: Connection, files: inout ExternalFileMaker, written: (Int64) -> Void) throws {
        guard !keys.isEmpty else { return }
        let insert = try connection.prepare(sql)
        var buffer = TextBuffer()
        var parameter = 3
        func bind(_ value: Int64?) throws {
            if let value { try insert.bind(value, at: parameter) } else { try insert.bindNull(at: parameter) }
            parameter += 1
        }
        for key in keys {
            var random = SeededRandom(seed: seed, stream, key)
            try insert.bind(key, at: 1)
            try insert.bind(number, at: 2)
            parameter = 3
            for maker in attributes {
                try maker.bind(
                    to: insert, at: parameter, key: key, random: &random, buffer: &buffer, files: &files)
                parameter += 1
            }
            for maker in foreignKeys {
                let target = maker.target(of: key, random: &random)
                try bind(target?.key)
                if maker.entityColumn != nil { try bind(target?.number) }
                if maker.orderColumn != nil { try bind(target?.orderKey) }
            }
            for maker in inverseless {
                try insert.bind(maker.value(of: key, &random), at: parameter)
                parameter += 1
            }
            try insert.run()
            written(1)
        }
    }

    private var sql: String {
        var columns = ["Z_PK", "Z_ENT"] + attributes.map(\.column)
        for maker in foreignKeys {
            columns += [maker.column, maker.entityColumn, maker.orderColumn].compactMap { $0 }
        }
        columns += inverseless.map(\.column)
        // Core Data writes 1 to Z_OPT of a new row.
        let values = columns.map { _ in "?" } + ["1"]
        let names = (columns + ["Z_OPT"]).joined(separator: ", ")
        return "INSERT INTO \(table.name) (\(names)) VALUES (\(values.joined(separator: ", ")))"
    }
}

/// The properties of an entity that must differ from row to row to meet the uniqueness constraints.
///
/// One attribute with enough values for all rows meets a constraint; else several properties together count the rows,
/// like the digits of a number.
struct UniqueProperties {
    /// Properties and the divisors of the row's key: the quotient selects the property's value.
    private(set) var divisors: [String: Int64] = [:]
    private let entity: String
    private let layout: StoreLayout
    private let ranges: KeyRanges

    /// - Throws: `unsupported` if the properties of a constraint have fewer values than the table has keys.
    init(of entity: String, in layout: StoreLayout, ranges: KeyRanges) throws(FerryError) {
        self.entity = entity
        self.layout = layout
        self.ranges = ranges
        let model = layout.model
        let highestKey = ranges.maximumKeys[model.root(of: entity)] ?? 0
        // A constraint's index spans the table, so the constraint binds the rows of all entities with its properties.
        for member in layout.entities(inTableOf: model.root(of: entity)) {
            for constraint in model.entities[member]?.uniquenessConstraints ?? [] {
                try settle(constraint, of: member, highestKey: highestKey)
            }
        }
    }

    private mutating func settle(
        _ constraint: [String], of member: String, highestKey: Int64
    ) throws(FerryError) {
        let room = constraint.map { (name: $0, values: capacity(of: $0, in: member)) }
        // A property that counts the rows for another constraint meets this constraint, too.
        if room.contains(where: { divisors[$0.name] == 1 && $0.values >= highestKey }) { return }
        if let one = room.filter({ divisors[$0.name] == nil }).max(by: { $0.values < $1.values }),
            one.values >= highestKey
        {
            if isOfEntity(one.name, in: member) { divisors[one.name] = 1 }
            return
        }
        // The last digit may be a property that another constraint uses already.
        var product = room.filter { divisors[$0.name] == 1 }.map(\.values).max() ?? 1
        var digits: [String: Int64] = [:]
        for (name, values) in room.inOrder(by: { ($1.values, $0.name) < ($0.values, $1.name) })
        where divisors[name] == nil && values > 1 && product < highestKey {
            digits[name] = product
            product = product.multipliedReportingOverflow(by: values).overflow ? .max : product * values
        }
        guard product >= highestKey else {
            throw FerryError(
                .unsupported,
                "\(highestKey) rows of \(member) cannot all differ in \(constraint.joined(separator: ", ")).",
                remedy: "Generate fewer rows of this entity, or more of those it refers to.",
                place: .init(entity: member))
        }
        for (name, divisor) in digits where isOfEntity(name, in: member) { divisors[name] = divisor }
    }

    private func isOfEntity(_ property: String, in member: String) -> Bool {
        layout.model.declaringEntity(of: property, in: member).map { layout.model.isKind(entity, of: $0) } ?? false
    }

    /// The number of different values that the generator can make.
    private func capacity(of property: String, in member: String) -> Int64 {
        if let attribute = layout.model.attribute(property, of: member) {
            return attribute.isDerived || attribute.isTransient ? 0 : ValueRange(attribute).capacity
        }
        guard let relationship = layout.model.relationship(property, of: member),
            case .foreignKey? = layout.storage(of: property, in: member)
        else { return 0 }
        // Each object of a one-to-one relationship has a different partner, or none.
        if layout.model.inverse(of: relationship)?.isToMany == false { return .max }
        let count = ranges.families[relationship.destinationEntity]?.count ?? 0
        // NULL is distinct in a constraint, so an optional relationship has room for all rows.
        return relationship.isOptional && layout.isUnique(PropertyKey(member, property)) ? .max : count
    }
}
