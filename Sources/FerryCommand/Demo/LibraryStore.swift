internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Writes the demo's store of version `Library1`: users, books with their authors' names, and who has which book.
///
/// Rows go straight to the file, one at a time; memory does not depend on their number.
struct LibraryStore {
    let books: Int
    /// How many different authors' names the books have, at most.
    let authors: Int

    var users: Int { max(3, books / 100) }

    func write(_ version: ModelVersion, to path: String) throws {
        let layout = try StoreLayout.canonical(for: version.model)
        let connection = try Connection(path: path, mode: .create)
        try StoreCreation.prepare(connection)
        // The file is new and nobody's: whatever goes wrong, it is thrown away and written again.
        try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        try connection.transaction {
            try StoreCreation.createTables(of: layout, on: connection, hasModelCache: true)
            try writeUsers(layout, on: connection)
            try writeBooks(layout, on: connection)
            for index in layout.indexes { try StoreCreation.create(index, on: connection) }
            try StoreCreation.writeEntityNumbers(
                of: layout, maximumKeys: ["Book": Int64(books), "User": Int64(users)], on: connection)
            try StoreMetadata.new(for: version, uuid: uuid).write(to: connection)
        }
        // As Core Data leaves a store that it has closed: of the kind that has a -wal while it is open.
        try connection.execute("PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL")
    }

    /// The same for the same numbers, so that two demos can be compared.
    private var uuid: String {
        let digits = [UInt64(1), 2].map { salt -> String in
            let text = String(LibraryNames.mixed(books, salt ^ UInt64(authors) << 8), radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    private func writeUsers(_ layout: StoreLayout, on connection: Connection) throws {
        let insert = try connection.prepare(try insertion("User", ["name", "memberSince"], layout))
        for user in 0..<users {
            let days = LibraryNames.mixed(user, 3) % 8_000
            try insert.bind(Int64(user + 1), at: 1)
            try insert.bind(LibraryNames.person(Int(LibraryNames.mixed(user, 4) % 1_000)), at: 2)
            try insert.bind(Double(days) * 86_400, at: 3)
            try insert.run()
        }
    }

    private func writeBooks(_ layout: StoreLayout, on connection: Connection) throws {
        guard case .join(let table, let own, let other, _, _)? = layout.storage(of: "users", in: "Book") else {
            preconditionFailure("The demo's first model has a join table between books and users.")
        }
        let insert = try connection.prepare(
            try insertion("Book", ["title", "authorName", "pages", "price", "shelf", "fileURL"], layout))
        let link = try connection.prepare("INSERT INTO \(table) (\(own), \(other)) VALUES (?, ?)")
        for book in 0..<books {
            let random = LibraryNames.mixed(book, 5)
            try insert.bind(Int64(book + 1), at: 1)
            try insert.bind(LibraryNames.title(book), at: 2)
            // One book in fifty has no author.
            if random % 50 == 0 {
                try insert.bindNull(at: 3)
            } else {
                try insert.bind(LibraryNames.person(author(of: book)), at: 3)
            }
            try insert.bind(Int64(40 + random >> 8 % 900), at: 4)
            try insert.bind(Double(500 + random >> 20 % 4_000) / 100, at: 5)
            try insert.bind("\(random >> 32 % 40)-\(random >> 40 % 12)", at: 6)
            try insert.bind("file:///Books/\(book + 1).epub", at: 7)
            try insert.run()
            // None to three users, so about three files to two books.
            for place in 0..<Int(random >> 48 % 4) {
                try link.bind(Int64(book + 1), at: 1)
                try link.bind(Int64((Int(random >> 52) + place) % users + 1), at: 2)
                try link.run()
            }
        }
    }

    /// The first books have one author each, so that all names occur; the others are spread evenly.
    private func author(of book: Int) -> Int {
        book < authors ? book : Int(LibraryNames.mixed(book, 6) % UInt64(authors))
    }

    private func insertion(_ entity: String, _ attributes: [String], _ layout: StoreLayout) throws -> String {
        guard let table = layout.table(of: entity), let number = layout.number(of: entity) else {
            preconditionFailure("The demo's first model has the entity \(entity).")
        }
        let columns = attributes.map { attribute -> String in
            guard let column = layout.column(of: attribute, in: entity) else {
                preconditionFailure("The demo's entity \(entity) has the attribute \(attribute).")
            }
            return column.name
        }
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        return "INSERT INTO \(table.name) (Z_PK, Z_ENT, Z_OPT, \(columns.joined(separator: ", "))) "
            + "VALUES (?, \(number), 1, \(places))"
    }
}
