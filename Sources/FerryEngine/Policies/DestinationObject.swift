internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// An object of the new store, as a policy makes and changes it.
///
/// What is set is written with the chunk at work. Nothing is kept of it afterwards, so that any number of objects may be
/// made.
public final class DestinationObject {
    let manager: MigrationManager
    let writer: EntityWriter
    /// Its `Z_PK`.
    public let primaryKey: Int64
    public var entityName: String { writer.entity }

    /// Values that are not written yet, by column places.
    var changes: [Int: Value] = [:]
    /// What is still to be inserted.
    var insertion: Insertion?

    /// How a new object comes to the values that were not set.
    struct Insertion {
        var version: Value
        /// The row of the source whose values it takes over; nil for the model's defaults.
        var row: SourceRow?
    }

    init(_ writer: EntityWriter, key: Int64, insertion: Insertion? = nil, _ manager: MigrationManager) {
        self.writer = writer
        primaryKey = key
        self.insertion = insertion
        self.manager = manager
    }

    /// The value of an attribute.
    public func value(forKey key: String) throws -> MigrationValue {
        let (attribute, place) = try writer.attribute(key)
        let stored = try stored(at: place)
        if attribute.allowsExternalStorage, case .blob(let bytes) = stored {
            return MigrationValue(raw: try manager.contents(ofExternal: bytes))
        }
        return MigrationValue(stored, of: attribute)
    }

    public func string(forKey key: String) throws -> String? { try value(forKey: key).string }
    public func integer(forKey key: String) throws -> Int64? { try value(forKey: key).integer }
    public func double(forKey key: String) throws -> Double? { try value(forKey: key).double }
    public func boolean(forKey key: String) throws -> Bool? { try value(forKey: key).boolean }

    /// Sets the value of an attribute.
    ///
    /// - Throws: ``FerryError`` when there is no such attribute, or when its type cannot hold the value.
    public func setValue(_ value: MigrationValue, forKey key: String) throws {
        let (attribute, place) = try writer.attribute(key)
        manager.mark("\(entityName).\(attribute.name)")
        set(try value.stored(in: attribute), at: place)
    }

    func set(_ value: Value, at place: Int) {
        changes[place] = value
        manager.touch(self)
    }

    private func stored(at place: Int) throws -> Value {
        if let changed = changes[place] { return changed }
        if let insertion {
            return try insertion.row?.value(at: place) ?? (insertion.row == nil ? writer.defaults[place] : nil) ?? .null
        }
        let statement = try manager.cached("SELECT \(writer.columns[place]) FROM main.\(writer.table) WHERE Z_PK = ?1")
        try statement.bind(primaryKey, at: 1)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    /// Writes what was set.
    func write() throws {
        if let insertion {
            try writer.insert(key: primaryKey, version: insertion.version) { place, statement, index in
                if let value = changes[place] {
                    try statement.bind(value, at: index)
                    return true
                }
                if let row = insertion.row { return try row.bind(place, to: statement, at: index) }
                guard let value = writer.defaults[place] else { return false }
                try statement.bind(value, at: index)
                return true
            }
            self.insertion = nil
        } else if !changes.isEmpty {
            let places = changes.keys.sorted()
            let assignments = places.enumerated().map { "\(writer.columns[$1]) = ?\($0 + 2)" }
            let update = try manager.cached(
                "UPDATE main.\(writer.table) SET \(assignments.joined(separator: ", ")) WHERE Z_PK = ?1")
            try update.bind(primaryKey, at: 1)
            for (index, place) in places.enumerated() { try update.bind(changes[place] ?? .null, at: index + 2) }
            try update.run()
        }
        changes.removeAll(keepingCapacity: true)
    }
}

/// The current row of a policy's mapping, as the default policy turns it into an object.
final class SourceRow {
    let values: PackedValues
    /// Column place of the destination to its value.
    private let columns: [Int: RowValue]

    init(_ plan: RowPlan, for writer: EntityWriter) {
        values = PackedValues()
        columns = Dictionary(
            plan.columns.compactMap { column in writer.places[column.name].map { ($0, column.value) } },
            uniquingKeysWith: { first, _ in first })
    }

    func value(at place: Int) throws -> Value? {
        switch columns[place] {
        case nil: nil
        case .column(let cell): values.row.value(cell)
        case .constant(let value): value
        case .evaluated(let evaluator): Value(try evaluator.value(in: values))
        }
    }

    /// Binds the value of a column; an untouched one passes as SQLite has it.
    func bind(_ place: Int, to statement: Statement, at index: Int) throws -> Bool {
        switch columns[place] {
        case nil: return false
        case .column(let cell): try statement.bind(borrowing: cell, of: values.row, at: index)
        case .constant(let value): try statement.bind(value, at: index)
        case .evaluated(let evaluator): try statement.bind(try evaluator.value(in: values), at: index)
        }
        return true
    }
}
