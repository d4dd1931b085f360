import Ferry
import FerryBase
import FerryEngine
import FerryGenerate
import FerryModel
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// A store of six entities with relationships of every kind; a step fills the table of the books alone.
///
/// A policy makes the books; with nil a filter leaves some out.
func besideStore(
    in folder: TemporaryFolder, _ policy: (any EntityMigrationPolicy & Sendable)?, isUnique: Bool = false
) throws -> Migrator {
    func attribute(_ name: String, _ type: String) -> String {
        "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\"/>"
    }
    func link(_ name: String, _ entity: String, _ inverse: String, _ count: String) -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" \(count) deletionRule=\"Nullify\" "
            + "destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" inverseEntity=\"\(entity)\"/>"
    }
    let (one, many) = ("maxCount=\"1\"", "toMany=\"YES\"")
    func entity(_ name: String, _ content: String...) -> String {
        "<entity name=\"\(name)\">\(attribute("rank", "Integer 64"))\(content.joined())</entity>"
    }
    let constraint =
        "<uniquenessConstraints><uniquenessConstraint><constraint value=\"name\"/></uniquenessConstraint>"
        + "</uniquenessConstraints>"
    let others =
        entity("Note", link("owner", "User", "notes", one))
        + entity("Profile", link("user", "User", "profile", one))
        + entity("Shelf", link("owner", "User", "shelves", one))
        + entity("Tag", link("users", "User", "tags", many))
        + entity(
            "User", attribute("name", "String"), link("books", "Book", "owner", many),
            link("notes", "Note", "owner", many), link("profile", "Profile", "user", one),
            link("shelves", "Shelf", "owner", "\(many) ordered=\"YES\""), link("tags", "Tag", "users", many),
            isUnique ? constraint : "")
    let owner = link("owner", "User", "books", one)
    try folder.writeVersion("App 1", entity("Book", owner) + others)
    try folder.writeVersion("App 2", entity("Book", attribute("heading", "String"), owner) + others)
    let mappings = ["Note", "Book", "User", "Profile", "Shelf", "Tag"].map { name in
        "{ \"name\": \"\(name)\", \"source\": \"\(name)\", \"destination\": \"\(name)\""
            + (name == "Book" ? ", \(policy == nil ? "\"where\": \"rank > 3\"" : "\"policy\": \"Policy\"") }" : " }")
    }
    let mapping = """
        { "source": "App 1", "destination": "App 2", "entityMappings": [ \(mappings.joined(separator: ", ")) ] }
        """
    try FileLayer().replace(folder.file("map.json"), with: Array(mapping.utf8))
    let (bundle, store) = (folder.file("App.xcdatamodeld"), folder.file("App.sqlite"))
    try StoreGenerator(
        ModelCatalog(paths: [bundle]).version(named: "App 1"),
        options: .init(rows: 20, rowsOfEntity: ["Book": 30, "Note": 1_000, "Tag": 40], seed: 5)
    )
    .generate(at: store, files: FileLayer())
    let connection = try Connection(path: store, mode: .readWrite)
    for table in ["ZBOOK", "ZNOTE", "ZUSER", "ZPROFILE", "ZSHELF", "ZTAG"] {
        try connection.execute("UPDATE \(table) SET ZRANK = Z_PK")
    }
    try connection.execute("UPDATE ZUSER SET ZNAME = 'user ' || Z_PK")
    return try Migrator(
        store: URL(fileURLWithPath: store), models: [.url(URL(fileURLWithPath: bundle))],
        mappings: [URL(fileURLWithPath: folder.file("map.json"))],
        policies: policy.map { policy in ["Policy": { policy }] } ?? [:])
}

extension Configuration {
    /// To the second version without a snapshot, with equal results of equal runs.
    static func toSecond(_ output: URL?, _ executor: ExecutorChoice = .automatic) -> Configuration {
        Configuration.allowingLosses {
            $0.target = "App 2"
            $0.output = output
            $0.executor = executor
            $0.snapshots.form = .none
            $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
        }
    }
}

/// The treatment of each table in the first step.
func treatments(of plan: PlanReport) throws -> [String: String] {
    let tables = try #require(plan.steps.first?.tables)
    return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.treatment.rawValue) })
}
