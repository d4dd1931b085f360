internal import FerryBase
internal import FerryModel
internal import Testing

@Suite("Version hashes")
struct VersionHashTests {
    @Test("Hashes, digest and checksum are those that Core Data wrote", arguments: VersionHashVector.all)
    func vector(_ vector: VersionHashVector) throws {
        let hashes = VersionHash.hashes(of: try model(vector.entities))
        #expect(Set(hashes.keys) == Set(vector.hashes.keys))
        for (entity, hash) in vector.hashes {
            #expect(hashes[entity].map(VersionHash.base64) == hash, "\(entity)")
        }
        if let digest = vector.digest { #expect(VersionHash.digest(hashes) == digest) }
        if let checksum = vector.checksum { #expect(VersionHash.checksum(hashes) == checksum) }
    }

    @Test("The intermediate values of a hash are the published ones")
    func intermediateValues() throws {
        let model = try model(VersionHashVector.all[0].entities)
        let user = try #require(model.entities["User"])
        let book = try #require(model.entities["Book"])
        #expect(
            VersionHash.base("books", isOptional: true, modifier: nil).hexadecimal
                == "7091ebde5159afb4ada418a9d1328b6da515f8067b2929a18efb732a770b4a2e")
        #expect(
            VersionHash.hash(user.relationships[0], of: user, in: model).hexadecimal
                == "6824a40a844d8eecf16d16561c8408d61d7b0c6fca3f21767d5833944f9dc024")
        #expect(
            VersionHash.base("userId", isOptional: true, modifier: nil).hexadecimal
                == "e8dbcbacd908658c9f804cfe4d0aaff11c27a977c66bf84a9c6ad5d9c79eb032")
        #expect(
            VersionHash.hash(user.attributes[0], in: model).hexadecimal
                == "bee25bcfdff8616e4d1679a7ffb28efb083bc2e6d7b90e45a79895d195251e32")
        #expect(
            VersionHash.hash(book.relationships[0], of: book, in: model).hexadecimal
                == "eab887a63ac305139a0991737d07e30359a937957d94251dc112b32f39ddfef6")
    }

    @Test("Base64 pads to groups of four", arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")])
    func base64(text: String, encoded: String) {
        #expect(VersionHash.base64(Array(text.utf8)) == encoded)
    }

    /// A change of a model and whether it must change the entity's hash.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isHashed: Bool
        var apply: @Sendable (inout Entity) -> Void
    }

    private static let changes: [Change] = [
        Change(testDescription: "delete rule", isHashed: false) { $0.relationships[0].deleteRule = .cascade },
        Change(testDescription: "default value", isHashed: false) { $0.attributes[0].defaultValue = .integer(7) },
        Change(testDescription: "renaming identifiers", isHashed: false) {
            $0.renamingIdentifier = "Old"
            $0.attributes[0].renamingIdentifier = "old"
        },
        Change(testDescription: "user info", isHashed: false) { $0.userInfo["key"] = "value" },
        Change(testDescription: "class and transformer", isHashed: false) {
            $0.className = "Class"
            $0.attributes[0].valueTransformerName = "Transformer"
        },
        Change(testDescription: "indexes", isHashed: false) {
            $0.attributes[0].isIndexed = true
            $0.fetchIndexes = [FetchIndex(name: "by", elements: [FetchIndex.Element(property: "number")])]
        },
        Change(testDescription: "order of the file", isHashed: false) { $0.attributes.reverse() },
        Change(testDescription: "a transient attribute", isHashed: false) {
            $0.attributes.append(Attribute(name: "shown", type: .string, isTransient: true))
        },
        Change(testDescription: "a fetched property", isHashed: false) {
            $0.fetchedProperties = [FetchedProperty(name: "found")]
        },
        Change(testDescription: "one of the flags external storage and preservation for the other", isHashed: true) {
            $0.attributes[0].allowsExternalStorage = true
        },
        Change(testDescription: "optional", isHashed: true) { $0.attributes[0].isOptional = true },
        Change(testDescription: "type", isHashed: true) { $0.attributes[0].type = .integer64 },
        Change(testDescription: "ordered", isHashed: true) { $0.relationships[0].isOrdered = true },
        Change(testDescription: "max count", isHashed: true) { $0.relationships[0].maxCount = 1 },
        Change(testDescription: "min count", isHashed: true) { $0.relationships[0].minCount = 1 },
        Change(testDescription: "modifier", isHashed: true) { $0.versionHashModifier = "2" },
        Change(testDescription: "property modifier", isHashed: true) { $0.attributes[0].versionHashModifier = "2" },
        Change(testDescription: "abstract", isHashed: true) { $0.isAbstract = true },
        Change(testDescription: "uniqueness", isHashed: true) { $0.uniquenessConstraints = [["number"]] },
    ]

    @Test("A change of the model changes its hash exactly where Core Data compares it", arguments: changes)
    func change(_ change: Change) throws {
        let entity = Entity(
            name: "Thing",
            attributes: [Attribute(name: "number", type: .integer16), Attribute(name: "text", type: .string)],
            relationships: [Relationship(name: "parts", destinationEntity: "Part", inverseName: "thing", maxCount: 0)])
        var changed = entity
        change.apply(&changed)
        let before = VersionHash.hashes(of: ManagedObjectModel(versionIdentifiers: [], entities: [entity]))
        let after = VersionHash.hashes(of: ManagedObjectModel(versionIdentifiers: [], entities: [changed]))
        #expect((before != after) == change.isHashed)
    }

    @Test("A derived attribute is hashed by its printed expression alone")
    func derived() throws {
        func hash(_ attribute: String) throws -> String? {
            VersionHash.hashes(of: try model("<entity name=\"E\">\(attribute)</entity>"))["E"].map(VersionHash.base64)
        }
        let plain = try hash(
            #"<attribute name="n" attributeType="Integer 64" derived="YES" derivationExpression="a.@count"/>"#)
        let printed = try hash(
            #"<attribute name="n" optional="YES" attributeType="Double" derived="YES" derivationExpression="count:(a)"/>"#
        )
        let other = try hash(
            #"<attribute name="n" attributeType="Integer 64" derived="YES" derivationExpression="a.@sum"/>"#)
        #expect(plain == printed)
        #expect(plain != other)
    }

    @Test("Attributes that the user info preserves for tombstones are hashed as preserved")
    func tombstones() throws {
        let listed = try model(
            #"<entity name="E"><attribute name="a" attributeType="UUID"/><attribute name="b" attributeType="UUID"/>"#
                + #"<userInfo><entry key="NSPersistentHistoryTombstoneAttributes" value="a, b"/></userInfo></entity>"#)
        let flagged = try model(
            #"<entity name="E"><attribute name="a" attributeType="UUID" preserveAfterDeletion="YES"/>"#
                + #"<attribute name="b" attributeType="UUID" preserveAfterDeletion="YES"/></entity>"#)
        #expect(VersionHash.hashes(of: listed) == VersionHash.hashes(of: flagged))
    }

    @Test("A composite is hashed by its leaves, independent of its name and nesting")
    func composite() throws {
        let leaves =
            #"<attribute name="street" attributeType="String"/><attribute name="city" attributeType="String"/>"#
        let flat = try model(
            #"<entity name="E"><attribute name="a" attributeType="Composite" composite="Address"/></entity>"#
                + #"<composite name="Address">\#(leaves)</composite>"#)
        let nested = try model(
            #"<entity name="E"><attribute name="a" attributeType="Composite" composite="Outer"/></entity>"#
                + #"<composite name="Outer"><attribute name="x" attributeType="Composite" composite="Inner"/></composite>"#
                + #"<composite name="Inner">\#(leaves)</composite>"#)
        #expect(VersionHash.hashes(of: flat) == VersionHash.hashes(of: nested))
        let expected = SHA256.hash(
            Array("E".utf8) + [0]
                + SHA256.hash(
                    ["city", "street"].flatMap {
                        SHA256.hash(SHA256.hash(Array($0.utf8) + [0, 0]) + [0xBC, 2, 0, 0])
                    }))
        #expect(VersionHash.hashes(of: flat)["E"] == expected)
    }

    private func model(_ entities: String) throws -> ManagedObjectModel {
        try SourceModel.readUnchecked(Array("<model>\(entities)</model>".utf8), path: "test")
    }
}
