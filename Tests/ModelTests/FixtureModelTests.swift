internal import FerryBase
internal import FerryModel
internal import Foundation
internal import TestSupport
internal import Testing

@Suite("Real models", .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)))
struct FixtureModelTests {
    /// Paths of all files and folders with an extension, in name order.
    private func paths(withExtension name: String) -> [String] {
        Fixtures.items.filter { $0.hasSuffix("." + name) }.map(Fixtures.path)
    }

    @Test("Every source model is read; those in the old binary form are refused by name")
    func sources() throws {
        var (read, refused) = (0, 0)
        for path in paths(withExtension: "xcdatamodel") {
            do throws(FerryError) {
                let catalog = try ModelCatalog(paths: [path])
                #expect(catalog.versions.count == 1)
                #expect(catalog.versions.first?.model.entities.isEmpty == false, "\(path)")
                read += 1
            } catch {
                #expect(error.code == .badModel && error.message.contains("Xcode 3"), "\(path): \(error)")
                refused += 1
            }
        }
        #expect(read > 400)
        #expect(refused == 5)
    }

    @Test("Hashes computed from a compiled model are those of its compiler")
    func compiled() throws {
        var count = 0
        for path in paths(withExtension: "momd") {
            for version in try ModelCatalog(paths: [path]).versions {
                // `version.hashes` are the compiler's own.
                #expect(VersionHash.hashes(of: version.model) == version.hashes, "\(version.path)")
                count += 1
            }
        }
        #expect(count >= 16)
    }

    @Test("Checksums computed from a compiled model are those of its compiler")
    func checksums() throws {
        var count = 0
        for path in paths(withExtension: "momd") {
            let data = try Data(contentsOf: URL(fileURLWithPath: path + "/VersionInfo.plist"))
            let list = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            let checksums = list?["NSManagedObjectModel_VersionChecksums"] as? [String: String] ?? [:]
            for version in try ModelCatalog(paths: [path]).versions {
                guard let checksum = checksums[version.name] else { continue }
                #expect(VersionHash.checksum(VersionHash.hashes(of: version.model)) == checksum, "\(version.path)")
                count += 1
            }
        }
        #expect(count >= 7)
    }

    @Test("A source and its compiled form have the same hashes and the same content")
    func sourceAndCompiled() throws {
        var count = 0
        for path in paths(withExtension: "momd") {
            let source = path.replacing(".momd", with: ".xcdatamodeld")
            guard FileManager.default.fileExists(atPath: source) else { continue }
            let compiled = try ModelCatalog(paths: [path])
            for version in try ModelCatalog(paths: [source]).versions {
                // A bundle may have been compiled before its last version was added.
                guard let other = compiled.versions.first(where: { $0.name == version.name }) else { continue }
                #expect(version.hashes == other.hashes, "\(version.path)")
                #expect(version.model.versionIdentifiers == other.model.versionIdentifiers, "\(version.path)")
                for (name, entity) in version.model.entities {
                    compare(entity, try #require(other.model.entities[name]), in: version.path)
                }
                count += 1
            }
            // The source and the compiled form together give one list of versions.
            let both = try ModelCatalog(paths: [source, path])
            #expect(Set(both.versions.map(\.qualifiedName)).count == both.versions.count)
        }
        #expect(count >= 12)
    }

    private func compare(_ source: Entity, _ compiled: Entity, in path: String) {
        let place = Comment(rawValue: "\(source.name) in \(path)")
        let byName = { (first: Attribute, second: Attribute) in codeUnitOrder(first.name, second.name) }
        for (left, right) in zip(source.attributes.sorted(by: byName), compiled.attributes) {
            #expect(left.name == right.name, place)
            #expect(left.type == right.type, place)
            #expect(left.isOptional == right.isOptional, place)
            #expect(left.defaultValue == right.defaultValue, place)
            #expect(left.valueTransformerName == right.valueTransformerName, place)
            #expect((left.renamingIdentifier ?? left.name) == (right.renamingIdentifier ?? right.name), place)
        }
        #expect(source.attributes.count == compiled.attributes.count, place)
        let relationships = source.relationships.sorted { codeUnitOrder($0.name, $1.name) }
        #expect(relationships.map(\.name) == compiled.relationships.map(\.name), place)
        for (left, right) in zip(relationships, compiled.relationships) {
            #expect(left.destinationEntity == right.destinationEntity, place)
            #expect(left.inverseName == right.inverseName, place)
            #expect(left.inverseEntity == right.inverseEntity, place)
            #expect(left.maxCount == right.maxCount, place)
            #expect(left.isOrdered == right.isOrdered, place)
            #expect(left.deleteRule == right.deleteRule, place)
        }
        #expect(source.superentity == compiled.superentity, place)
        #expect((source.renamingIdentifier ?? source.name) == (compiled.renamingIdentifier ?? compiled.name), place)
        #expect(Set(source.uniquenessConstraints) == Set(compiled.uniquenessConstraints), place)
        #expect(source.userInfo == compiled.userInfo, place)
    }

    @Test("Every folder of the collection is one catalog, with unique version names")
    func catalogs() throws {
        var versions = 0
        for folder in try FileManager.default.contentsOfDirectory(atPath: Fixtures.root).sorted() {
            let catalog: ModelCatalog
            do throws(FerryError) { catalog = try ModelCatalog(paths: [Fixtures.path(folder)]) } catch {
                #expect(error.code == .notFound || error.code == .badModel, "\(folder): \(error)")
                continue
            }
            let names = catalog.versions.map(catalog.displayName(of:))
            versions += names.count
            #expect(Set(names).count == names.count, "\(folder): \(names)")
            for version in catalog.versions {
                #expect(try catalog.version(named: catalog.displayName(of: version)).path == version.path)
            }
        }
        #expect(versions > 150)
    }

    @Test("The bundles of the main examples are in the order of their chains")
    func knownOrders() throws {
        let books = try ModelCatalog(paths: [Fixtures.path("objcio-bookmigration/Model.xcdatamodeld")])
        #expect(books.versions.map(\.name) == ["Model1", "Model2", "Model3"])
        #expect(books.currentVersion()?.name == "Model3")
        let moody = try ModelCatalog(paths: [Fixtures.path("objcio-moody/Moody.xcdatamodeld")])
        #expect(moody.versions.map(\.name) == ["Moody", "Moody 2", "Moody 3", "Moody 4", "Moody 5", "Moody 6"])
        #expect(moody.currentVersion()?.name == "Moody 6")
        let wire = try ModelCatalog(paths: [Fixtures.path("wire-zmessaging/zmessaging.xcdatamodeld")])
        #expect(wire.versions.first?.name == "zmessaging")
        #expect(wire.versions.last?.name == "zmessaging2.101.0")
        #expect(wire.currentVersion()?.name == "zmessaging2.101.0")
    }
}
