internal import FerryBase
internal import FerryModel
internal import Testing

@Suite("Source models")
struct SourceModelTests {
    private func model(_ content: String, attributes: String = "") throws(FerryError) -> ManagedObjectModel {
        try SourceModel.read(Array("<?xml version=\"1.0\"?><model \(attributes)>\(content)</model>".utf8), path: "test")
    }

    @Test("All properties for hash and layout are read")
    func everything() throws {
        let model = try model(
            """
            <entity name="Book" representedClassName="MyBook" elementID="Volume" versionHashModifier="2" syncable="YES">
                <attribute name="title" optional="YES" attributeType="String" defaultValueString="" elementID="name"/>
                <attribute name="cover" attributeType="Transformable" customClassName="Cover"
                    valueTransformerName="CoverTransformer" allowsExternalBinaryDataStorage="YES"/>
                <attribute name="pagesCount" attributeType="Integer 64" derived="YES"
                    derivationExpression="pages.@count"/>
                <attribute name="uuid" attributeType="UUID" preserveAfterDeletion="YES" indexed="YES"/>
                <attribute name="shown" transient="YES"/>
                <attribute name="place" attributeType="Composite" composite="Place"/>
                <relationship name="pages" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade"
                    destinationEntity="Page" inverseName="book" inverseEntity="Page" minCount="2" maxCount="10"/>
                <fetchedProperty name="similar"/>
                <fetchIndex name="byTitle" partialIndexPredicate="title != nil">
                    <fetchIndexElement property="title" type="Binary" order="descending"/>
                    <fetchIndexElement expression="entity" expressionType="String" type="RTree" order="ascending"/>
                </fetchIndex>
                <uniquenessConstraints>
                    <uniquenessConstraint><constraint value="uuid"/></uniquenessConstraint>
                    <uniquenessConstraint><constraint value="title"/><constraint value="cover"/></uniquenessConstraint>
                </uniquenessConstraints>
                <compoundIndexes><compoundIndex><index value="title"/><index value="uuid"/></compoundIndex></compoundIndexes>
                <userInfo><entry key="a" value="1"/><entry key="b" value=""/></userInfo>
            </entity>
            <entity name="Novel" parentEntity="Book" isAbstract="YES"/>
            <entity name="Page"><relationship name="book" maxCount="1" deletionRule="Nullify" destinationEntity="Book"
                inverseName="pages" inverseEntity="Book"/></entity>
            <composite name="Place"><attribute name="row" attributeType="Integer 16" optional="YES"/></composite>
            <configuration name="Local"><memberEntity name="Book"/><memberEntity name="Page"/></configuration>
            <elements><element name="Book" positionX="1"/></elements>
            """, attributes: #"userDefinedModelVersionIdentifier="3""#)
        #expect(model.versionIdentifiers == ["3"])
        #expect(model.configurations == ["Local": ["Book", "Page"]])
        #expect(model.composites["Place"]?.map(\.name) == ["row"])
        #expect(model.entities["Novel"]?.isAbstract == true)
        #expect(model.attribute("title", of: "Novel")?.defaultValue == .text(""))

        let book = try #require(model.entities["Book"])
        #expect(book.className == "MyBook")
        #expect(book.renamingIdentifier == "Volume")
        #expect(book.versionHashModifier == "2")
        #expect(book.uniquenessConstraints == [["uuid"], ["title", "cover"]])
        #expect(book.compoundIndexes == [["title", "uuid"]])
        #expect(book.userInfo == ["a": "1", "b": ""])
        #expect(book.fetchedProperties.map(\.name) == ["similar"])
        let index = try #require(book.fetchIndexes.first)
        #expect(index.partialIndexPredicate == "title != nil")
        #expect(index.elements.map(\.isAscending) == [false, true])
        #expect(index.elements.map(\.kind) == [.binary, .rtree])
        #expect(index.elements.map(\.expression) == [nil, "entity"])

        #expect(book.attributes.map(\.name) == ["title", "cover", "pagesCount", "uuid", "shown", "place"])
        #expect(book.attributes.map(\.type) == [.string, .transformable, .integer64, .uuid, .undefined, .composite])
        #expect(book.attributes[0].isOptional && !book.attributes[1].isOptional)
        #expect(book.attributes[0].renamingIdentifier == "name")
        #expect(book.attributes[1].allowsExternalStorage)
        #expect(book.attributes[1].valueTransformerName == "CoverTransformer")
        #expect(book.attributes[1].valueClassName == "Cover")
        #expect(book.attributes[2].derivationExpression == "pages.@count")
        #expect(book.attributes[3].preservesValueAfterDeletion && book.attributes[3].isIndexed)
        #expect(book.attributes[4].isTransient)
        #expect(book.attributes[5].compositeName == "Place")

        let pages = try #require(book.relationships.first)
        #expect(pages.isOrdered && pages.isToMany && pages.isOptional)
        #expect(pages.minCount == 2 && pages.maxCount == 10)
        #expect(pages.deleteRule == .cascade)
        #expect(model.inverse(of: pages)?.name == "book")
        #expect(model.inverse(of: pages)?.maxCount == 1)
    }

    @Test(
        "A default becomes the value that its type stores",
        arguments: [
            (#"attributeType="Boolean" defaultValueString="YES""#, DefaultValue.integer(1)),
            (#"attributeType="Boolean" defaultValueString="NO""#, .integer(0)),
            (#"attributeType="Boolean" defaultValueString="1""#, .integer(1)),
            (#"attributeType="Integer 16" defaultValueString="-1""#, .integer(-1)),
            (#"attributeType="Integer 64" defaultValueString="9223372036854775807""#, .integer(.max)),
            (#"attributeType="Integer 32" defaultValueString="NO""#, .integer(0)),
            (#"attributeType="Integer 16" defaultValueString="0.0""#, .integer(0)),
            (#"attributeType="Integer 16""#, nil),
            (#"attributeType="Double" defaultValueString="2.5""#, .real(2.5)),
            (#"attributeType="Float" defaultValueString="0.1""#, .real(Double(Float(0.1)))),
            (#"attributeType="Decimal" defaultValueString="0.0""#, .real(0)),
            (#"attributeType="String" defaultValueString="""#, .text("")),
            (#"attributeType="String" defaultValueString="a""#, .text("a")),
            (
                #"attributeType="Date" defaultDateTimeInterval="380894400" defaultValueString="today""#,
                .real(380_894_400)
            ),
            (#"attributeType="Date" defaultValueString="today""#, nil),
            (#"attributeType="URI" defaultValueString="file:///""#, .text("file:///")),
            (
                #"attributeType="UUID" defaultValueString="00010203-0405-0607-0809-0A0B0C0D0E0F""#,
                .blob(Array(0...15))
            ),
        ] as [(String, DefaultValue?)])
    func defaults(attribute: String, value: DefaultValue?) throws {
        let model = try model(#"<entity name="E"><attribute name="a" \#(attribute)/></entity>"#)
        #expect(model.entities["E"]?.attributes.first?.defaultValue == value)
    }

    @Test("An empty version identifier is one empty text, as Core Data stores it")
    func emptyIdentifier() throws {
        #expect(try model("", attributes: #"userDefinedModelVersionIdentifier="""#).versionIdentifiers == [""])
        #expect(try model("").versionIdentifiers == [""])
    }

    @Test(
        "A contradictory model is refused, and the message names the place",
        arguments: [
            (#"<entity name="A"/><entity name="A"/>"#, "entity 'A' twice"),
            (#"<entity/>"#, "has no name"),
            (#"<entity name="A" parentEntity="B"/><entity name="B" parentEntity="A"/>"#, "its own ancestor"),
            (#"<entity name="A" parentEntity="A"/>"#, "its own ancestor"),
            (#"<entity name="A" parentEntity="C"/>"#, "unknown parent 'C'"),
            (#"<entity name="A"><attribute name="x" attributeType="Colour"/></entity>"#, "'A.x'"),
            (#"<entity name="A"><attribute name="x"/><attribute name="x"/></entity>"#, "property 'x' twice"),
            (#"<entity name="A"><relationship name="r" destinationEntity="B"/></entity>"#, "'A.r'"),
            (#"<entity name="A"><relationship name="r"/></entity>"#, "'A.r'"),
            (#"<entity name="A"><relationship name="r" destinationEntity="A" maxCount="many"/></entity>"#, "'A.r'"),
            (
                #"<entity name="A"><relationship name="r" destinationEntity="A" deletionRule="Maybe"/></entity>"#,
                "'A.r'"
            ),
            (#"<entity name="A"><attribute name="x" derived="YES"/></entity>"#, "'A.x'"),
            (#"<entity name="A"><attribute name="x" attributeType="Composite"/></entity>"#, "'A.x'"),
            (#"<entity name="A"><attribute name="x" attributeType="Composite" composite="C"/></entity>"#, "'A.x'"),
            (
                #"<entity name="A"><attribute name="x" attributeType="Composite" composite="C"/></entity>"#
                    + #"<composite name="C"><attribute name="y" attributeType="Composite" composite="C"/></composite>"#,
                "'A.x'"
            ),
        ])
    func contradictions(content: String, place: String) {
        let error = #expect(throws: FerryError.self) { try model(content) }
        #expect(error?.code == .badModel)
        #expect(error?.message.contains(place) == true, "\(String(describing: error?.message))")
        #expect(error?.remedy.isEmpty == false)
    }

    @Test(
        "A model that is not well-formed is refused with its path",
        arguments: [
            "", "no XML at all", "<model>", "<model></entity>", "<html/>", "<model><entity name=\"A\"></model>",
            "<model \u{0}/>", "bplist00",
            "<!DOCTYPE m [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><model><entity name=\"&b;\"/></model>",
            String(repeating: "<model>", count: 1000),
        ])
    func malformed(text: String) {
        let error = #expect(throws: FerryError.self) { try SourceModel.read(Array(text.utf8), path: "Some.contents") }
        #expect(error?.code == .badModel)
        #expect(error?.message.contains("Some.contents") == true)
    }

    @Test("An external entity is never fetched")
    func externalEntity() throws {
        let text = """
            <!DOCTYPE model [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
            <model><entity name="A"><userInfo><entry key="k" value="v"/></userInfo>&secret;</entity></model>
            """
        // The reader refuses or ignores the entity, but must not read the file.
        if let model = try? SourceModel.read(Array(text.utf8), path: "test") {
            #expect(model.entities["A"]?.userInfo == ["k": "v"])
        }
    }
}
