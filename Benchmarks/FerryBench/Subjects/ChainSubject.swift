internal import Ferry
internal import FerryBase
internal import FerryGenerate
internal import FerryModel
internal import Foundation

/// Many versions of the books, each one attribute different from the version before.
///
/// The last version exists a second time, as the version that follows the first.
enum ChainSubject {
    static let versions = 50

    /// One attribute in a version.
    private struct Column {
        var name: String
        var type: String
        /// The attribute's name in the first version; nil for an attribute that was added later.
        var origin: String?
        /// The attribute's name in the version before, where that name differs.
        var previous: String?
    }

    private static let first: [Column] = [
        ("addedOn", "Date"), ("authorName", "String"), ("fileURL", "String"), ("isbn", "String"),
        ("language", "String"), ("pages", "Integer 32"), ("price", "Double"), ("shelf", "String"), ("title", "String"),
    ].map { Column(name: $0.0, type: $0.1, origin: $0.0) }

    /// The attributes of every version: each version renames, adds or drops one.
    private static let all: [[Column]] = {
        var all = [first]
        for version in 2...versions {
            var columns = all[version - 2]
            for index in columns.indices { columns[index].previous = nil }
            switch version % 3 {
            case 0:
                let place = (version / 3) % 4
                columns[place].previous = columns[place].name
                columns[place].name = "\(first[place].name)\(version)"
            case 1: columns.append(Column(name: "added\(version)", type: "String"))
            default:
                // The first drop removes an attribute of the first version; each later drop removes the one added two
                // versions before.
                columns.removeAll { $0.name == (version == 2 ? "shelf" : "added\(version - 4)") }
                if version % 2 == 1 { columns.append(Column(name: "number\(version)", type: "Integer 32")) }
            }
            all.append(columns)
        }
        return all
    }()

    private static func text(_ columns: [Column], renamedFrom previous: KeyPath<Column, String?>) -> String {
        ModelText.model([
            ModelText.entity(
                "Book",
                columns.map { column in
                    let old = column[keyPath: previous]
                    return ModelText.attribute(
                        column.name, column.type, renamedFrom: old == column.name ? nil : old)
                })
        ])
    }

    /// Returns a mapping file that forces a copy: its mapping is equal to the inferred one.
    private static func mapping(from source: String, to destination: String, _ columns: [Column]) -> String {
        let renamed = columns.compactMap { column in
            column.origin.flatMap { $0 == column.name ? nil : "\"\(column.name)\": \"$source.\($0)\"" }
        }
        return """
            { "source": "\(source)", "destination": "\(destination)",
              "entityMappings": [ { "name": "BookToBook", "source": "Book", "destination": "Book",
                "attributes": { \(renamed.joined(separator: ", ")) } } ] }
            """
    }

    static func write(rows: Int, to folder: String) throws {
        let files = FileLayer()
        var texts = all.enumerated().map { ("V\($0 + 1)", text($1, renamedFrom: \.previous)) }
        texts.append((single, text(all[versions - 1], renamedFrom: \.origin)))
        for (name, text) in texts {
            try files.createDirectory(model(name, folder))
            try files.replace("\(model(name, folder))/contents", with: Array(text.utf8))
        }
        try files.replace("\(folder)/First.json", with: Array(mapping(from: "V1", to: "V2", all[1]).utf8))
        try files.replace(
            "\(folder)/Single.json", with: Array(mapping(from: "V1", to: single, all[versions - 1]).utf8))
        let version = try ModelCatalog(paths: [model("V1", folder)]).version(named: "V1")
        let options = GenerationOptions(
            rowsOfEntity: ["Book": Int64(rows)], emptyPercent: 0, values: Subject.bookValues)
        try StoreGenerator(version, options: options).generate(at: Subject.store(folder), files: files)
        try files.syncFile(Subject.store(folder))
    }

    private static let single = "W"

    /// All version names, in order.
    static let chain = (1...versions).map { "V\($0)" }

    private static func model(_ name: String, _ folder: String) -> String { "\(folder)/\(name).xcdatamodel" }

    /// - Parameters:
    ///   - folder: The folder that ``write(rows:to:)`` filled.
    ///   - store: The store to migrate.
    ///   - isChain: Whether the migration passes all versions; otherwise the migrator knows only the first and the
    ///     last.
    ///   - isCopy: Whether a mapping model forces a copy of a step that could run in place.
    /// - Returns: The migrator.
    /// - Throws: ``FerryError`` when the models or the mapping file cannot be read.
    static func migrator(_ folder: String, store: String, isChain: Bool, isCopy: Bool) throws -> Migrator {
        let names = isChain ? chain : ["V1", single]
        let mapping = "\(folder)/\(isChain ? "First" : "Single").json"
        return try Migrator(
            store: URL(fileURLWithPath: store), models: names.map { .url(URL(fileURLWithPath: model($0, folder))) },
            mappings: isCopy ? [URL(fileURLWithPath: mapping)] : [])
    }

    static func target(isChain: Bool) -> String { isChain ? "V\(versions)" : single }
}
