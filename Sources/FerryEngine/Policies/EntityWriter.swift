internal import FerryBase
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Reads and writes single objects of one destination entity.
final class EntityWriter {
    let entity: String
    let number: Int64
    let root: String
    let table: String
    /// The columns of the entity's objects: attributes, then foreign keys with their entity and order columns.
    let columns: [String]
    let places: [String: Int]
    let defaults: [Value]
    /// Whether the evidence says that a policy inserts objects of the entity.
    @exclusivity(unchecked) var isMarked = false
    private let attributes: [String: PlacedAttribute]
    private let modelAttributes: [Attribute?]
    /// Whether the evidence says that a policy sets the attribute, by column.
    @exclusivity(unchecked) private var marked: [Bool]
    private let insert: Statement
    /// An object without another reference, for reuse.
    @exclusivity(unchecked) private var spare: DestinationObject?

    /// A policy may map to an abstract entity, and create objects of its subentities.
    private let isAbstract: Bool

    init(_ entity: String, in context: StepContext) throws {
        guard let number = context.destination.number(of: entity), let table = context.destination.table(of: entity)
        else {
            throw FerryError(
                .badMapping, "A migration policy names the entity \(entity), which the new model does not have.",
                remedy: NearNames.remedy(
                    for: entity, among: context.destination.entityNumbers.keys,
                    otherwise: "Name an entity of the new model."))
        }
        isAbstract = context.destination.model.entities[entity]?.isAbstract != false
        self.entity = entity
        self.number = number
        self.table = table.name
        root = table.root
        var columns: [String] = []
        var attributes: [String: PlacedAttribute] = [:]
        var modelAttributes: [Attribute?] = []
        for (column, key) in context.destination.rowColumns(of: entity) {
            if let key {
                let attribute = context.destination.attribute(key)
                modelAttributes.append(attribute)
                if let attribute { attributes[key.property] = PlacedAttribute(attribute, at: columns.count) }
            }
            columns.append(column)
        }
        self.columns = columns
        self.attributes = attributes
        self.modelAttributes = modelAttributes
        marked = Array(repeating: false, count: modelAttributes.count)
        defaults = columns.indices.map { place in
            guard place < modelAttributes.count, let attribute = modelAttributes[place] else { return .null }
            return attribute.defaultValue.map { Value($0.stored(in: attribute)) } ?? .null
        }
        places = Dictionary(first: columns.enumerated().map { ($1, $0) })
        // Key, entity number, version, then the columns.
        insert = try context.connection.prepare(RowInsert.sql(into: table.name, columns: columns))
        try insert.bind(number, at: 2)
    }

    func attribute(_ name: String) throws(FerryError) -> PlacedAttribute {
        if let known = attributes[name] { return known }
        throw FerryError(
            .badMapping, "A migration policy names \(entity).\(name), which is not a stored attribute.",
            remedy: NearNames.remedy(
                for: name, among: attributes.keys.sorted(), otherwise: "Name an attribute of the new model."),
            place: .init(entity: entity, property: name))
    }

    func attribute(_ known: PlacedAttribute) -> Attribute {
        guard let attribute = modelAttributes[known.place] else { preconditionFailure("the attribute is not of here") }
        return attribute
    }

    /// Records that a policy sets the attribute; false if that is recorded already.
    func mark(_ known: PlacedAttribute) -> Bool {
        if marked[known.place] { return false }
        marked[known.place] = true
        return true
    }

    /// Refuses to create an object of an abstract entity.
    func checkHasObjects() throws(FerryError) {
        guard isAbstract else { return }
        throw FerryError(
            .badMapping, "A migration policy creates an object of \(entity), which is abstract.",
            remedy: "Create objects of one of its subentities.")
    }

    /// Inserts a new object; columns without a change have the values of the row, or without one the model's defaults.
    func insert(key: Int64, version: Value, _ changes: ColumnChanges, _ row: DefaultPolicyRow?) throws {
        try insert.bind(key, at: 1)
        try insert.bind(version, at: 3)
        if let row {
            try row.bind(to: insert, except: changes)
        } else {
            for place in columns.indices where !changes.contains(place) {
                try insert.bind(defaults[place], at: place + 4)
            }
        }
        try changes.bind(to: insert, from: 4)
        try insert.run()
    }

