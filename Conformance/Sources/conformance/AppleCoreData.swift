#if canImport(CoreData)
    import ConformanceKit
    import CoreData
    import Foundation

    /// Core Data itself.
    ///
    /// All code that does not need Core Data is in ConformanceKit, where tests cover it.
    struct AppleCoreData: CoreDataSide {
        /// The folder for compiled models and mapping models.
        let folder: URL

        // MARK: Models

        /// Returns a version, compiled by Xcode's own compiler.
        private func model(_ version: String, of one: ConformanceCase) throws -> NSManagedObjectModel {
            let compiled = folder.appendingPathComponent(one.name + ".momd")
            if !FileManager.default.fileExists(atPath: compiled.path) {
                let answer = try FerryProgram.run("/usr/bin/xcrun", ["momc", one.models, compiled.path])
                guard answer.exitCode == 0 else {
                    throw ConformanceError("momc cannot compile \(one.models): \(answer.diagnostics)")
                }
            }
            let file = compiled.appendingPathComponent(version + ".mom")
            guard let model = NSManagedObjectModel(contentsOf: file) else {
                throw ConformanceError("\(file.path) is no compiled model.")
            }
            return model
        }

        private func mapping(
            _ one: ConformanceCase, _ source: NSManagedObjectModel, _ destination: NSManagedObjectModel
        ) throws -> NSMappingModel {
            guard let path = one.mapping else {
                return try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
            }
            if path.hasSuffix(".xcmappingmodel") {
                let compiled = folder.appendingPathComponent(one.name + ".cdm")
                let answer = try FerryProgram.run("/usr/bin/xcrun", ["mapc", path, compiled.path])
                guard answer.exitCode == 0, let mapping = NSMappingModel(contentsOf: compiled) else {
                    throw ConformanceError("mapc cannot compile \(path): \(answer.diagnostics)")
                }
                return mapping
            }
            let plain = try PlainMapping(json: Data(contentsOf: URL(fileURLWithPath: path)))
            return try MappingModelBuilder(source: source, destination: destination).mappingModel(plain)
        }

        // MARK: Stores

        /// Runs the body with a context on the unchanged store; a store that would need a migration is an error.
        private func withContext<Result>(
            _ store: URL, _ model: NSManagedObjectModel, _ body: (NSManagedObjectContext) throws -> Result
        ) throws -> Result {
            let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
                ofType: NSSQLiteStoreType, at: store, options: nil)
            guard model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) else {
                throw ConformanceError("Core Data says that \(store.lastPathComponent) is not of this version.")
            }
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            let opened = try coordinator.addPersistentStore(
                ofType: NSSQLiteStoreType, configurationName: nil, at: store,
                options: [NSMigratePersistentStoresAutomaticallyOption: false])
            defer { try? coordinator.remove(opened) }
            let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
            context.persistentStoreCoordinator = coordinator
            return try context.performAndWait { try body(context) }
        }

        func record(store: URL, of version: String, in one: ConformanceCase) throws -> StoreRecord {
            let model = try model(version, of: one)
            return try withContext(store, model) { context in
                var record = StoreRecord()
                for entity in model.entities where !entity.isAbstract {
                    guard let name = entity.name else { continue }
                    let request = NSFetchRequest<NSManagedObject>(entityName: name)
                    request.includesSubentities = false
                    for object in try context.fetch(request) {
                        record.objects[try Self.reference(object)] = try Self.record(object)
                    }
                }
                return record
            }
        }

        private static func reference(_ object: NSManagedObject) throws -> ObjectReference {
            let uri = object.objectID.uriRepresentation().absoluteString
            guard let reference = ObjectReference(uri: uri) else {
                throw ConformanceError("The object \(uri) is not saved.")
            }
            return reference
        }

        private static func record(_ object: NSManagedObject) throws -> ObjectRecord {
            var record = ObjectRecord(attributes: [:])
            for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
                record.attributes[name] = try plain(object.value(forKey: name), attribute)
            }
            for (name, relationship) in object.entity.relationshipsByName where !relationship.isTransient {
                let value = object.value(forKey: name)
                let targets: [NSManagedObject]
                switch value {
                case let set as NSOrderedSet: targets = set.array as? [NSManagedObject] ?? []
                case let set as NSSet: targets = set.allObjects as? [NSManagedObject] ?? []
                case let one as NSManagedObject: targets = [one]
                default: targets = []
                }
                record.links[name] = try targets.map(reference)
                if relationship.isOrdered { record.orderedRelationships.insert(name) }
            }
            return record
        }

        private static func plain(_ value: Any?, _ attribute: NSAttributeDescription) throws -> PlainValue {
            switch value {
            case nil: return .null
            case let text as String: return .text(text)
            case let date as Date: return .real(date.timeIntervalSinceReferenceDate.bitPattern)
            case let data as Data: return .bytes([UInt8](data))
            case let uuid as UUID: return .text(uuid.uuidString)
            case let url as URL: return .text(url.absoluteString)
            // This case precedes that of NSNumber, the superclass.
            case let number as NSDecimalNumber: return .text(number.stringValue)
            case let number as NSNumber:
                switch attribute.attributeType {
                case .booleanAttributeType: return .boolean(number.boolValue)
                case .doubleAttributeType, .floatAttributeType: return .real(number.doubleValue.bitPattern)
                default: return .integer(number.int64Value)
                }
            default: throw ConformanceError("\(attribute.name) has a type that no case is written for.")
            }
        }

        // MARK: Migration and change

        func migrate(_ store: URL, to output: URL, in one: ConformanceCase) throws {
            let (source, destination) = (try model(one.source, of: one), try model(one.destination, of: one))
            let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
            try manager.migrateStore(
                from: store, sourceType: NSSQLiteStoreType, options: nil,
                with: try mapping(one, source, destination), toDestinationURL: output,
                destinationType: NSSQLiteStoreType, destinationOptions: nil)
        }

        func change(store: URL, of version: String, in one: ConformanceCase) throws -> Int {
            let model = try model(version, of: one)
            return try withContext(store, model) { context in
                var made: [NSManagedObject] = []
                var saved = 0
                for entity in model.entities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) where !entity.isAbstract
                {
                    guard let name = entity.name else { continue }
                    made.append(NSEntityDescription.insertNewObject(forEntityName: name, into: context))
                    let request = NSFetchRequest<NSManagedObject>(entityName: name)
                    request.fetchLimit = 1
                    if let object = try context.fetch(request).first(where: { !$0.objectID.isTemporaryID }),
                        let attribute = entity.attributesByName.values.first(where: { !$0.isTransient })
                    {
                        object.setValue(object.value(forKey: attribute.name), forKey: attribute.name)
                        saved += 1
                    }
                }
                try context.save()
                saved += made.count
                for object in made { context.delete(object) }
                try context.save()
                return saved
            }
        }
    }
#endif
