import FerryBase
import FerryEngine
import FerryExpression
import FerryMapping
import FerryModel
import FerryPlan
import FerrySQLite
import FerryStore
import FerryVerify
import Foundation
import TestSupport
import Testing

/// Steps with migration policies, verified: through every hook, and with a failure at any operation.
@Suite("Policies")
struct PolicyTests {
    @Test("The destination of a policy does not depend on the chunk size")
    func chunkSizes() throws {
        var dumps: Set<String> = []
        for chunkSize in [.rows(1), .rows(3), .rows(7), .rows(1000), .automatic] as [ChunkSize] {
            let library = try PolicyLibrary()
            let folder = try TemporaryFolder()
            let run = try library.step(["Split": { SplitPolicy() }], in: folder, chunkSize: chunkSize)
            let report = try library.complete(run)
            for counts in report.counts { #expect(counts.balances, "\(counts)") }
            dumps.insert(try DatabaseDump.text(run.destinationPath))
        }
        #expect(dumps.count == 1)
    }

    @Test("A policy splits, drops, adds and relates, and every object is counted")
    func everything() throws {
        let library = try PolicyLibrary()
        let folder = try TemporaryFolder()
        let run = try library.step(["Module.Split": { SplitPolicy() }], in: folder, chunkSize: .rows(4))
        let report = try library.complete(run)
        let new = try Connection(path: run.destinationPath, mode: .readOnly)
        // Book 7 has no title and is dropped; the others keep their keys; every third has a copy of its own.
        #expect(
            try new.rows("SELECT group_concat(Z_PK, ' ') FROM (SELECT Z_PK FROM ZBOOK WHERE Z_PK <= 20 ORDER BY 1)")
                == [[.text("1 2 3 4 5 6 8 9 10 11 12")]])
        #expect(try new.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK > 20") == 4)
        // One author per first letter, and one from `begin`; Z_MAX of the source was 20.
        #expect(try new.integer("SELECT count(*) FROM ZAUTHOR") == 4)
        #expect(try new.integer("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR IS NULL") == 0)
        // The default related the shelf's books, in order, and the policy its copies at the end.
        let order = "SELECT Z_PK FROM ZBOOK WHERE ZSHELF = 1 ORDER BY Z_FOK_SHELF"
        let first = try new.rows(order).compactMap(\.[0].integer)
        #expect(first.filter { $0 <= 20 } == [12, 10, 8, 6, 4, 2])
        #expect(
            try new.integer(
                "SELECT count(*) - count(DISTINCT ZSHELF || ' ' || Z_FOK_SHELF) FROM ZBOOK WHERE ZSHELF > 0")
                == 0)
        let join = try #require(try StoreLayout.canonical(for: library.target.model).joinTables.first)
        // Six even books, four multiples of three, and as many copies of these as of their tags: no other objects are
        // associated with a tag's books.
        #expect(try new.integer("SELECT count(*) FROM \(join.name)") == 16)
        // `end` wrote the hooks' counts from the user info into an object of its own.
        #expect(try new.value("SELECT ZNAME FROM ZAUTHOR WHERE ZNAME LIKE 'report%'") == .text("report 12/15/1/1"))
        let books = report.counts.filter { $0.name == "BookToBook" }
        #expect(books.map(\.destination) == ["Book", "Author"])
        #expect(books[0].read == 12 && books[0].written == 15 && books[0].dropped == 1 && books[0].created == 4)
        #expect(books[1].created == 4 && books[1].written == 4)
    }

    @Test("Expressions call the policy, and a value of a wrong type stops the run without being printed")
    func functions() throws {
        let library = try PolicyLibrary()
        let mapping = library.mapping(
            attributes: [
                "code": .value(try Expression.parse("FUNCTION($entityPolicy, 'double:', $source.pages)")),
                "name": .value(try Expression.parse("$entityPolicy.label")),
                "pages": .value(try Expression.parse("FUNCTION($entityPolicy, 'double:', $source.pages) + 1")),
            ])
        let folder = try TemporaryFolder()
        let run = try library.step(["Split": { FunctionPolicy(label: "same") }], mapping, in: folder)
        _ = try library.complete(run)
        let new = try Connection(path: run.destinationPath, mode: .readOnly)
        #expect(
            try new.rows("SELECT ZCODE, ZNAME, ZPAGES FROM ZBOOK WHERE Z_PK = 5")
                == [[.integer(100), .text("same"), .integer(101)]])
        let other = try TemporaryFolder()
        let failing = try library.step(["Split": { FunctionPolicy(label: 5) }], mapping, in: other)
        let error = #expect(throws: FerryError.self) { _ = try failing.run() }
        #expect(error?.code == .rowFailed)
        #expect(error?.message.contains("BookToBook") == true && error?.message.contains("name") == true)
        let unknown = library.mapping(
            attributes: ["code": .value(try Expression.parse("FUNCTION($entityPolicy, 'tripel:', $source.pages)"))])
        let refusal = #expect(throws: FerryError.self) {
            _ = try library.step(["Split": { FunctionPolicy(label: "x") }], unknown, in: other)
        }
        #expect(refusal?.code == .missingPolicy && refusal?.remedy.description.contains("double:") == true)
    }

    @Test("A policy's own error stops the run, is the cause, and is not part of the message")
    func ownError() throws {
        struct Secret: Error { let text = "a row's value" }
        struct Failing: EntityMigrationPolicy {
            func createDestinationInstances(
                forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
            ) throws { if source.primaryKey == 9 { throw Secret() } }
        }
        let library = try PolicyLibrary()
        let folder = try TemporaryFolder()
        let run = try library.step(["Split": { Failing() }], in: folder)
        let error = #expect(throws: FerryError.self) { _ = try run.run() }
        #expect(error?.message.contains("value") == false && error?.message.contains("Split") == true)
        #expect(error?.cause is Secret)
    }

    @Test("A policy with default hooks has the result of the mapping without a policy")
    func defaults() throws {
        struct Plain: EntityMigrationPolicy {}
        let library = try PolicyLibrary()
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        let run = try library.step(["Split": { Plain() }], in: folder, chunkSize: .rows(5))
        let report = try library.complete(run)
        let plain = try library.step([:], library.mapping(policy: nil), in: other, chunkSize: .rows(5))
        let verified = try library.complete(plain)
        #expect(try DatabaseDump.text(run.destinationPath) == DatabaseDump.text(plain.destinationPath))
        #expect(report.counts == verified.counts)
    }

    @Test("A step with a policy that fails at any operation resumes to the same store")
    func resumes() throws {
        let library = try PolicyLibrary()
        let whole = try TemporaryFolder()
        let faults = FaultPlan()
        let uninterrupted = try library.step(
            ["Split": { SplitPolicy() }], in: whole, chunkSize: .rows(2),
            vfs: VFS(temporaryFolder: whole.path, faults: faults))
        _ = try uninterrupted.run()
        try uninterrupted.finish()
        let expected = try DatabaseDump.text(uninterrupted.destinationPath)
        #expect(faults.count > 300)
        let stride = Sweep.isFull ? 5 : 61
        for operation in Swift.stride(from: 1, through: faults.count, by: stride) {
            let folder = try TemporaryFolder()
            #expect(throws: (any Error).self, "operation \(operation)") {
                let run = try library.step(
                    ["Split": { SplitPolicy() }], in: folder, chunkSize: .rows(2),
                    vfs: VFS(temporaryFolder: folder.path, faults: FaultPlan(trigger: operation, outcome: .fail)))
                _ = try run.run()
                try run.finish()
            }
            // Another process would have another instance of the policy, without the effect of `begin` on the first.
            let run = try library.step(["Split": { SplitPolicy() }], in: folder, chunkSize: .rows(2))
            _ = try run.run()
            try run.finish()
            #expect(try DatabaseDump.text(run.destinationPath) == expected, "resumed after operation \(operation)")
        }
    }
}

