/// A value as both sides have to store it, exact to the bit.
public enum PlainValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case boolean(Bool)
    /// The bits of a number: NaN equals itself, and -0 is not 0.
    case real(UInt64)
    /// Decimal numbers, texts, UUIDs and URIs.
    case text(String)
    case bytes([UInt8])
}

/// An object of a store; the key is the `p12` of the object's URI, and Core Data's own migration makes new keys.
public struct ObjectReference: Sendable, Hashable {
    public var entity: String
    public var key: Int64

    public init(entity: String, key: Int64) {
        self.entity = entity
        self.key = key
    }

    /// - Parameter uri: For example `x-coredata://1A2B/Book/p12`; the result is nil for an unsaved object.
    public init?(uri: String) {
        let parts = uri.split(separator: "/").map(String.init)
        guard uri.hasPrefix("x-coredata://"), parts.count == 4, parts[3].hasPrefix("p"),
            let key = Int64(parts[3].dropFirst())
        else { return nil }
        self.init(entity: parts[2], key: key)
    }
}

public struct ObjectRecord: Sendable, Hashable {
    public var attributes: [String: PlainValue]
    /// The objects of each relationship; in any order for an unordered relationship.
    public var links: [String: [ObjectReference]]
    public var orderedRelationships: Set<String>

    public init(
        attributes: [String: PlainValue], links: [String: [ObjectReference]] = [:],
        orderedRelationships: Set<String> = []
    ) {
        self.attributes = attributes
        self.links = links
        self.orderedRelationships = orderedRelationships
    }
}

/// The content of a store as one framework reads it.
///
/// Cases have a fixed, small number of rows, which all fit into memory.
public struct StoreRecord: Sendable, Hashable {
    public var objects: [ObjectReference: ObjectRecord]

    public init(objects: [ObjectReference: ObjectRecord] = [:]) { self.objects = objects }

    /// The number of objects of each entity.
    public var counts: [String: Int] { objects.keys.reduce(into: [:]) { $0[$1.entity, default: 0] += 1 } }

    public var keys: [Int64] { objects.keys.map(\.key).sorted() }

    /// Relationships to missing objects.
    public var danglingLinks: [String] {
        objects.flatMap { reference, object in
            object.links.compactMap { name, targets in
                targets.contains { objects[$0] == nil } ? "\(reference.entity).\(name)" : nil
            }
        }.sorted()
    }
}
