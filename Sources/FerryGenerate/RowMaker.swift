internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Writes the rows of one entity.
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
            // Derived columns are computed at the end, over the rows.
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
        inverseless = layout.relationshipStorage.sorted { $0.key < $1.key }.compactMap {
            InverselessMaker($0.key, $0.value, endingIn: entity, layout: layout, ranges: ranges, options: options)
        }
    }

    func write(
        to connection: Connection, files: inout ExternalFileMaker, written: (Int64) throws -> Void
    ) throws {
        guard !keys.isEmpty else { return }
        let insert = try connection.prepare(sql)
        var buffer = TextBuffer()
        var pending: Int64 = 0
        for key in keys {
            var random = SeededRandom(seed: seed, stream, key)
            try insert.bind(key, at: 1)
            try insert.bind(number, at: 2)
            var parameter = 3
            for maker in attributes {
                try maker.bind(
                    to: insert, at: parameter, key: key, random: &random, buffer: &buffer, files: &files)
                parameter += 1
            }
            for maker in foreignKeys { try bind(maker, key, insert, &parameter, &random) }
            for maker in inverseless {
                try insert.bind(maker.value(of: key, &random), at: parameter)
                parameter += 1
            }
            try insert.run()
            pending += 1
            if pending == 10_000 {
                try written(pending)
                pending = 0
            }
        }
        try written(pending)
    }

    private var sql: String {
        var columns = ["Z_PK", "Z_ENT"] + attributes.map(\.column)
        for maker in foreignKeys {
            columns += [maker.column, maker.entityColumn, maker.orderColumn].compactMap { $0 }
        }
        columns += inverseless.map(\.column)
        // A new object's version is 1.
        let values = columns.map { _ in "?" } + ["1"]
        let names = (columns + ["Z_OPT"]).joined(separator: ", ")
        return "INSERT INTO \(table.name) (\(names)) VALUES (\(values.joined(separator: ", ")))"
    }

    private func bind(
        _ maker: ForeignKeyMaker, _ key: Int64, _ insert: Statement, _ parameter: inout Int,
        _ random: inout SeededRandom
    ) throws {
        let target = maker.target(of: key, random: &random)
        try bind(target?.key, insert, &parameter)
        if maker.entityColumn != nil { try bind(target?.number, insert, &parameter) }
        if maker.orderColumn != nil { try bind(target?.orderKey, insert, &parameter) }
    }

    private func bind(_ value: Int64?, _ insert: Statement, _ parameter: inout Int) throws {
        if let value { try insert.bind(value, at: parameter) } else { try insert.bindNull(at: parameter) }
        parameter += 1
    }
}
