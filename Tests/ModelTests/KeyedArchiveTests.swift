internal import FerryBase
internal import FerryModel
internal import Foundation
internal import Testing

@Suite("Keyed archives")
struct KeyedArchiveTests {
    @Test("Foundation's archives are read")
    func foundationArchive() throws {
        let object: [String: Any] = [
            "text": "plain", "wide": "Žluťoučký 🐎", "number": 42, "negative": -7, "large": Int64.max,
            "real": 2.5, "yes": true, "data": Data([1, 2, 3]), "list": ["a", "b"], "null": NSNull(),
            "nested": ["key": "value"], "date": Date(timeIntervalSinceReferenceDate: 12.5),
            "long": String(repeating: "x", count: 70_000),
        ]
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: object as NSDictionary, requiringSecureCoding: false)
        let root = try KeyedArchive(Array(data)).root
        #expect(try root.isKind(of: "NSDictionary"))
        let entries = Dictionary(uniqueKeysWithValues: try #require(try root.entriesByText).map { ($0.key, $0.value) })
        #expect(entries.count == object.count)
        #expect(try entries["text"]?.text == "plain")
        #expect(try entries["wide"]?.text == "Žluťoučký 🐎")
        #expect(try entries["long"]?.text?.count == 70_000)
        #expect(entries["number"]?.integer == 42)
        #expect(entries["negative"]?.integer == -7)
        #expect(entries["large"]?.integer == .max)
        #expect(entries["real"]?.real == 2.5)
        #expect(entries["yes"]?.flag == true)
        #expect(try entries["data"]?.data == [1, 2, 3])
        #expect(try entries["date"]?.date == 12.5)
        #expect(try entries["null"]?.isNull == true)
        #expect(try entries["list"]?.elements?.map { try $0.text } == ["a", "b"])
        #expect(try entries["nested"]?.entriesByText?.first?.value.text == "value")
    }

    @Test("Objects are read by key, and a nil or absent object is nil")
    func keyedValues() throws {
        var builder = ArchiveBuilder()
        let type = builder.addClass("Thing", "Base")
        let name = builder.add(.string("a name"))
        let root = builder.add(
            .dictionary([
                ("$class", type), ("name", .uid(name)), ("nothing", .uid(0)), ("count", .integer(3)),
                ("flag", .bool(true)),
            ]))
        let object = try KeyedArchive(builder.archive(root: root)).root
        #expect(try object.className == "Thing")
        #expect(try object.classNames == ["Thing", "Base", "NSObject"])
        #expect(try object.isKind(of: "Base"))
        // The four keys that are read below, and that of the class.
        let isWhole = if case .dictionary(let keys, _) = object.value { keys.count == 5 } else { false }
        #expect(isWhole)
        #expect(try object.text("name") == "a name")
        #expect(try object.object("nothing") == nil)
        #expect(try object.object("absent") == nil)
        #expect(try object.integer("count") == 3)
        #expect(try object.flag("flag"))
        #expect(try object.flag("absent") == false)
        #expect(try object.elements("name") == nil)
    }

    @Test("Both archived forms of a dictionary are read, and slots without a value are left out")
    func knownKeysDictionary() throws {
        var builder = ArchiveBuilder()
        let array = builder.addClass("NSArray")
        let known = builder.addClass("NSKnownKeysDictionary1", "NSMutableDictionary", "NSDictionary")
        let strategy = builder.addClass("NSKnownKeysMappingStrategy1")
        let empty = builder.add(.string("token"))
        let (first, second) = (builder.add(.string("A")), builder.add(.string("B")))
        let value = builder.add(.string("value of A"))
        let keys = builder.add(.dictionary([("$class", array), ("NS.objects", .array([.uid(first), .uid(second)]))]))
        let values = builder.add(.dictionary([("$class", array), ("NS.objects", .array([.uid(value), .uid(empty)]))]))
        let mapping = builder.add(.dictionary([("$class", strategy), ("keys", .uid(keys)), ("length", .integer(2))]))
        let root = builder.add(
            .dictionary([
                ("$class", known), ("values", .uid(values)), ("searchMapping", .uid(mapping)),
                ("emptyToken", .uid(empty)),
            ]))
        let entries = try #require(try KeyedArchive(builder.archive(root: root)).root.entriesByText)
        #expect(entries.map(\.key) == ["A"])
        #expect(try entries[0].value.text == "value of A")
    }

    @Test("A cycle of objects ends with an error, without a stack overflow")
    func circle() throws {
        var builder = ArchiveBuilder()
        let type = builder.addClass("Link")
        let first = builder.add(.bool(false))
        let second = builder.add(.dictionary([("$class", type), ("next", .uid(first)), ("other", .uid(first))]))
        builder.replace(first, by: .dictionary([("$class", type), ("next", .uid(second)), ("other", .uid(second))]))
        let archive = try KeyedArchive(builder.archive(root: first))
        #expect(throws: FerryError.self) { try walkAll(archive) }
        #expect(throws: FerryError.self) { try ArchivedModel.decode(archive) }
    }

