internal import FerryBase
internal import Foundation

/// Core Data's version hashes, which decide whether a model fits a store.
package enum VersionHash {
    /// Returns the hash of each entity, abstract ones included.
    ///
    /// - Precondition: No entity is its own ancestor; readers of models refuse such a model.
    package static func hashes(of model: ManagedObjectModel) -> [String: [UInt8]] {
        var entityHashes: [String: [UInt8]] = [:]
        // The hashed properties of each entity, inherited ones included: a subentity starts with its parent's.
        var propertyHashes: [String: [String: [UInt8]]] = [:]
        for name in model.sortedEntityNames {
            for entity in model.lineage(of: name).reversed() where entityHashes[entity.name] == nil {
                var properties = entity.superentity.flatMap { propertyHashes[$0] } ?? [:]
                let kept = entity.tombstoneAttributes
                for var attribute in entity.attributes {
                    if kept.contains(attribute.name) { attribute.preservesValueAfterDeletion = true }
                    properties[attribute.name] = attribute.isTransient ? nil : hash(attribute, in: model)
                }
                for relationship in entity.relationships {
                    properties[relationship.name] =
                        relationship.isTransient ? nil : hash(relationship, of: entity, in: model)
                }
                propertyHashes[entity.name] = properties
                entityHashes[entity.name] = hash(
                    entity, parent: entity.superentity.flatMap { entityHashes[$0] }, properties: properties)
            }
        }
        return entityHashes
    }

    /// Returns `NSStoreModelVersionHashesDigest` of a store with these hashes.
    package static func digest(_ hashes: [String: [UInt8]]) -> String {
        var digest = SHA512()
        for name in hashes.keys.inOrder(by: codeUnitOrder) {
            digest.update(Array(name.utf8))
            digest.update(hashes[name] ?? [])
        }
        return base64(digest.finalize())
    }

    /// Returns `NSStoreModelVersionChecksumKey` of a store with these hashes.
    package static func checksum(_ hashes: [String: [UInt8]]) -> String {
        var checksum = SHA256()
        for name in hashes.keys.inOrder(by: codeUnitOrder) { checksum.update(hashes[name] ?? []) }
        return base64(checksum.finalize())
    }

    /// Returns standard base64 with padding, the form of hashes in the metadata and in listings.
    package static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    // MARK: One property

    /// Returns the hash of an attribute that is not transient.
    package static func hash(_ attribute: Attribute, in model: ManagedObjectModel) -> [UInt8] {
        var hash = SHA256()
        if let expression = attribute.derivationExpression {
            hash.update(printed(derivation: expression))
        } else if let composite = attribute.compositeName {
            let leaves = leaves(of: composite, in: model, depth: 0)
            for leaf in leaves.inOrder(by: { codeUnitOrder($0.name, $1.name) }) where !leaf.isTransient {
                hash.update(self.hash(leaf, in: model))
            }
        } else {
            hash.update(
                base(attribute.name, isOptional: attribute.isOptional, modifier: attribute.versionHashModifier))
            hash.update(littleEndian32(attribute.type.rawValue))
            if attribute.allowsExternalStorage { hash.update([1]) }
            if attribute.preservesValueAfterDeletion { hash.update([1]) }
        }
        return hash.finalize()
    }

    /// Returns the hash of a relationship that is not transient, as `entity` declares it.
    package static func hash(_ relationship: Relationship, of entity: Entity, in model: ManagedObjectModel) -> [UInt8] {
        var hash = SHA256()
        hash.update(
            base(relationship.name, isOptional: relationship.isOptional, modifier: relationship.versionHashModifier))
        hash.update(relationship.destinationEntity)
        if let inverse = relationship.inverseName, !isOwnInverse(relationship, of: entity, in: model) {
            hash.update(inverse)
        }
        hash.update(littleEndian32(relationship.maxCount))
        hash.update(littleEndian32(relationship.minCount))
        if relationship.isOrdered { hash.update([1, 0]) }
        return hash.finalize()
    }

    /// Returns the part of a property's hash that attributes and relationships share.
    package static func base(_ name: String, isOptional: Bool, modifier: String?) -> [UInt8] {
        var hash = SHA256()
        hash.update(name)
        hash.update([isOptional ? 1 : 0, 0])
        if let modifier { hash.update(modifier) }
        return hash.finalize()
    }

    /// Returns the framework's printed form of a derivation expression, the input of the hash.
    static func printed(derivation: String) -> String {
        for (suffix, function) in [(".@count", "count"), (".@sum", "sum"), (".@total", "sum")]
        where derivation.hasSuffix(suffix) {
            return "\(function):(\(derivation.dropLast(suffix.count)))"
        }
        return derivation
    }

    /// Whether a relationship, or one that it redeclares, is its own inverse, whose name the hash leaves out.
    private static func isOwnInverse(
        _ relationship: Relationship, of entity: Entity, in model: ManagedObjectModel
    ) -> Bool {
        guard relationship.inverseName == relationship.name else { return false }
        let declarations = model.lineage(of: entity.name).filter { level in
            level.relationships.contains { $0.name == relationship.name }
        }
        // The entity itself, and the topmost ancestor with such a relationship.
        return [declarations.first, declarations.last].contains { declaration in
            guard let declaration,
                let declared = declaration.relationships.first(where: { $0.name == relationship.name }),
                declared.inverseName == declared.name
            else { return false }
            return model.declaringEntity(of: declared.name, in: declared.destinationEntity) == declaration.name
        }
    }

    /// Returns the elements of a composite, nested composites replaced by their elements.
    private static func leaves(of composite: String, in model: ManagedObjectModel, depth: Int) -> [Attribute] {
        precondition(depth < 64, "No composite holds itself; readers of models refuse that.")
        return (model.composites[composite] ?? []).flatMap { element in
            element.compositeName.map { leaves(of: $0, in: model, depth: depth + 1) } ?? [element]
        }
    }

    // MARK: One entity

    private static func hash(_ entity: Entity, parent: [UInt8]?, properties: [String: [UInt8]]) -> [UInt8] {
        var hash = SHA256()
        hash.update(entity.name)
        hash.update([entity.isAbstract ? 1 : 0])
        if let parent { hash.update(parent) }
        for name in properties.keys.inOrder(by: codeUnitOrder) { hash.update(properties[name] ?? []) }
        if let modifier = entity.versionHashModifier { hash.update(modifier) }
        let constraints = entity.uniquenessConstraints.map { $0.joined(separator: ".") }
        for constraint in constraints.inOrder(by: codeUnitOrder) { hash.update(constraint) }
        return hash.finalize()
    }

    /// Encodes the low 32 bits of a count, as the framework does.
    private static func littleEndian32(_ number: Int) -> [UInt8] {
        let bits = UInt32(truncatingIfNeeded: number)
        return (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }
}

extension Entity {
    /// Attributes that the user info marks as preserved after deletion, the older notation.
    fileprivate var tombstoneAttributes: Set<String> {
        guard let listed = userInfo["NSPersistentHistoryTombstoneAttributes"] else { return [] }
        return Set(listed.split { $0 == "," || $0 == " " }.map(String.init))
    }
}