    // MARK: Objects

    func object(_ key: Int64, _ manager: MigrationManager) -> DestinationObject {
        guard let object = spare.take() else { return DestinationObject(self, key: key, manager) }
        object.represent(key)
        return object
    }

    /// Releases the spare object: it retains the manager, and so the connection.
    func forgetSpare() { spare = nil }

    /// Keeps an object for reuse, unless there is another reference to it.
    static func recycle(_ object: consuming DestinationObject) {
        var object = object
        if !object.isPending, isKnownUniquelyReferenced(&object) { object.writer.spare = object }
    }
}

/// The changed values of an object, by column, in the order of the changes; objects reuse the memory, on one thread.
final class ColumnChanges {
    private struct Change {
        var place: Int
        var value: Value
    }

    private let changes: UnsafeMutablePointer<Change>
    private let capacity: Int
    private(set) var count = 0
    /// A bit for each column place below 64.
    private(set) var places: UInt64 = 0
    /// Memory of bound text until the statement has run; nil before the first text.
    private var text: UnsafeMutableRawPointer?

    /// SQLite copies longer text: each object that a policy keeps holds this memory.
    private static let textCapacity = 1024

    init(columns: Int) {
        capacity = columns
        changes = .allocate(capacity: columns)
    }

    deinit {
        removeAll()
        changes.deallocate()
        text?.deallocate()
    }

    var isEmpty: Bool { count == 0 }

    subscript(place: Int) -> Value? {
        guard let index = index(of: place) else { return nil }
        return changes[index].value
    }

    func set(_ value: consuming Value, at place: Int) {
        if let index = index(of: place) {
            changes[index].value = value
            return
        }
        precondition(count < capacity, "each column has one place")
        (changes + count).initialize(to: Change(place: place, value: value))
        count += 1
        if place < 64 { places |= 1 << UInt64(place) }
    }

    func contains(_ place: Int) -> Bool { index(of: place) != nil }

    func place(at index: Int) -> Int { changes[index].place }

    private func index(of place: Int) -> Int? {
        if place < 64, places & 1 << UInt64(place) == 0 { return nil }
        for index in 0..<count where changes[index].place == place { return index }
        return nil
    }

    func removeAll() {
        changes.deinitialize(count: count)
        count = 0
        places = 0
    }

    // MARK: Binding

    /// Binds each value and drops it; run the statement before the next change.
    ///
    /// The parameters are those of the columns, or with `inOrder` consecutive ones in the order of the changes.
    func bind(to statement: Statement, from first: Int, inOrder: Bool = false) throws(DatabaseError) {
        var used = 0
        for index in 0..<count {
            let parameter = first + (inOrder ? index : changes[index].place)
            let value = exchange(&changes[index].value, with: .null)
            if case .text(let string) = value, let bytes = keep(string, &used) {
                try statement.bind(borrowedText: bytes, at: parameter)
            } else {
                try statement.bind(value, at: parameter)
            }
        }
    }

    /// Copies short text into memory that is valid until the statement has run, which spares SQLite a copy.
    private func keep(_ string: String, _ used: inout Int) -> UnsafeRawBufferPointer? {
        string.utf8.withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress, bytes.count <= Self.textCapacity - used else { return nil }
            let memory = text ?? .allocate(byteCount: Self.textCapacity, alignment: 1)
            text = memory
            let place = memory + used
            place.copyMemory(from: start, byteCount: bytes.count)
            used += bytes.count
            return UnsafeRawBufferPointer(start: place, count: bytes.count)
        } ?? nil
    }
}

/// The facts of an attribute that each object needs, and the place of its column or cell.
struct PlacedAttribute {
    let type: AttributeType
    let isExternal: Bool
    let place: Int

    init(_ attribute: Attribute, at place: Int) {
        (type, isExternal, self.place) = (attribute.type, attribute.allowsExternalStorage, place)
    }
}