/// Uses every hook: drops books without a title, makes a copy of every third book, gives each book an author by its
/// first letter, and counts in the user info.
struct SplitPolicy: EntityMigrationPolicy {
    func begin(_ mapping: PolicyEntityMapping, with manager: MigrationManager) throws {
        let nobody = try manager.insert("Author")
        try nobody.setValue("nobody", forKey: "name")
        try manager.lookup("authors").setObject(nobody, forKey: "?")
        try manager.setUserInfo(0, forKey: "seen")
    }

    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try manager.setUserInfo((manager.userInfo(Int.self, forKey: "seen") ?? 0) + 1, forKey: "seen")
        guard let title = try source.string(forKey: "title") else { return }
        if source.primaryKey == 4 {
            mapping.attributeMapping(named: "code")?.substitute = .expression("$source.pages * 3")
        }
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        let book = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
        try book.setValue(
            .string("\(title) on \(source.value(forKey: "shelf.name").string ?? "no shelf")"), forKey: "name")
        let authors = try manager.lookup("authors")
        let letter = MigrationValue.string(String(title.prefix(1)))
        var author = try authors.object(forKey: letter)
        if author == nil {
            let new = try manager.insert("Author")
            try new.setValue(letter, forKey: "name")
            try authors.setObject(new, forKey: letter)
            author = new
        }
        try book.setObject(author, forKey: "author")
        guard source.primaryKey % 3 == 0 else { return }
        let copy = try manager.insert(mapping.destinationEntityName)
        try copy.setValue(.string("copy of \(title)"), forKey: "name")
        try manager.associate(sourceInstance: source, withDestinationInstance: copy, for: mapping)
    }

    func endInstanceCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {
        let nobody = try manager.lookup("authors").object(forKey: "?")
        try manager.forEachDestinationObject(ofEntity: "Book", where: "author == nil") { book in
            try book.setObject(nobody, forKey: "author")
        }
    }

    func createRelationships(
        forDestination destination: DestinationObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        let source = try manager.sourceInstances(
            forEntityMappingName: mapping.name, destinationInstances: [destination])[0]
        if destination.primaryKey == source.primaryKey {
            try defaultPolicy.createRelationships(forDestination: destination, in: mapping, manager: manager)
        } else if let shelf = try source.object(forKey: "shelf") {
            let shelves = try manager.destinationInstances(
                forEntityMappingName: "ShelfToShelf", sourceInstances: [shelf])
            if destination.primaryKey % 2 == 0 {
                try shelves.first?.addObject(destination, forKey: "books")
            } else {
                try destination.setObject(shelves.first, forKey: "shelf")
            }
        }
    }

    func endRelationshipCreation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {
        try manager.setUserInfo(1, forKey: "related")
    }

    func performCustomValidation(forMapping mapping: PolicyEntityMapping, manager: MigrationManager) throws {
        try manager.setUserInfo((manager.userInfo(Int.self, forKey: "validated") ?? 0) + 1, forKey: "validated")
    }

    func end(_ mapping: PolicyEntityMapping, manager: MigrationManager) throws {
        var books = 0
        try manager.forEachDestinationObject(ofEntity: "Book") { _ in books += 1 }
        let counts = try ["seen", "related", "validated"].map { try manager.userInfo(Int.self, forKey: $0) ?? 0 }
        let nobody = try manager.firstDestinationObject(ofEntity: "Author", where: "name == 'nobody'")
        try nobody?.setValue(.string("report \(counts[0])/\(books)/\(counts[1])/\(counts[2])"), forKey: "name")
    }
}

struct FunctionPolicy: EntityMigrationPolicy {
    let label: MigrationValue

    var functions: [String: PolicyFunction] {
        ["double:": { .integer(($0[0].integer ?? 0) * 2) }, "label": { _ in label }]
    }
}
