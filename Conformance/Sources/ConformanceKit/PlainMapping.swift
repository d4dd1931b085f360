import Foundation

/// The part of a mapping model that Core Data has a counterpart for, read from Ferry's JSON.
public struct PlainMapping: Sendable, Hashable {
    public struct Entity: Sendable, Hashable {
        public var name: String
        public var source: String
        public var destination: String
        /// The predicate that selects source objects.
        public var predicate: String?
        /// Expressions in Core Data's own language; an attribute without an expression keeps its value and name.
        public var attributes: [String: Value]
        public var relationships: [String: Relationship]
    }

    public enum Value: Sendable, Hashable {
        case expression(String)
        /// The destination's default value.
        case leftOut
    }

    public struct Relationship: Sendable, Hashable {
        public var mapping: String
        /// An expression that yields source objects.
        public var from: String
    }

    public var entities: [Entity]

    /// - Throws: ``ConformanceError`` for a mapping that `NSMappingModel` cannot express.
    public init(json data: Data) throws {
        guard let file = try JSONSerialization.jsonObject(with: data) as? [String: Any],
            let mappings = file["entityMappings"] as? [[String: Any]]
        else { throw ConformanceError("A mapping file holds an object with entityMappings.") }
        try Self.check(file, knows: ["ferry", "source", "destination", "entityMappings"], in: "the mapping file")
        entities = try mappings.map(Self.entity)
    }

    private static func check(_ object: [String: Any], knows keys: Set<String>, in place: String) throws {
        if let key = object.keys.sorted().first(where: { !keys.contains($0) }) {
            throw ConformanceError(
                "\"\(key)\" in \(place) has no counterpart in Core Data, or none that is tried here.")
        }
    }

    private static func entity(_ object: [String: Any]) throws -> Entity {
        guard let source = object["source"] as? String, let destination = object["destination"] as? String else {
            throw ConformanceError("An entity mapping without source or destination cannot be tried.")
        }
        let name = object["name"] as? String ?? "\(source)To\(destination)"
        try check(object, knows: ["name", "source", "destination", "where", "attributes", "relationships"], in: name)
        let relationships = object["relationships"] as? [String: Any] ?? [:]
        return Entity(
            name: name, source: source, destination: destination, predicate: object["where"] as? String,
            attributes: try (object["attributes"] as? [String: Any] ?? [:]).mapValues(value),
            relationships: try relationships.mapValues { value in
                guard let rule = value as? [String: Any], let mapping = rule["mapping"] as? String,
                    let from = rule["from"] as? String
                else { throw ConformanceError("A relationship of \(name) has no mapping and from.") }
                return Relationship(mapping: mapping, from: from)
            })
    }

    private static func value(_ json: Any) throws -> Value {
        if json is NSNull { return .leftOut }
        if let text = json as? String { return .expression(text) }
        guard let number = json as? NSNumber else {
            throw ConformanceError("An attribute is an expression, a number, a Boolean value or null.")
        }
        return .expression(isBoolean(number) ? (number.boolValue ? "TRUE" : "FALSE") : number.stringValue)
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        #if canImport(CoreFoundation) && canImport(Darwin)
            CFGetTypeID(number) == CFBooleanGetTypeID()
        #else
            String(cString: number.objCType) == "c"
        #endif
    }
}
