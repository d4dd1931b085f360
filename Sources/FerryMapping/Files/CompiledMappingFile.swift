internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// Reads compiled mapping models (`.cdm`).
///
/// The compiler has already written out what is automatic, so a property without an expression stays empty. The file
/// names its models only by their entities' hashes; ``MappingModel/sourceHashes`` holds them.
struct CompiledMappingFile {
    private let file: String

    static func read(_ bytes: [UInt8], name: String, path: String) throws(FerryError) -> MappingModel {
        let reader = CompiledMappingFile(file: fileName(of: path))
        do {
            return try reader.mappingModel(try KeyedArchive(bytes).root, name: name, path: path)
        } catch {
            if error.code == .badArchive { throw reader.damaged(error.message, cause: error) }
            throw error
        }
    }

    private func mappingModel(
        _ root: ArchivedObject, name: String, path: String
    ) throws(FerryError) -> MappingModel {
        guard try root.isKind(of: "NSMappingModel"), let list = try root.elements("NSEntityMappings") else {
            throw damaged("it holds no NSMappingModel.")
        }
        var model = MappingModel(
            name: name, path: path, sourceVersion: "", destinationVersion: "", entityMappings: [])
        for object in list {
            let mapping = try entityMapping(object)
            if let source = mapping.source {
                model.sourceHashes[source] = try object.object("NSSourceEntityVersionHash")?.data
            }
            if let destination = mapping.destination {
                model.destinationHashes[destination] = try object.object("NSDestinationEntityVersionHash")?.data
            }
            model.entityMappings.append(mapping)
        }
        return model
    }

    private func entityMapping(_ object: ArchivedObject) throws(FerryError) -> EntityMapping {
        let source = try object.text("NSSourceEntityName")
        let destination = try object.text("NSDestinationEntityName")
        guard source != nil || destination != nil else { throw damaged("an entity mapping names no entity.") }
        var mapping = EntityMapping(
            name: try object.text("NSMappingName")
                ?? EntityMapping.derivedName(source: source, destination: destination),
            source: source, destination: destination, isAutomatic: false)
        if let policy = try object.text("NSEntityMigrationPolicyClassName"), !policy.isEmpty {
            mapping.policyClassName = policy
        }
        if let userInfo = try object.object("NSUserInfo") { mapping.userInfo = try UserInfoArchive.decode(userInfo) }
        if let fetch = try object.object("NSSourceExpression") {
            do {
                let predicate = try ArchivedExpression.decodeGeneratedFetch(fetch)
                mapping.filter = predicate == .constant(true) ? nil : predicate
            } catch {
                mapping.unreadable.append(.init(part: "the source expression", reason: error.message))
            }
        }
        for property in try object.elements("NSAttributeMappings") ?? [] {
            let name = try self.name(of: property)
            let rule =
                try value(of: property, "attribute", name, in: &mapping) {
                    (archive) throws(FerryError) -> AttributeRule in
                    .value(try ArchivedExpression.decode(archive))
                } ?? .empty
            guard mapping.attributes.add(rule, of: name) else { throw mappedTwice("attribute", name, mapping) }
        }
        for property in try object.elements("NSRelationshipMappings") ?? [] {
            let name = try self.name(of: property)
            let rule =
                try value(of: property, "relationship", name, in: &mapping) {
                    (archive) throws(FerryError) in
                    try RelationshipRule(lookup: try ArchivedExpression.decode(archive))
                } ?? .empty
            guard mapping.relationships.add(rule, of: name) else { throw mappedTwice("relationship", name, mapping) }
        }
        return mapping
    }

    private func value<Rule>(
        of property: ArchivedObject, _ kind: String, _ name: String, in mapping: inout EntityMapping,
        _ rule: (ArchivedObject) throws(FerryError) -> Rule
    ) throws(FerryError) -> Rule? {
        guard let expression = try property.object("NSValueExpression") else { return nil }
        do {
            return try rule(expression)
        } catch {
            mapping.unreadable.append(
                .init(part: "the expression of \(kind) \"\(name)\"", property: name, reason: error.message))
            return nil
        }
    }

    private func name(of property: ArchivedObject) throws(FerryError) -> String {
        guard let name = try property.text("NSDestinationPropertyName"), !name.isEmpty else {
            throw damaged("a property mapping names no property.")
        }
        return name
    }

    private func mappedTwice(_ kind: String, _ name: String, _ mapping: EntityMapping) -> FerryError {
        damaged("entity mapping \"\(mapping.name)\" maps the \(kind) \"\(name)\" twice, in two ways.")
    }

    private func damaged(_ what: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .badMapping, "\(file) is damaged or no compiled mapping model: \(what)",
            remedy: "Use an undamaged copy, or the .xcmappingmodel it was compiled from.", cause: cause)
    }
}
extension RelationshipRule {
    private static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    private static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"

    /// The rule that a relationship's value expression stands for: one of the migration manager's two lookups.
    ///
    /// - Throws: ``FerryError`` `.unsupported` for any other expression.
    init(lookup expression: Expression) throws(FerryError) {
        if case .constant(.null) = expression {
            self = .empty
            return
        }
        guard case .function(receiver: .variable("manager"), let selector, let arguments) = expression,
            arguments.count == 2, case .constant(.string(let name)) = arguments[0]
        else { throw Self.unsupported }
        switch selector {
        case Self.byEntityMapping: self = .destinations(ofMapping: name, from: arguments[1])
        // The name is that of the source relationship, which the path of the second argument already gives.
        case Self.bySourceRelationship: self = .destinationsOfAnyMapping(from: arguments[1])
        default: throw Self.unsupported
        }
    }

    private static var unsupported: FerryError {
        FerryError(.unsupported, "it is neither of the migration manager's two lookups of destination objects.")
    }
}
