internal import Ferry
internal import FerryBase
internal import FerrySQLite

/// The folder of a demo: store, model versions, mapping files.
struct DemoFolder {
    let path: String
    private let files = FileLayer()

    var store: String { path + "/Library.sqlite" }
    var models: String { path + "/Library.xcdatamodeld" }
    var mappings: String { path + "/Mappings" }

    /// The folder that was asked for, which must be empty or not there, else the first free one of our own names.
    init(_ asked: String?) throws(FerryError) {
        if let asked {
            path = asked
            guard try files.attributesIfPresent(asked) != nil else { return }
            guard try files.attributes(asked).isDirectory, try files.list(asked).isEmpty else {
                throw FerryError(
                    .outputExists, "\(asked) is there already and not empty.",
                    remedy: "Name another folder for the demo, or remove this one.")
            }
            return
        }
        var number = 1
        while try files.exists(DemoFolder.name(number)) { number += 1 }
        path = DemoFolder.name(number)
    }

    private static func name(_ number: Int) -> String { number == 1 ? "ferry-demo" : "ferry-demo-\(number)" }

    /// Writes model versions and mapping files.
    func writeSources() throws(FerryError) {
        for version in LibraryModels.versions {
            try write(version.text, to: "\(models)/\(version.name).xcdatamodel/contents")
        }
        try write(LibraryModels.currentVersion, to: models + "/.xccurrentversion")
        for mapping in LibraryModels.mappings { try write(mapping.text, to: "\(mappings)/\(mapping.name)") }
    }

    private func write(_ text: String, to file: String) throws(FerryError) {
        try files.createDirectory(FileLayer.parent(of: file))
        try files.replace(file, with: Array(text.utf8))
    }

    func size(of file: String) throws(FerryError) -> Int64 { try files.attributes(file).size }

    /// SHA-256 of a database that no connection of this process has open, but for what its header counts.
    func digest(of file: String) throws(FerryError) -> String {
        let input = try files.open(file)
        var hash = SHA256()
        var offset: Int64 = 0
        while true {
            var bytes = try input.read(count: 1 << 20, at: offset)
            if bytes.isEmpty { return hash.finalize().hexadecimal }
            if offset == 0 { DatabaseHeader.blankCounters(&bytes) }
            hash.update(bytes)
            offset += Int64(bytes.count)
        }
    }
}

/// A few questions in SQL whose answers show what a migration did.
struct DemoFacts {
    private let questions: [(meaning: String, sql: String)]

    /// Of a store before the migration; the join table's name follows from the model.
    static func before(joinTable: String) -> DemoFacts {
        DemoFacts(questions: [
            ("books", "SELECT count(*) FROM ZBOOK"),
            ("different authors' names", "SELECT count(DISTINCT ZAUTHORNAME) FROM ZBOOK"),
            ("books that a user has", "SELECT count(*) FROM \(joinTable)"),
            ("books by Ada Abel", "SELECT count(*) FROM ZBOOK WHERE ZAUTHORNAME = 'Ada Abel'"),
        ])
    }

    static let after = DemoFacts(questions: [
        ("books", "SELECT count(*) FROM ZBOOK"),
        ("authors", "SELECT count(*) FROM ZAUTHOR"),
        ("files", "SELECT count(*) FROM ZFILE"),
        (
            "books by Ada Abel",
            "SELECT count(*) FROM ZBOOK b JOIN ZAUTHOR a ON b.ZAUTHOR = a.Z_PK WHERE a.ZNAME = 'Ada Abel'"
        ),
    ])

    /// Asks a store; a line for each question, its answer first.
    func lines(_ store: String, width: Int) throws -> [String] {
        // Not by a connection of our own: that would leave a -wal and a -shm beside the store.
        let rows = try StoreFiles(store.fileURL).read { connection in
            try questions.map { [(try connection.integer($0.sql) ?? 0).grouped, $0.meaning, $0.sql] }
        }
        return Array(TextTable([.number(""), .text(""), .text("")], rows).lines(width: width).dropFirst())
    }
}
