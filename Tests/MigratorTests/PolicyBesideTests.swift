import Ferry
import FerryBase
import FerryEngine
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Steps in which a policy makes the objects of one entity of many: the tables of the others stay.
@Suite("Policies beside tables that stay")
struct PolicyBesideTests {
    /// Stores each object that it finds in the heading of a book, and writes to objects of all other entities.
    struct LookingPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let book = try manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            var seen: [String] = []
            let books = try manager.lookup("books")
            try books.setObject(book, forKey: .integer(source.primaryKey))
            seen.append("book \(try books.object(forKey: .integer(source.primaryKey - 1))?.primaryKey ?? 0)")
            if let owner = try source.object(forKey: "owner") {
                // Users have not had their turn.
                let users = try manager.destinationInstances(
                    forEntityMappingName: "User", sourceInstances: [owner])
                seen.append("users \(users.count)")
            }
            var tags = 0
            try manager.forEachDestinationObject(ofEntity: "Tag") { _ in tags += 1 }
            seen.append("tags \(tags)")
            let note = try manager.firstDestinationObject(
                ofEntity: "Note", where: "rank == \(source.primaryKey)")
            seen.append("note \(note?.primaryKey ?? 0)")
            if let note {
                let owner = try note.object(forKey: "owner")
                let named = try manager.firstDestinationObject(
                    ofEntity: "Note", where: "rank == \(source.primaryKey) AND owner.rank >= 0")
                seen.append("owner \(owner?.primaryKey ?? 0) \(named?.primaryKey ?? 0)")
            }
            let user = try manager.firstDestinationObject(
                ofEntity: "User", where: "rank == \(source.primaryKey % 4)")
            seen.append("user \(user?.primaryKey ?? 0)")
            if user == nil {
                let user = try manager.insert("User")
                try user.setValue(.integer(source.primaryKey % 4), forKey: "rank")
                try user.setValue(.string("made \(source.primaryKey)"), forKey: "name")
                if let note { try user.setObjects([note], forKey: "notes") }
            } else if let user, let note {
                try user.addObject(note, forKey: "notes")
                if source.primaryKey % 3 == 0 { try user.removeObject(note, forKey: "notes") }
            }
            try book.setValue(.string(seen.joined(separator: ", ")), forKey: "heading")
        }

        func createRelationships(
            forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
        ) throws {
            try defaultPolicy.createRelationships(forDestination: destination, in: mapping, manager: manager)
            let place = destination.primaryKey
            func find(_ entity: String) throws -> DestinationObject? {
                try manager.firstDestinationObject(ofEntity: entity, where: "rank == \(place % 7)")
            }
            guard let user = try find("User") else { return }
            if let tag = try find("Tag") { try user.addObject(tag, forKey: "tags") }
            if let shelf = try find("Shelf") { try user.addObject(shelf, forKey: "shelves") }
            if place % 5 == 0, let profile = try find("Profile") { try user.setObject(profile, forKey: "profile") }
            if place % 3 == 0, let note = try find("Note") { try note.setObject(user, forKey: "owner") }
            let shelves = try user.objects(forKey: "shelves").map(\.primaryKey)
            let heading = try destination.string(forKey: "heading") ?? ""
            try destination.setValue(.string("\(heading), shelves \(shelves)"), forKey: "heading")
        }
    }

    /// Gives each user the name of the next one: only at the end do all names differ.
    struct NamingPolicy: EntityMigrationPolicy {
        func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws {
            var last: String?
            try manager.forEachDestinationObject(ofEntity: "User") { user in
                let name = try user.string(forKey: "name")
                try user.setValue(.string(last ?? "none"), forKey: "name")
                last = name
            }
        }
    }

    @Test("The plan says that the other tables stay, and why one is filled")
    func told() throws {
        let folder = try TemporaryFolder()
        let plan = try besideStore(in: folder, LookingPolicy()).plan(.toSecond(nil))
        let found = try treatments(of: plan)
        #expect(found["ZBOOK"] == "filled" && found["ZNOTE"] == "kept" && found["ZTAG"] == "kept")
        // Links of many-to-manys are gathered anew, and so are both sides of a one-to-one.
        #expect(found["ZUSER"] == "altered" && found["ZPROFILE"] == "altered" && found["ZSHELF"] == "kept")
        let reasons = try #require(plan.steps.first?.tables).compactMap(\.reason)
        #expect(reasons.contains("entity mapping Book has the migration policy Policy"))
    }

    @Test(
        "A policy finds what it would find in a copy of all tables, and the store gets what it writes anywhere",
        arguments: [.rows(3), .automatic] as [ChunkSize])
    func agree(_ size: ChunkSize) throws {
        let folder = try TemporaryFolder()
        let migrator = try besideStore(in: folder, LookingPolicy())
        let copy = URL(fileURLWithPath: folder.file("Copy.sqlite"))
        let beside = URL(fileURLWithPath: folder.file("Beside.sqlite"))
        _ = try migrator.migrate(.toSecond(copy, .row))
        var settings = Configuration.toSecond(beside)
        settings.chunks.size = size
        let report = try migrator.migrate(settings)
        #expect(report.verification.differences.isEmpty && report.mode == .copy)
        #expect(try StoreRows.text(atPath: beside.path) == StoreRows.text(atPath: copy.path))
        _ = try migrator.migrate(.toSecond(nil))
        let store = folder.file("App.sqlite")
        #expect(try StoreRows.text(atPath: store) == StoreRows.text(atPath: copy.path))
        let headings = try Connection(path: copy.path, mode: .readOnly).rows("SELECT ZHEADING FROM ZBOOK")
        // Notes have had their turn, the others have not.
        #expect(headings.contains { $0[0].text?.contains("users 0, tags 0, note 5") == true })
        #expect(try Connection(path: store, mode: .readOnly).value("PRAGMA integrity_check") == .text("ok"))
    }

    @Test("A policy that gives two objects one value for a while does not break a unique index")
    func unique() throws {
        let folder = try TemporaryFolder()
        let migrator = try besideStore(in: folder, NamingPolicy(), isUnique: true)
        let copy = URL(fileURLWithPath: folder.file("Copy.sqlite"))
        #expect(try treatments(of: migrator.plan(.toSecond(nil)))["ZUSER"] == "altered")
        var settings = Configuration.toSecond(copy, .row)
        // Values that a policy sets in objects of another entity mapping are not those of its rules.
        settings.verification = .quick
        _ = try migrator.migrate(settings)
        settings.output = nil
        settings.executor = .automatic
        _ = try migrator.migrate(settings)
        let rows = try [folder.file("App.sqlite"), copy.path].map { try StoreRows.text(atPath: $0) }
        #expect(rows[0] == rows[1] && rows[0].contains("none"))
    }
}
