internal import Foundation
internal import TestSupport
internal import Testing

/// Values and links that an entity mapping passes over although the objects stay, or that another rule replaces.
@Suite("Properties that some objects keep")
struct PartlyReadTests {
    private let app: RouteFolder

    init() throws { app = try RouteFolder() }

    private func versions(_ old: String, _ new: String, _ mappings: String) throws {
        try app.model("App", "App 1", old)
        try app.model("App", "App 2", new)
        try app.current("App", "App 2")
        try app.write(
            #"{ "source": "App 1", "destination": "App 2", "entityMappings": [\#(mappings)] }"#, to: "Maps/One.json")
        try app.generate("App", "App 1")
    }

    private let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Maps"]

    /// The losses of the plan: `Book.title 3 because`.
    private func losses() throws -> [String] {
        let plan = try app.run(["plan"] + words + ["--json"])
        return try PlannedLoss.all(in: plan.output).map { loss in
            "\(loss.name) \(loss.rows.map(String.init) ?? "?") \(loss.because)"
        }
    }

    private static func authors(_ condition: String, _ value: String = "$source.author") -> String {
        """
        { "source": "Book", "destination": "Book" },
        { "name": "Writers", "source": "Book", "destination": "Author", \(condition)"unique": ["name"],
          "attributes": { "name": "\(value)" } }
        """
    }

    @Test(
        "A value that only a mapping with a filter reads is lost where the filter leaves the object out",
        arguments: [
            (#""where": "pages > 2", "#, ["Book.author 2 only Writers carries it, and not from every object"]),
            (
                #""where": "pages > 2 AND author != nil", "#,
                ["Book.author 2 only Writers carries it, and not from every object"]
            ),
            // What these leave out has no author.
            (#""where": "author != nil", "#, []), (#""where": "NOT author = nil OR pages > 2", "#, []),
            ("", []), (#""where": "pages > 0", "#, []),
        ])
    func filtered(condition: String, told: [String]) throws {
        try versions(
            RouteFolder.entity("Book", "title", "author", "pages:Integer 32"),
            RouteFolder.entity("Book", "title", "pages:Integer 32") + RouteFolder.entity("Author", "name"),
            Self.authors(condition))
        try app.execute("UPDATE ZBOOK SET ZPAGES = Z_PK, ZAUTHOR = CASE WHEN Z_PK <> 4 THEN 'a' || Z_PK END")
        #expect(try losses() == told)
        guard !told.isEmpty else { return #expect(try app.run(["migrate"] + words).exitCode == 0) }
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Book.author"), "\(refused)")
        let done = try app.run(["migrate"] + words + ["--lose", "Book.author"])
        #expect(done.exitCode == 0 && done.diagnostics.contains("Book.author is lost, 2 values"), "\(done)")
        #expect(try app.count("SELECT count(ZNAME) FROM ZAUTHOR") == 1)
    }

    @Test("A filter that fails on a value leaves the number unknown, and objects that no mapping carries are no values")
    func unknown() throws {
        try versions(
            RouteFolder.entity("Book", "title", "author", "pages:Integer 32"),
            RouteFolder.entity("Book", "title", "pages:Integer 32") + RouteFolder.entity("Author", "name"),
            """
            { "source": "Book", "destination": "Book", "where": "pages > 1" },
            { "name": "Writers", "source": "Book", "destination": "Author", "where": "pages > 2",
              "attributes": { "name": "$source.author" } }
            """)
        try app.execute("UPDATE ZBOOK SET ZPAGES = Z_PK, ZAUTHOR = 'a' || Z_PK")
        #expect(
            try losses() == [
                "Book 1 some objects do not meet the filters of the entity mappings to App 2",
                "Book.author 1 only Writers carries it, and not from every object",
            ])
    }

    @Test("What forEach reads is lost of objects without elements, and of objects that are no elements")
    func elements() throws {
        let link = RouteFolder.link("users", "User", "books")
        try versions(
            RouteFolder.entity("Book", "title", "file", link)
                + RouteFolder.entity("User", "name", "mail", RouteFolder.link("books", "Book", "users")),
            RouteFolder.entity("Book", "title") + RouteFolder.entity("User", "name")
                + RouteFolder.entity("File", "path", "mail"),
            """
            { "source": "Book", "destination": "Book" }, { "source": "User", "destination": "User" },
            { "name": "Files", "source": "Book", "forEach": { "user": "$source.users" }, "destination": "File",
              "attributes": { "path": "$source.file", "mail": "$user.mail" } }
            """)
        try app.execute("UPDATE ZBOOK SET ZFILE = 'f'; UPDATE ZUSER SET ZMAIL = 'm'; DELETE FROM Z_1USERS")
        try app.execute("INSERT INTO Z_1USERS VALUES (1, 1), (1, 2), (2, 2)")
        let told = try losses().filter { !$0.contains("users") && !$0.contains("books") }
        #expect(
            told == [
                "Book.file 2 only Files carries it, and not from every object",
                "User.mail 2 only Files carries it, and not from every object",
            ])
    }

    @Test("What another entity reads along a path is lost of objects to which no path leads")
    func paths() throws {
        try versions(
            RouteFolder.entity("Book", "title", RouteFolder.link("owner", "User", "books", toMany: false))
                + RouteFolder.entity("User", "name", "mail", RouteFolder.link("books", "Book", "owner")),
            RouteFolder.entity(
                "Book", "title", "ownerMail", RouteFolder.link("owner", "User", "books", toMany: false))
                + RouteFolder.entity("User", "name", RouteFolder.link("books", "Book", "owner")),
            """
            { "source": "Book", "destination": "Book", "attributes": { "ownerMail": "$source.owner.mail" } },
            { "source": "User", "destination": "User" }
            """)
        try app.execute("UPDATE ZUSER SET ZMAIL = 'm'; UPDATE ZBOOK SET ZOWNER = 1 + Z_PK % 3")
        #expect(try losses() == ["User.mail 1 only BookToBook carries it, and not from every object"])
    }

    @Test("A later rule of the inverse takes the objects of an earlier rule, and the plan counts these links")
    func contested() throws {
        let book = RouteFolder.entity("Book", "title", RouteFolder.link("owner", "User", "books", toMany: false))
        try versions(
            book.replacingOccurrences(
                of: "</entity>", with: RouteFolder.link("club", "Club", "books", toMany: false) + "</entity>")
                + RouteFolder.entity("User", "name", RouteFolder.link("books", "Book", "owner"))
                + RouteFolder.entity("Club", "name", RouteFolder.link("books", "Book", "club")),
            book + RouteFolder.entity("User", "name", RouteFolder.link("books", "Book", "owner")),
            """
            { "source": "Book", "destination": "Book" }, { "source": "User", "destination": "User" },
            { "name": "Clubs", "source": "Club", "destination": "User", "where": "name != 'none'" }
            """)
        try app.execute("UPDATE ZCLUB SET ZNAME = 'c'; UPDATE ZCLUB SET ZNAME = 'none' WHERE Z_PK = 4")
        try app.execute(
            "UPDATE ZBOOK SET ZOWNER = Z_PK, ZCLUB = CASE Z_PK WHEN 1 THEN 2 WHEN 2 THEN 4 WHEN 3 THEN 2 END")
        let told = try losses().filter { $0.hasPrefix("Book.owner") }
        #expect(told == ["Book.owner 2 App 2 fills it from its inverse User.books where Clubs relates the object"])
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Book.owner"), "\(refused)")
        let done = try app.run(
            ["migrate"] + words + ["--accept-loss", "FERRY_EXECUTOR=set", "--output", "set.sqlite"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM ZBOOK WHERE ZOWNER = Z_PK", in: "set.sqlite") == 2)
    }

    @Test("A narrower type changes the values of carried objects only, with and without a substitute for nil")
    func narrowed() throws {
        try versions(
            RouteFolder.entity("Book", "title", "price:Double", "pages:Integer 32"),
            RouteFolder.entity("Book", "title", "price:Integer 32", "pages:Boolean"),
            """
            { "source": "Book", "destination": "Book", "where": "title != nil",
              "attributes": { "pages": "ifnil:then:($source.pages, 1)" } }
            """)
        try app.execute("UPDATE ZBOOK SET ZTITLE = CASE WHEN Z_PK > 1 THEN 't' END, ZPRICE = Z_PK + 0.5, ZPAGES = Z_PK")
        #expect(
            try losses() == [
                "Book 1 some objects do not meet the filters of the entity mappings to App 2",
                "Book.pages 3 App 2 stores it as boolean",
                "Book.price 3 App 2 stores it as integer32",
            ])
    }

    /// Every book keeps its author as far as the rules say, but an author without pages has become something else.
    @Test("A link is lost where the object at its other end becomes one that has no such relationship")
    func otherEnd() throws {
        func authors(_ more: String = "") -> String {
            "<entity name=\"Author\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
                + "<attribute name=\"pages\" optional=\"YES\" attributeType=\"Integer 32\"/>\(more)"
                + "<relationship name=\"books\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Book\" "
                + "inverseName=\"author\" inverseEntity=\"Book\"/></entity><entity name=\"Book\">"
                + "<relationship name=\"author\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Author\" "
                + "inverseName=\"books\" inverseEntity=\"Author\"/></entity>"
        }
        try versions(
            authors(), authors() + RouteFolder.entity("Note", "name", "pages:Integer 32"),
            """
            { "source": "Book", "destination": "Book" },
            { "source": "Author", "destination": "Author", "where": "pages != nil" },
            { "name": "Notes", "source": "Author", "destination": "Note", "where": "pages = nil" }
            """)
        try app.execute("UPDATE ZAUTHOR SET ZPAGES = CASE WHEN Z_PK > 2 THEN 7 END")
        try app.execute(
            "UPDATE ZBOOK SET ZAUTHOR = CASE Z_PK WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 2 WHEN 4 THEN 3 END")
        let told = try losses()
        #expect(told.count == 1 && told.first?.hasPrefix("Author.books 3 ") == true, "\(told)")
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose Author.books"), "\(refused)")
        let done = try app.run(["migrate"] + words + ["--lose", "Author.books"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(ZAUTHOR) FROM ZBOOK") == 1)
    }

    /// Each side carries a part: the links with either end among the objects that become others are counted once.
    @Test("A link is lost where either end becomes one that has no such relationship")
    func eitherEnd() throws {
        let node =
            "<entity name=\"Node\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
            + "<attribute name=\"pages\" optional=\"YES\" attributeType=\"Integer 32\"/>"
            + "<relationship name=\"children\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Node\" "
            + "inverseName=\"parent\" inverseEntity=\"Node\"/>"
            + "<relationship name=\"parent\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"Node\" "
            + "inverseName=\"children\" inverseEntity=\"Node\"/></entity>"
        try versions(
            node, node + RouteFolder.entity("Note", "name", "pages:Integer 32"),
            """
            { "source": "Node", "destination": "Node", "where": "pages != nil" },
            { "name": "Notes", "source": "Node", "destination": "Note", "where": "pages = nil" }
            """)
        // Nodes 1 to 3 stay: one link stays, one is lost at its own end, two at the other one, one at both.
        try app.execute(
            """
            DELETE FROM ZNODE WHERE Z_PK > 5;
            INSERT OR IGNORE INTO ZNODE (Z_PK, Z_ENT, Z_OPT) SELECT n, 1, 1 FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3
                UNION SELECT 4 UNION SELECT 5);
            UPDATE Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, 5);
            UPDATE ZNODE SET ZPAGES = CASE WHEN Z_PK < 4 THEN 7 END,
                ZPARENT = CASE Z_PK WHEN 1 THEN 2 WHEN 2 THEN 4 WHEN 3 THEN 5 WHEN 4 THEN 1 WHEN 5 THEN 4 END
            """)
        #expect(try losses().map { String($0.prefix(14)) } == ["Node.parent 4 "])
        let done = try app.run(["migrate"] + words + ["--lose", "Node.parent"])
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(ZPARENT) FROM ZNODE") == 1)
    }
}
