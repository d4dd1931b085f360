#if canImport(CoreData)
    import ConformanceKit
    import CoreData

    /// Builds the mapping model that Xcode's editor would build from the same expressions.
    struct MappingModelBuilder {
        let source: NSManagedObjectModel
        let destination: NSManagedObjectModel

        func mappingModel(_ plain: PlainMapping) throws -> NSMappingModel {
            let model = NSMappingModel()
            model.entityMappings = try plain.entities.map { try entityMapping($0, of: plain) }
            return model
        }

        private func entityMapping(_ plain: PlainMapping.Entity, of all: PlainMapping) throws -> NSEntityMapping {
            guard let from = source.entitiesByName[plain.source], let to = destination.entitiesByName[plain.destination]
            else { throw ConformanceError("\(plain.name) names an entity that is not there.") }
            let mapping = NSEntityMapping()
            mapping.name = plain.name
            mapping.sourceEntityName = plain.source
            mapping.sourceEntityVersionHash = from.versionHash
            mapping.destinationEntityName = plain.destination
            mapping.destinationEntityVersionHash = to.versionHash
            mapping.sourceExpression = fetch(plain)
            mapping.mappingType = .transformEntityMappingType
            mapping.attributeMappings = to.attributesByName.keys.sorted().map { name in
                property(name, value(of: name, in: plain, from))
            }
            mapping.relationshipMappings = to.relationshipsByName.keys.sorted().map { name in
                property(name, relationship(name, in: plain, from, all))
            }
            return mapping
        }

        /// Returns the fetch request of a mapping, as Xcode writes it: exactly the entity's objects, without its
        /// subentities'.
        private func fetch(_ plain: PlainMapping.Entity) -> NSExpression {
            let predicate = plain.predicate ?? "TRUEPREDICATE"
            return NSExpression(
                format: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', %@, %@), "
                    + "$manager.sourceContext, NO)", argumentArray: [plain.source, predicate])
        }

        private func property(_ name: String, _ value: NSExpression?) -> NSPropertyMapping {
            let mapping = NSPropertyMapping()
            mapping.name = name
            mapping.valueExpression = value
            return mapping
        }

        private func value(
            of name: String, in plain: PlainMapping.Entity, _ from: NSEntityDescription
        ) -> NSExpression? {
            switch plain.attributes[name] {
            case .expression(let text): NSExpression(format: text, argumentArray: [])
            case .leftOut: nil
            case nil:
                from.attributesByName[name] == nil ? nil : NSExpression(format: "$source.\(name)", argumentArray: [])
            }
        }

        private func relationship(
            _ name: String, in plain: PlainMapping.Entity, _ from: NSEntityDescription, _ all: PlainMapping
        ) -> NSExpression? {
            if let rule = plain.relationships[name] { return instances(of: [rule.mapping], rule.from) }
            guard let old = from.relationshipsByName[name], let target = old.destinationEntity else { return nil }
            // The destination objects of a relationship may be of the entity or of one of its subentities.
            let mappings = all.entities.filter { source.entitiesByName[$0.source]?.isKindOf(entity: target) == true }
            return instances(of: mappings.map(\.name), "$source.\(name)")
        }

        private func instances(of mappings: [String], _ objects: String) -> NSExpression? {
            guard !mappings.isEmpty else { return nil }
            // Core Data takes one mapping's name, or a list of them.
            guard mappings.count > 1 else {
                return NSExpression(
                    format: "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', %@, "
                        + objects + ")", argumentArray: [mappings[0]])
            }
            return NSExpression(
                format: "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', %@, "
                    + objects + ")", argumentArray: [String(objects.dropFirst("$source.".count))])
        }
    }
#endif
