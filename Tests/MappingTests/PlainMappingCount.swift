import FerryMapping
import Foundation

/// The number of a mapping model's elements, by its own reader or by patterns over its XML.
struct PlainMappingCount: Equatable {
    var entityMappings = 0
    var attributes = 0
    var relationships = 0
    /// Expressions of attributes and relationships.
    var expressions = 0
    var filters = 0
    var policies = 0

    init() {}

    init(_ model: MappingModel) {
        for mapping in model.entityMappings {
            entityMappings += 1
            attributes += mapping.attributes.count
            relationships += mapping.relationships.count
            filters += mapping.filter == nil ? 0 : 1
            policies += mapping.policyClassName == nil ? 0 : 1
            for rule in mapping.attributes.values { if case .value = rule { expressions += 1 } }
            for rule in mapping.relationships.values {
                switch rule {
                case .destinations, .destinationsOfAnyMapping: expressions += 1
                case .automatic, .empty: break
                }
            }
        }
    }

    /// Counts the elements that the mapping model object reaches; unreferenced elements are the editor's leftovers.
    init(xml path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var objects: [Substring: Substring] = [:]
        var root: Substring = ""
        for part in text.components(separatedBy: "<object ").dropFirst() {
            let object = part[..<(part.range(of: "</object>")?.lowerBound ?? part.endIndex)]
            guard let id = object.firstMatch(of: /id="([^"]*)"/)?.1 else { continue }
            objects[Substring(String(id))] = Substring(String(object))
            if object.contains("type=\"XDDEVMAPPINGMODEL\"") { root = Substring(String(object)) }
        }
        func referred(_ name: String, _ object: Substring) -> [Substring] {
            guard let start = object.range(of: "<relationship name=\"\(name)\"") else { return [] }
            let tag = object[start.lowerBound...].prefix { $0 != ">" }
            return (tag.firstMatch(of: /idrefs="([^"]*)"/)?.1.split(separator: " ") ?? []).compactMap { objects[$0] }
        }
        func value(_ name: String, _ object: Substring) -> Substring? {
            guard let start = object.range(of: "<attribute name=\"\(name)\"") else { return nil }
            let rest = object[start.upperBound...].drop { $0 != ">" }.dropFirst()
            let value = rest[..<(rest.range(of: "</attribute>")?.lowerBound ?? rest.endIndex)]
            return value.allSatisfy(\.isWhitespace) ? nil : value
        }
        for mapping in referred("entitymappings", root)
        where value("sourcename", mapping) != nil || value("destinationname", mapping) != nil {
            entityMappings += 1
            let filter = value("sourcefilterpredicatestring", mapping)
            filters += filter == nil || filter == "TRUEPREDICATE" ? 0 : 1
            policies += value("migrationpolicyclassname", mapping) == nil ? 0 : 1
            let ofAttributes = referred("attributemappings", mapping).filter { value("name", $0) != nil }
            let ofRelationships = referred("relationshipmappings", mapping).filter { value("name", $0) != nil }
            attributes += ofAttributes.count
            relationships += ofRelationships.count
            expressions += ofAttributes.count { value("valueexpressiondata", $0) != nil }
            expressions += ofRelationships.count { relationship in
                if value("valueexpressiondata", relationship) != nil { return true }
                // The editor's two fields count as one, except for an Add mapping and for the mapping's own objects.
                guard value("sourcename", mapping) != nil else { return false }
                let own =
                    value("name", mapping)
                    ?? Substring(
                        EntityMapping.derivedName(
                            source: value("sourcename", mapping).map(String.init),
                            destination: value("destinationname", mapping).map(String.init)))
                return value("sourcekeypath", relationship) != nil
                    || value("sourcemappingname", relationship).map { $0 != own } ?? false
            }
        }
    }

    static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.entityMappings += right.entityMappings
        sum.attributes += right.attributes
        sum.relationships += right.relationships
        sum.expressions += right.expressions
        sum.filters += right.filters
        sum.policies += right.policies
        return sum
    }
}
