internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerrySQLite

/// An object of the new store, as a policy makes and changes it.
///
/// What is set is written with the chunk at work. Nothing is kept of it afterwards, so that any number of objects may be
/// made.
///
/// It belongs to the thread that writes, and no access to one of its variables lasts while other code runs: so nothing
/// has to watch over that while it runs.
public final class DestinationObject {
    let manager: MigrationManager
    let writer: EntityWriter
    /// Its `Z_PK`.
    @exclusivity(unchecked) public private(set) var primaryKey: Int64
    public var entityName: String { writer.entity }

    /// Values that are not written yet, by column places.
    let changes: ColumnChanges
    /// Whether it is still to be inserted.
    @exclusivity(unchecked) private var isNew = false
    /// The version of a new object.
    @exclusivity(unchecked) private var version = Value.null
    /// The row of the source whose values a new object takes over; nil for the model's defaults.
    @exclusivity(unchecked) private var row: SourceRow?
    /// Whether the manager is to write it.
    @exclusivity(unchecked) var isPending = false

    init(_ writer: EntityWriter, key: Int64, _ manager: MigrationManager) {
        self.writer = writer
        primaryKey = key
        changes = ColumnChanges(columns: writer.columns.count)
        self.manager = manager
    }

    /// Stands for another object, once this one is written and forgotten.
    func stand(for key: Int64) { primaryKey = key }

    /// Stands for a new object: how it comes to the values that are not set.
    func beInserted(version: Value, row: SourceRow?) {
        isNew = true
        self.version = version
        // Mostly the row that it had when it stood for another object.
        if self.row !== row { self.row = row }
    }

    /// The value of an attribute.
    public func value(forKey key: String) throws -> MigrationValue {
        let known = try writer.attribute(key)
        let stored = try stored(at: known.place)
        if known.isExternal, case .blob(let bytes) = stored {
            return MigrationValue(raw: try manager.contents(ofExternal: bytes))
        }
        return MigrationValue(stored, of: known.type)
    }

    public func string(forKey key: String) throws -> String? { try value(forKey: key).string }
    public func integer(forKey key: String) throws -> Int64? { try value(forKey: key).integer }
    public func double(forKey key: String) throws -> Double? { try value(forKey: key).double }
    public func boolean(forKey key: String) throws -> Bool? { try value(forKey: key).boolean }

    /// Sets the value of an attribute.
    ///
    /// - Throws: `FerryError` when there is no such attribute, or when its type cannot hold the value.
    public func setValue(_ value: MigrationValue, forKey key: String) throws {
        let known = try writer.attribute(key)
        manager.mark(known, of: writer)
        guard let stored = value.stored(as: known.type, isExternal: known.isExternal) else {
            throw value.refusal(by: writer.attribute(known))
        }
        set(stored, at: known.place)
    }

    func set(_ value: consuming Value, at place: Int) {
        changes.set(value, at: place)
        if !isPending { manager.touch(self) }
    }

    private func stored(at place: Int) throws -> Value {
        if let changed = changes[place] { return changed }
        if isNew { return try row?.value(at: place) ?? writer.defaults[place] ?? .null }
        let statement = try manager.cached("SELECT \(writer.columns[place]) FROM main.\(writer.table) WHERE Z_PK = ?1")
        try statement.bind(primaryKey, at: 1)
        defer { statement.reset() }
        return try statement.step() ? statement.value(0) : .null
    }

    /// Writes what was set.
    func write() throws {
        if isNew {
            isNew = false
            if let row {
                try row.insert(key: primaryKey, version: version, changes)
            } else {
                try writer.insert(key: primaryKey, version: version, changes)
            }
        } else if !changes.isEmpty {
            let assignments = (0..<changes.count).map { "\(writer.columns[changes.place(at: $0)]) = ?\($0 + 2)" }
            let update = try manager.cached(
                "UPDATE main.\(writer.table) SET \(assignments.joined(separator: ", ")) WHERE Z_PK = ?1")
            try update.bind(primaryKey, at: 1)
            try changes.bindInOrder(to: update, from: 2)
            try update.run()
        }
        changes.removeAll()
    }
}
