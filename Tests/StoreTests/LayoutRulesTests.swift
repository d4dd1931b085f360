import FerryBase
import FerryModel
import FerryStore
import Testing

struct LayoutRulesTests {
    @Test("Entities are numbered down the hierarchies, by name without regard to case")
    func numbers() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(name: "zebra"), Entity(name: "Apple", superentity: "mother"), Entity(name: "mother"),
                Entity(name: "ant", superentity: "mother"), Entity(name: "ComputeSync"), Entity(name: "ComputedAsset"),
            ])
        let layout = try StoreLayout.canonical(for: model)
        #expect(
            layout.entityNumbers == [
                "ComputedAsset": 1, "ComputeSync": 2, "mother": 3, "ant": 4, "Apple": 5, "zebra": 6,
            ])
        #expect(layout.tablesInOrder.map(\.name) == ["ZCOMPUTEDASSET", "ZCOMPUTESYNC", "ZMOTHER", "ZZEBRA"])
    }

    @Test("Columns are grouped by type, with names in code unit order within an entity")
    func columnGroups() throws {
        let types: [(String, AttributeType)] = [
            ("binary", .binary), ("transformable", .transformable), ("uuid", .uuid), ("uri", .uri), ("string", .string),
            ("decimal", .decimal), ("date", .date), ("float", .float), ("double", .double), ("bool", .boolean),
            ("i64", .integer64), ("city", .string), ("ciURLWork", .string),
        ]
        let attributes = types.map { Attribute(name: $0.0, type: $0.1) }
        let model = ManagedObjectModel(
            versionIdentifiers: [], entities: [Entity(name: "Thing", attributes: attributes)])
        let table = try #require(try StoreLayout.canonical(for: model).tables["Thing"])
        #expect(
            table.sql
                == "CREATE TABLE ZTHING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBOOL INTEGER, "
                + "ZI64 INTEGER, ZDATE TIMESTAMP, ZDOUBLE FLOAT, ZFLOAT FLOAT, ZDECIMAL DECIMAL, ZCIURLWORK VARCHAR, "
                + "ZCITY VARCHAR, ZSTRING VARCHAR, ZURI VARCHAR, ZUUID BLOB, ZTRANSFORMABLE BLOB, ZBINARY BLOB )")
    }

    @Test("Attributes of siblings with one name get a number, in the order of the entities")
    func collisions() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(name: "Base"),
                Entity(name: "A", superentity: "Base", attributes: [Attribute(name: "text", type: .string)]),
                Entity(name: "B", superentity: "Base", attributes: [Attribute(name: "text", type: .binary)]),
                Entity(name: "C", superentity: "Base", attributes: [Attribute(name: "text", type: .string)]),
            ])
        let layout = try StoreLayout.canonical(for: model)
        #expect(layout.column(of: "text", in: "A") == Column(name: "ZTEXT", type: "VARCHAR"))
        #expect(layout.column(of: "text", in: "B") == Column(name: "ZTEXT1", type: "BLOB"))
        #expect(layout.column(of: "text", in: "C") == Column(name: "ZTEXT2", type: "VARCHAR"))
    }

    @Test("A property that a subentity repeats has one column")
    func repeatedProperties() throws {
        let name = Attribute(name: "name", type: .string)
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(name: "Base", attributes: [name]), Entity(name: "Sub", superentity: "Base", attributes: [name]),
            ])
        let layout = try StoreLayout.canonical(for: model)
        #expect(layout.tables["Base"]?.columns.map(\.name) == ["ZNAME"])
        #expect(layout.column(of: "name", in: "Sub")?.name == "ZNAME")
    }

    /// Library: shelves hold books in order, books know their authors, an author has a portrait.
    static let shelves = ManagedObjectModel(
        versionIdentifiers: [],
        entities: [
            Entity(
                name: "Author",
                relationships: [
                    Relationship(name: "books", destinationEntity: "Book", inverseName: "authors", maxCount: 0),
                    Relationship(name: "portrait", destinationEntity: "Portrait", inverseName: "author"),
                ]),
            Entity(
                name: "Book", attributes: [Attribute(name: "title", type: .string, isIndexed: true)],
                relationships: [
                    Relationship(
                        name: "authors", destinationEntity: "Author", inverseName: "books", isOrdered: true,
                        maxCount: 0),
                    Relationship(name: "shelf", destinationEntity: "Shelf", inverseName: "books"),
                    Relationship(name: "similar", destinationEntity: "Book", inverseName: "similar", maxCount: 0),
                ], uniquenessConstraints: [["title", "shelf"]]),
            Entity(
                name: "Novel", superentity: "Book",
                relationships: [Relationship(name: "notes", destinationEntity: "Note", maxCount: 0)]),
            Entity(name: "Note", relationships: [Relationship(name: "about", destinationEntity: "Book")]),
            Entity(
                name: "Portrait",
                relationships: [Relationship(name: "author", destinationEntity: "Author", inverseName: "portrait")]),
            Entity(
                name: "Shelf",
                relationships: [
                    Relationship(
                        name: "books", destinationEntity: "Book", inverseName: "shelf", isOrdered: true, maxCount: 0)
                ]),
        ])

    @Test("Every kind of relationship is stored in its own way")
    func relationships() throws {
        let layout = try StoreLayout.canonical(for: Self.shelves)
        #expect(
            layout.storage(of: "shelf", in: "Novel")
                == .foreignKey(table: "ZBOOK", column: "ZSHELF", entityColumn: nil, orderColumn: "Z_FOK_SHELF"))
        #expect(
            layout.storage(of: "books", in: "Shelf")
                == .inverseForeignKey(table: "ZBOOK", column: "ZSHELF", entityColumn: nil, orderColumn: "Z_FOK_SHELF"))
        #expect(
            layout.storage(of: "about", in: "Note")
                == .foreignKey(table: "ZNOTE", column: "ZABOUT", entityColumn: "Z2_ABOUT", orderColumn: nil))
        #expect(layout.storage(of: "notes", in: "Novel") == .inverseless(table: "ZNOTE", column: "Z3NOTES"))
        #expect(
            layout.storage(of: "books", in: "Author")
                == .join(
                    table: "Z_1BOOKS", own: "Z_1AUTHORS", other: "Z_2BOOKS", otherOrder: nil, ownOrder: "Z_FOK_1AUTHORS"
                ))
        #expect(
            layout.storage(of: "authors", in: "Book")
                == .join(
                    table: "Z_1BOOKS", own: "Z_2BOOKS", other: "Z_1AUTHORS", otherOrder: "Z_FOK_1AUTHORS", ownOrder: nil
                ))
        #expect(
            layout.storage(of: "similar", in: "Book")
                == .join(table: "Z_2SIMILAR", own: "Z_2SIMILAR", other: "REFLEXIVE", otherOrder: nil, ownOrder: nil))
        #expect(
            layout.joinTables.first?.sql
                == "CREATE TABLE Z_1BOOKS ( Z_1AUTHORS INTEGER, Z_2BOOKS INTEGER, Z_FOK_1AUTHORS INTEGER, "
                + "PRIMARY KEY (Z_1AUTHORS, Z_2BOOKS) )")
        #expect(layout.tables["Note"]?.columns.map(\.name) == ["ZABOUT", "Z2_ABOUT", "Z3NOTES"])
    }

    @Test("Indexes have the names and the spelling of Core Data")
    func indexes() throws {
        let layout = try StoreLayout.canonical(for: Self.shelves)
        #expect(
            layout.indexes.map(\.sql) == [
                "CREATE INDEX ZAUTHOR_ZPORTRAIT_INDEX ON ZAUTHOR (ZPORTRAIT)",
                "CREATE INDEX Z_1BOOKS_Z_2BOOKS_INDEX ON Z_1BOOKS (Z_2BOOKS, Z_1AUTHORS)",
                "CREATE INDEX ZBOOK_ZSHELF_INDEX ON ZBOOK (ZSHELF)", "CREATE INDEX ZBOOK_Z_ENT_INDEX ON ZBOOK (Z_ENT)",
                "CREATE INDEX Z_2SIMILAR_REFLEXIVE_INDEX ON Z_2SIMILAR (REFLEXIVE, Z_2SIMILAR)",
                "CREATE INDEX Z_Book_title ON ZBOOK (ZTITLE COLLATE BINARY ASC)",
                "CREATE INDEX Z_Novel_title ON ZBOOK (ZTITLE COLLATE BINARY ASC)",
                "CREATE UNIQUE INDEX Z_Book_UNIQUE_title_shelf ON ZBOOK (ZTITLE COLLATE BINARY ASC, "
                    + "ZSHELF COLLATE BINARY ASC)", "CREATE INDEX ZNOTE_ZABOUT_INDEX ON ZNOTE (ZABOUT)",
                "CREATE INDEX ZNOTE_Z3NOTES_INDEX ON ZNOTE (Z3NOTES)",
                "CREATE INDEX ZPORTRAIT_ZAUTHOR_INDEX ON ZPORTRAIT (ZAUTHOR)",
            ])
    }

    @Test("Of two relationships of an entity with itself the alphabetically later has the join table")
    func selfJoin() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "Dog",
                    relationships: [
                        Relationship(
                            name: "friends", destinationEntity: "Dog", inverseName: "friendedBy", isOrdered: true,
                            maxCount: 0),
                        Relationship(name: "friendedBy", destinationEntity: "Dog", inverseName: "friends", maxCount: 0),
                    ])
            ])
        let layout = try StoreLayout.canonical(for: model)
        #expect(
            layout.joinTables.map(\.sql) == [
                "CREATE TABLE Z_1FRIENDS ( Z_1FRIENDEDBY INTEGER, Z_1FRIENDS INTEGER, Z_FOK_1FRIENDS INTEGER, "
                    + "PRIMARY KEY (Z_1FRIENDEDBY, Z_1FRIENDS) )"
            ])
    }

    @Test("An ancestor is processed before an alphabetically earlier child and so names the join table")
    func setUpOrder() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(name: "Album", superentity: "GenericAlbum"),
                Entity(
                    name: "AlbumList",
                    relationships: [
                        Relationship(
                            name: "items", destinationEntity: "GenericAlbum", inverseName: "lists", maxCount: 0)
                    ]),
                Entity(
                    name: "GenericAlbum",
                    relationships: [
                        Relationship(name: "lists", destinationEntity: "AlbumList", inverseName: "items", maxCount: 0)
                    ]),
            ])
        #expect(try StoreLayout.canonical(for: model).joinTables.map(\.name) == ["Z_2LISTS"])
    }

    @Test(
        "Predicates of partial indexes have Core Data's spelling",
        arguments: [
            ("state != 4", " WHERE ZSTATE <> 4"), ("flag == YES", " WHERE ZFLAG = 1"),
            ("state != nil AND flag == 0", " WHERE (ZSTATE IS NOT NULL AND ZFLAG = 0)"),
            ("state = 2 or (state = 4 and flag = TRUE)", " WHERE (ZSTATE = 2 OR (ZSTATE = 4 AND ZFLAG = 1))"),
            ("state == nil", " WHERE ZSTATE IS NULL"),
        ])
    func partialIndexes(_ predicate: String, _ sql: String) throws {
        let layout = try StoreLayout.canonical(for: Self.partial(predicate))
        #expect(layout.indexes.map(\.sql) == ["CREATE INDEX Z_E_i ON ZE (ZSTATE COLLATE BINARY DESC)" + sql])
    }

    @Test(
        "A partial index with a predicate without a known spelling is left out",
        arguments: [
            "name == 'x'", "NOT state = 1", "state IN {1, 2}", "state = ", "(state = 1", "other = 1", "state = 1 flag",
            "state < nil", "",
        ])
    func leftOutPredicates(_ predicate: String) throws {
        let model = Self.partial(predicate)
        #expect(StoreLayout.refusals(for: model).isEmpty)
        let leftOut = StoreLayout.leftOutIndexes(of: model)
        #expect(leftOut.map(\.name) == (predicate.isEmpty ? [] : ["i"]))
        #expect(try StoreLayout.canonical(for: model).indexes.count == (predicate.isEmpty ? 1 : 0))
    }

    private static func partial(_ predicate: String) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "E",
                    attributes: [
                        Attribute(name: "state", type: .integer16), Attribute(name: "flag", type: .boolean),
                        Attribute(name: "name", type: .string),
                    ],
                    fetchIndexes: [
                        FetchIndex(
                            name: "i", elements: [.init(property: "state", isAscending: false)],
                            partialIndexPredicate: predicate)
                    ])
            ])
    }

    @Test("Expression elements of a fetch index are the key and the entity")
    func expressionIndexes() throws {
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "E", attributes: [Attribute(name: "state", type: .integer16)],
                    fetchIndexes: [
                        FetchIndex(
                            name: "i",
                            elements: [
                                .init(property: "state"), .init(property: nil, expression: "self"),
                                .init(property: nil, expression: "entity"),
                            ])
                    ])
            ])
        #expect(
            try StoreLayout.canonical(for: model).indexes.map(\.sql) == [
                "CREATE INDEX Z_E_i ON ZE (ZSTATE COLLATE BINARY ASC, Z_PK COLLATE BINARY ASC, Z_ENT COLLATE BINARY ASC)"
            ])
    }

    @Test("Composites have a column for each leaf, in their declared order")
    func composites() throws {
        let leaves = [Attribute(name: "year", type: .integer16), Attribute(name: "id", type: .uuid)]
        let model = ManagedObjectModel(
            versionIdentifiers: [],
            entities: [
                Entity(
                    name: "E",
                    attributes: [
                        Attribute(name: "id", type: .uuid),
                        Attribute(name: "author", type: .composite, compositeName: "Author"),
                    ])
            ], composites: ["Author": leaves])
        let layout = try StoreLayout.canonical(for: model)
        #expect(layout.tables["E"]?.columns.map(\.name) == ["ZYEAR", "ZID", "ZID1"])
        #expect(layout.column(of: "author.id", in: "E")?.name == "ZID")
        #expect(layout.column(of: "id", in: "E")?.name == "ZID1")
        #expect(layout.attribute(PropertyKey("E", "author.id"))?.type == .uuid)
    }

    @Test("A property without a rule is refused by entity and property")
    func refusals() {
        let derived = Attribute(name: "count", type: .integer64, derivationExpression: "parent.name")
        let cases: [(Entity, String?)] = [
            (Entity(name: "E", attributes: [derived]), "count"),
            (Entity(name: "E", attributes: [Attribute(name: "any", type: .undefined)]), "any"),
            (Entity(name: "Größe"), nil),
            (Entity(name: "E", attributes: [Attribute(name: "größe", type: .date)]), "größe"),
            (
                Entity(
                    name: "E", attributes: [Attribute(name: "place", type: .undefined, isTransient: true)],
                    fetchIndexes: [FetchIndex(name: "r", elements: [.init(property: "place", kind: .rtree)])]), nil
            ), (Entity(name: "E", attributes: [Attribute(name: "_pk", type: .string)]), "_pk"),
        ]
        for (entity, property) in cases {
            let model = ManagedObjectModel(versionIdentifiers: [], entities: [entity])
            let error = #expect(throws: FerryError.self) { _ = try StoreLayout.canonical(for: model) }
            #expect(error?.code == .unsupported)
            #expect(error?.place.entity == entity.name)
            #expect(error?.place.property == property)
            #expect(error?.remedy.isEmpty == false)
        }
    }
}
