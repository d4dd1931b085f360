internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// Reads compiled mapping models (`.cdm`).
///
/// The compiler has written out automatic rules, so a property without an expression stays empty. The file names its
/// models only by the hashes of entities, in ``MappingModel/sourceHashes``.
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
            throw damaged("it does not contain an NSMappingModel.")
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
        if let userInfo = try object.object("NSUserInfo") { mapping.userInfo = try userInfo.texts() }
        if let fetch = try object.object("NSSourceExpression") {
            do {
                let predicate = try ArchivedExpression.decodeGeneratedFetch(fetch)
                mapping.filter = predicate == .constant(true) ? nil : predicate
            } catch {
                mapping.unreadable.append(.init(part: "the source expression", reason: error.message))
            }
        }
        for property in try object.elements("NSAttributeMappings") ?? [] {
            let expression = try property.object("NSValueExpression")
            try mapping.add(
                "attribute", try name(of: property), to: \.attributes, orElse: .empty, damaged: { damaged("\($0).") }
            ) { () throws(FerryError) in
                guard let expression else { return .empty }
                return .value(try ArchivedExpression.decode(expression))
            }
        }
        for property in try object.elements("NSRelationshipMappings") ?? [] {
            let expression = try property.object("NSValueExpression")
            try mapping.add(
                "relationship", try name(of: property), to: \.relationships, orElse: .empty,
                damaged: { damaged("\($0).") }
            ) { () throws(FerryError) in
                guard let expression else { return .empty }
                return try RelationshipRule(lookup: try ArchivedExpression.decode(expression))
            }
        }
        return mapping
    }

    private func name(of property: ArchivedObject) throws(FerryError) -> String {
        guard let name = try property.text("NSDestinationPropertyName"), !name.isEmpty else {
            throw damaged("a property mapping names no property.")
        }
        return name
    }

    private func damaged(_ what: String, cause: (any Error)? = nil) -> FerryError {
        FerryError(
            .badMapping, "\(file) is damaged or not a compiled mapping model: \(what)",
            remedy: "Use an undamaged copy, or the .xcmappingmodel it was compiled from.", cause: cause)
    }
}

extension ArchivedObject {
    /// The texts of an archived dictionary by key, as in the user info of an entity mapping; other values are left out.
    ///
    /// - Throws: `.badArchive` if the object is not a dictionary.
    func texts() throws(FerryError) -> [String: String] {
        guard let entries = try entriesByText else {
            throw FerryError(.badArchive, "The user info is not a dictionary.")
        }
        var texts: [String: String] = [:]
        for (key, value) in entries { texts[key] = try value.text }
        return texts
    }
}

extension RelationshipRule {
    private static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    private static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"

    /// The rule of a relationship's value expression, which is one of the migration manager's two lookups.
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
        // The first argument names the source relationship, which the path of the second one ends with anyway.
        case Self.bySourceRelationship: self = .destinationsOfAnyMapping(from: arguments[1])
        default: throw Self.unsupported
        }
    }

    private static var unsupported: FerryError {
        FerryError(.unsupported, "it is neither of the migration manager's two lookups of destination objects.")
    }
}