    @Test("Objects that refer to each other repeatedly do not cost more than a valid archive")
    func sharedObjects() throws {
        // Forty arrays, each with fifty references to the next one: 50^40 elements in all.
        var builder = ArchiveBuilder()
        let type = builder.addClass("NSArray")
        var inner = builder.add(.string("leaf"))
        for _ in 0..<40 {
            inner = builder.add(
                .dictionary([("$class", type), ("NS.objects", .array(Array(repeating: .uid(inner), count: 50)))]))
        }
        let archive = try KeyedArchive(builder.archive(root: inner))
        let error = #expect(throws: FerryError.self) { try walkAll(archive) }
        #expect(error?.code == .badArchive)
    }

    @Test("A reference to a reference, to itself or to no object is refused")
    func brokenReferences() throws {
        for root in [ArchiveBuilder.Node.uid(1), .uid(500)] {
            var builder = ArchiveBuilder()
            let uid = builder.add(root)
            let error = #expect(throws: FerryError.self) {
                try KeyedArchive(builder.archive(root: uid)).root
            }
            #expect(error?.code == .badArchive)
        }
    }

    @Test("A list that is no keyed archive is refused with this reason")
    func noArchive() {
        #expect(throws: FerryError.self) { try KeyedArchive([]) }
        #expect(throws: FerryError.self) { try KeyedArchive(Array("bplist00 but no more".utf8)) }
        #expect(throws: FerryError.self) { try KeyedArchive(ArchiveBuilder.propertyList(.string("no archive"))) }
    }

    @Test("Counts and offsets beyond the bytes are refused")
    func hostileTrailers() throws {
        let sound = Self.smallModel()
        let trailer = sound.count - 32
        for (field, width) in [(6, 1), (7, 1), (8, 8), (16, 8), (24, 8)] {
            for value in [0, 1, 9, 255, 1 << 31, 1 << 62, -1, .max] {
                var bytes = sound
                bytes.replaceSubrange(
                    trailer + field..<trailer + field + width, with: ArchiveBuilder.bigEndian(value, width: width))
                survives(bytes)
            }
        }
    }

    @Test("Counts inside objects beyond the bytes are refused")
    func hostileCounts() throws {
        for marker: UInt8 in [0x4F, 0x5F, 0x6F, 0x7F, 0xAF, 0xCF, 0xDF] {
            for count in [
                [0x10, 255], [0x13, 127, 255, 255, 255, 255, 255, 255, 255], [0x13] + .init(repeating: 255, count: 8),
            ]
                as [[UInt8]]
            {
                var bytes = Array("bplist00".utf8) + [marker] + count
                let table = bytes.count
                bytes += [8] + [0, 0, 0, 0, 0, 0, 1, 8]
                bytes += ArchiveBuilder.bigEndian(1, width: 8) + ArchiveBuilder.bigEndian(0, width: 8)
                bytes += ArchiveBuilder.bigEndian(table, width: 8)
                let list = try PropertyList(bytes)
                let error = #expect(throws: FerryError.self) { try list.value(at: list.top) }
                #expect(error?.code == .badArchive)
            }
        }
    }

    @Test("A truncated model archive is refused, at any length")
    func truncated() throws {
        let sound = Self.smallModel()
        for length in 0..<sound.count {
            #expect(throws: FerryError.self) { try decode(Array(sound[..<length])) }
        }
    }

    @Test("A model archive with any byte changed is read or refused")
    func flipped() throws {
        let sound = Self.smallModel()
        #expect(try decode(sound).entities.count == 2)
        for position in sound.indices {
            for mask: UInt8 in [0x01, 0x82, 0xFF] {
                var bytes = sound
                bytes[position] ^= mask
                survives(bytes, walks: (position + Int(mask)) % 8 == 0)
            }
        }
        // Changes several bytes at a time, by a generator with a fixed seed.
        var state: UInt64 = 20_250_601
        for _ in 0..<2000 {
            var bytes = sound
            for _ in 0..<4 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[Int((state >> 33) % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: state >> 24)
            }
            survives(bytes, walks: state >> 60 == 0)
        }
    }

    // MARK: Shared

    private func decode(_ bytes: [UInt8]) throws(FerryError) -> ManagedObjectModel {
        try ArchivedModel.decode(try KeyedArchive(bytes))
    }

    /// Reads the archive in every way; any result is valid except a crash, a hang or another type of error.
    private func survives(_ bytes: [UInt8], walks: Bool = true) {
        do throws(FerryError) {
            let archive = try KeyedArchive(bytes)
            let model = try ArchivedModel.decode(archive)
            _ = VersionHash.hashes(of: model)
        } catch {
            #expect([.badArchive, .badModel].contains(error.code), "\(error)")
        }
        guard walks else { return }
        do throws(FerryError) { try walkAll(try KeyedArchive(bytes)) } catch {
            #expect(error.code == .badArchive, "\(error)")
        }
    }

    /// Follows every reference from the root, as deep as the reader permits.
    private func walkAll(_ archive: KeyedArchive) throws(FerryError) {
        try WorkThread.withStack { () throws(FerryError) in try walk(try archive.root) }
    }

    /// Follows every reference from an object.
    private func walk(_ object: ArchivedObject) throws(FerryError) {
        _ = try object.text
        _ = try object.data
        _ = try object.date
        for element in try object.elements ?? [] { try walk(element) }
        for (key, value) in try object.entries ?? [] {
            try walk(key)
            try walk(value)
        }
        for key: StaticString in ["next", "other", "NSEntities", "NSProperties", "NSSuperentity"] {
            if let next = try object.object(key) { try walk(next) }
        }
    }

    /// Returns an archived model with two entities, a relationship between them, a default and a constraint.
    static func smallModel() -> [UInt8] {
        var builder = ArchiveBuilder()
        let (model, entity) = (builder.addClass("NSManagedObjectModel"), builder.addClass("NSEntityDescription"))
        let attribute = builder.addClass("NSAttributeDescription", "NSPropertyDescription")
        let relationship = builder.addClass("NSRelationshipDescription", "NSPropertyDescription")
        let dictionary = builder.addClass("NSMutableDictionary", "NSDictionary")
        let array = builder.addClass("NSMutableArray", "NSArray")
        func text(_ text: String) -> ArchiveBuilder.Node { .uid(builder.add(.string(text))) }
        func make(_ entries: [(String, ArchiveBuilder.Node)]) -> ArchiveBuilder.Node {
            .uid(builder.add(.dictionary(entries)))
        }
        func map(_ entries: [(String, ArchiveBuilder.Node)]) -> ArchiveBuilder.Node {
            make([
                ("$class", dictionary), ("NS.keys", .array(entries.map { text($0.0) })),
                ("NS.objects", .array(entries.map(\.1))),
            ])
        }
        func list(_ nodes: [ArchiveBuilder.Node]) -> ArchiveBuilder.Node {
            make([("$class", array), ("NS.objects", .array(nodes))])
        }
        let title = make([
            ("$class", attribute), ("NSPropertyName", text("title")), ("NSAttributeType", .integer(700)),
            ("NSDefaultValue", text("untitled")), ("NSFlagsKey", .integer(0)), ("NSIsOptional", .bool(true)),
        ])
        let author = make([
            ("$class", relationship), ("NSPropertyName", text("author")), ("NSMaxCount", .integer(1)),
            ("_NSDestinationEntityName", text("Author")), ("_NSInverseRelationshipName", text("books")),
        ])
        let books = make([
            ("$class", relationship), ("NSPropertyName", text("books")), ("NSMaxCount", .integer(0)),
            ("_NSDestinationEntityName", text("Book")), ("_NSInverseRelationshipName", text("author")),
            ("NSDeleteRule", .integer(2)),
        ])
        let book = make([
            ("$class", entity), ("NSEntityName", text("Book")),
            ("NSProperties", map([("title", title), ("author", author)])),
            ("NSUniqueTuples", list([list([text("title")])])), ("NSUserInfo", map([("key", text("value"))])),
        ])
        let writer = make([
            ("$class", entity), ("NSEntityName", text("Author")), ("NSProperties", map([("books", books)])),
            ("NSIsAbstract", .bool(false)), ("NSRenamingIdentifier", text("Writer")),
        ])
        let root = builder.add(
            .dictionary([
                ("$class", model), ("NSEntities", map([("Book", book), ("Author", writer)])),
                ("NSVersionIdentifiers", list([text("1")])),
            ]))
        return builder.archive(root: root)
    }

    @Test("An archived model gives entities, properties and their settings")
    func archivedModel() throws {
        let model = try decode(Self.smallModel())
        #expect(model.versionIdentifiers == ["1"])
        let book = try #require(model.entities["Book"])
        let author = try #require(model.entities["Author"])
        #expect(book.attributes.first?.defaultValue == .text("untitled"))
        #expect(book.attributes.first?.isOptional == true)
        #expect(book.uniquenessConstraints == [["title"]])
        #expect(book.userInfo == ["key": "value"])
        #expect(book.relationships.first?.inverseEntity == "Author")
        #expect(author.renamingIdentifier == "Writer")
        #expect(author.relationships.first?.deleteRule == .cascade)
        #expect(author.relationships.first?.isToMany == true)
    }
}
