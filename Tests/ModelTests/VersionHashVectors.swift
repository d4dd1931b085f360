internal import Testing

/// The verified vectors of the notes on version hashes; every expected value was read from a real file.
///
/// The vectors only have hashed properties. They leave out some destination entities of relationships, because the
/// names suffice.
struct VersionHashVector: Sendable, CustomTestStringConvertible {
    var name: String
    var entities: String
    var hashes: [String: String]
    var digest: String?
    var checksum: String?

    var testDescription: String { name }

    static let all: [VersionHashVector] = [
        VersionHashVector(
            name: "V1: two entities and a relationship",
            entities: """
                <entity name="Book">
                    <attribute name="authorName" optional="YES" attributeType="String"/>
                    <attribute name="fileURL" optional="YES" attributeType="Transformable"/>
                    <attribute name="title" optional="YES" attributeType="String"/>
                    <relationship name="user" optional="YES" minCount="1" maxCount="1" destinationEntity="User"
                        inverseName="books" inverseEntity="User"/>
                </entity>
                <entity name="User">
                    <attribute name="userId" optional="YES" attributeType="Integer 32"/>
                    <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book"
                        inverseName="user" inverseEntity="Book"/>
                </entity>
                """,
            hashes: [
                "Book": "QAj4tkrjwHQVGdiK0wEeqC4C3pQrvIhRCwPbCZIk7fU=",
                "User": "+ifl7ss57tyNIBx4GpqLk7/mDZi70ClX1CJ83vCIHmo=",
            ]),
        VersionHashVector(
            name: "V2: uniqueness, and the order of entity names",
            entities: """
                <entity name="SyncableSettingsMetadata">
                    <attribute name="key" attributeType="String"/>
                    <attribute name="lastModified" optional="YES" attributeType="Date"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="key"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                <entity name="SyncFeatureEntity">
                    <attribute name="lastModified" optional="YES" attributeType="String"/>
                    <attribute name="name" attributeType="String"/>
                    <attribute name="state" optional="YES" attributeType="String"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="name"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                """,
            hashes: [
                "SyncableSettingsMetadata": "07TVVttplTirki70JOWjXKp+1ibymh2PA79QnD1zfC0=",
                "SyncFeatureEntity": "KJuJcDoyFq/pc6B+GIlTTYZQd35E74mZMFacZyHqw1c=",
            ],
            digest: "7JWfU0xmS3IPFF52TGXSFXUZa1Qep5S4UrWN5w+CErIaLxp0rYoMraOHWZod"
                + "tjiMa3Og/MwRJeXpB4IQKrWvYQ==",
            checksum: "GuHTA/HnFj+qOrWtQ82hDdTCKqWSki1JPVIij/T8COs="),
        VersionHashVector(
            name: "V3: three levels of inheritance, transient and preserved attributes, a constraint of two columns",
            entities: """
                <entity name="Car">
                    <attribute name="color" optional="YES" attributeType="Transformable"/>
                    <attribute name="currentDrivingSpeed" optional="YES" transient="YES" attributeType="Integer 64"/>
                    <attribute name="maker" optional="YES" attributeType="String"/>
                    <attribute name="markedForDeletionAsOf" optional="YES" attributeType="Date"/>
                    <attribute name="model" optional="YES" attributeType="String"/>
                    <attribute name="numberPlate" attributeType="String"/>
                    <relationship name="owner" optional="YES" maxCount="1" destinationEntity="Person"
                        inverseName="cars" inverseEntity="Person"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="numberPlate"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                <entity name="SportCar" parentEntity="Car"/>
                <entity name="ExpensiveSportCar" parentEntity="SportCar">
                    <attribute name="isLimitedEdition" optional="YES" attributeType="Boolean"/>
                </entity>
                <entity name="Person">
                    <attribute name="firstName" optional="YES" attributeType="String"/>
                    <attribute name="id" attributeType="UUID" preserveAfterDeletion="YES"/>
                    <attribute name="isDriving" transient="YES" attributeType="Boolean"/>
                    <attribute name="lastName" optional="YES" attributeType="String"/>
                    <attribute name="updatedAt" attributeType="Date"/>
                    <relationship name="cars" optional="YES" toMany="YES" destinationEntity="Car"
                        inverseName="owner" inverseEntity="Car"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="firstName"/>
                            <constraint value="lastName"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                """,
            hashes: [
                "Car": "nlVVKQchWCING6zS+Ao9rUkZ90oyqovp7iKmp7QSbI8=",
                "SportCar": "UU7BkHpWgpn5+2hREGUWE28HVfRfpTqCOg5NRAE9UxM=",
                "ExpensiveSportCar": "PcfjKxvkW1pMeVrJrz4dEKpyItPGmugFu+tECL3rpIA=",
                "Person": "FkJoVRtFEIrnY6orph/zLTLTIyOFCYfD4hYHyNpEtys=",
            ],
            digest: "fACvwxty0QWritKFX3/LTtXZvI64UnFcRtP6qcjW1Yl0owr+rH+SpCvzy/uD"
                + "YRpknMXbgacd3srn9wmE2KkL8Q=="),
        VersionHashVector(
            name: "V4: abstract parent, derived count, fetched properties, counts, URI, UUID, Decimal",
            entities: """
                <entity name="Writer" isAbstract="YES">
                    <attribute name="age" attributeType="Integer 16"/>
                </entity>
                <entity name="Author" parentEntity="Writer">
                    <attribute name="alias" attributeType="String"/>
                    <attribute name="siteURL" optional="YES" attributeType="URI"/>
                    <relationship name="books" optional="YES" minCount="0" maxCount="-1" toMany="YES"
                        destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
                    <fetchedProperty name="feedbacks"/>
                    <fetchedProperty name="favFeedbacks"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="alias"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                <entity name="Book">
                    <attribute name="uniqueID" attributeType="UUID"/>
                    <attribute name="title" attributeType="String"/>
                    <attribute name="price" attributeType="Decimal"/>
                    <attribute name="cover" attributeType="Transformable"/>
                    <attribute name="publishedAt" attributeType="Date"/>
                    <attribute name="pagesCount" optional="YES" attributeType="Integer 64" derived="YES"
                        derivationExpression="pages.@count"/>
                    <relationship name="author" minCount="1" maxCount="1" destinationEntity="Author"
                        inverseName="books" inverseEntity="Author"/>
                    <relationship name="pages" minCount="1" maxCount="10000" toMany="YES" destinationEntity="Page"
                        inverseName="book" inverseEntity="Page"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="uniqueID"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                <entity name="GraphicNovel" parentEntity="Book">
                    <attribute name="isBlackAndWhite" attributeType="Boolean"/>
                </entity>
                <entity name="Page">
                    <attribute name="isBookmarked" attributeType="Boolean"/>
                    <attribute name="number" attributeType="Integer 32"/>
                    <attribute name="content" attributeType="Transformable"/>
                    <relationship name="book" minCount="1" maxCount="1" destinationEntity="Book" inverseName="pages"
                        inverseEntity="Book"/>
                </entity>
                <entity name="Feedback">
                    <attribute name="bookID" attributeType="UUID"/>
                    <attribute name="authorAlias" attributeType="String"/>
                    <attribute name="comment" optional="YES" attributeType="String"/>
                    <attribute name="rating" attributeType="Double"/>
                </entity>
                """,
            hashes: [
                "Writer": "1U76tdOcs/Wd+AGNteTLKRLO1Jyg/euwKaMmzXCEeyU=",
                "Author": "B7iKt2+989cByFaI6bCCDwza5rwsMdJNH9wRUlHRPRI=",
                "Book": "AeTuF/GykD2wVgdBm0pxPXLfgMkLRRC4OmC5E1Mj9ec=",
                "GraphicNovel": "poY7Pr8Gve0MDZPr1BbnTvL035a2nLBwIGotOVkvMxY=",
                "Page": "nulEX5Bg3Argc3ypMN0xIkavyXNihpy1t4deW8mJkXE=",
                "Feedback": "y0Z5PWbbAWi67XmY2z3g1Paf3tq7Fg1fMgchdWhQMcw=",
            ],
            digest: "4DP4SkxuqaFe8F0JOiaajNQd9cjhjuifuGFD+7WFwVrRgDlG0FZC2nQvTPW2"
                + "p0clmWgFv1jqkZ5RNGPr6GhOJA==",
            checksum: "OcE8L8XxVX/G+zRQ2cbYPP91smjL3tynDfRzfdDAPnU="),
        VersionHashVector(
            name: "V5: ordered and inherited relationships, a name with a leading underscore",
            entities: """
                <entity name="Animal">
                    <attribute name="species" attributeType="String"/>
                    <attribute name="color" optional="YES" attributeType="Transformable"/>
                    <relationship name="master" optional="YES" maxCount="1" destinationEntity="Person"
                        inverseName="pets" inverseEntity="Person"/>
                </entity>
                <entity name="Dog" parentEntity="Animal">
                    <attribute name="nickname" attributeType="String"/>
                    <attribute name="age" attributeType="Integer 64"/>
                    <relationship name="friends" optional="YES" toMany="YES" ordered="YES" destinationEntity="Dog"
                        inverseName="friendedBy" inverseEntity="Dog"/>
                    <relationship name="friendedBy" optional="YES" toMany="YES" destinationEntity="Dog"
                        inverseName="friends" inverseEntity="Dog"/>
                </entity>
                <entity name="Person">
                    <attribute name="title" attributeType="String"/>
                    <attribute name="name" attributeType="String"/>
                    <attribute name="job" attributeType="Transformable"/>
                    <relationship name="spouse" optional="YES" maxCount="1" destinationEntity="Person"
                        inverseName="_spouseInverse" inverseEntity="Person"/>
                    <relationship name="_spouseInverse" optional="YES" maxCount="1" destinationEntity="Person"
                        inverseName="spouse" inverseEntity="Person"/>
                    <relationship name="pets" optional="YES" toMany="YES" destinationEntity="Animal"
                        inverseName="master" inverseEntity="Animal"/>
                </entity>
                """,
            hashes: [
                "Animal": "z5WWARHVWRt58e/Fhn653rNsZEUH2M8BmltbFxaU+U8=",
                "Dog": "XVbFrZPe1gqjpetTEuWXePMANrHgnCvRXtFMec0nSFo=",
                "Person": "xu27FmC65vOQpOvwZN/eUI1Gg+6giCCjkgm9NwsdLbc=",
            ]),
        VersionHashVector(
            name: "V6: entity modifier",
            entities: """
                <entity name="Codec" versionHashModifier="13102">
                    <attribute name="fourCharCodeName" attributeType="String"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="fourCharCodeName"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                """,
            hashes: [
                "Codec": "Y7t9O8wwVVJyjU6Abcih3k84T/gBeIWz+q61BQfSTxM="
            ]),
        VersionHashVector(
            name: "V7: two uniqueness constraints",
            entities: """
                <entity name="GraphLabel">
                    <attribute name="alias" optional="YES" attributeType="String"/>
                    <attribute name="code" optional="YES" attributeType="Integer 32"/>
                    <attribute name="edgeExternalIdentifierDataHavingLabel" optional="YES" attributeType="Binary"/>
                    <attribute name="nodeExternalIdentifierDataHavingLabel" optional="YES" attributeType="Binary"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="code"/>
                        </uniquenessConstraint>
                        <uniquenessConstraint>
                            <constraint value="alias"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                """,
            hashes: [
                "GraphLabel": "IB6CDGp6ctfu2cyfL5EZc+KzGHvgGEsvSbernv1jUZA="
            ]),
        VersionHashVector(
            name: "V8: uniqueness over a relationship and an attribute",
            entities: """
                <entity name="GraphEdgeValue">
                    <attribute name="booleanValue" optional="YES" attributeType="Boolean"/>
                    <attribute name="dateValue" optional="YES" attributeType="Date"/>
                    <relationship name="edge" maxCount="1" destinationEntity="GraphEdge" inverseName="values"
                        inverseEntity="GraphEdge"/>
                    <attribute name="floatValue" optional="YES" attributeType="Double"/>
                    <attribute name="intValue" optional="YES" attributeType="Integer 64"/>
                    <attribute name="stringValue" optional="YES" attributeType="String"/>
                    <attribute name="valueName" attributeType="String"/>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="edge"/>
                            <constraint value="valueName"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                </entity>
                """,
            hashes: [
                "GraphEdgeValue": "X1F3FVWNje/akcOm9+rsEa+lhfJd1W/PDJRZHJsFJes="
            ]),
        VersionHashVector(
            name: "V9: derived key path",
            entities: """
                <entity name="GraphNode">
                    <relationship name="additionalLabels" optional="YES" toMany="YES" destinationEntity="GraphLabel"
                        inverseName="nodesBeingAdditionalLabel" inverseEntity="GraphLabel"/>
                    <attribute name="changeFlag0" attributeType="Integer 32"/>
                    <attribute name="changeFlag1" attributeType="Integer 32"/>
                    <attribute name="changeFlag2" attributeType="Integer 32"/>
                    <attribute name="changeFlag3" attributeType="Integer 32"/>
                    <attribute name="changeFlag4" attributeType="Integer 32"/>
                    <attribute name="changeFlag5" attributeType="Integer 32"/>
                    <attribute name="cloudDeleteState" attributeType="Integer 16" preserveAfterDeletion="YES"/>
                    <attribute name="cloudLocalState" attributeType="Integer 16"/>
                    <attribute name="cplChangeFlag" attributeType="Integer 32"/>
                    <relationship name="primaryLabel" optional="YES" maxCount="1" destinationEntity="GraphLabel"
                        inverseName="nodesBeingPrimaryLabel" inverseEntity="GraphLabel"/>
                    <attribute name="primaryLabelCode" optional="YES" attributeType="Integer 32" derived="YES"
                        derivationExpression="primaryLabel.code" preserveAfterDeletion="YES"/>
                    <attribute name="uuid" optional="YES" attributeType="String" preserveAfterDeletion="YES"/>
                    <relationship name="values" optional="YES" toMany="YES" destinationEntity="GraphNodeValue"
                        inverseName="node" inverseEntity="GraphNodeValue"/>
                </entity>
                """,
            hashes: [
                "GraphNode": "A/AXBwlZhoUzIZtnXsbk65pvTGf2cTj+igTxBEAGFcw="
            ]),
        VersionHashVector(
            name: "V10: a relationship that is its own inverse, modifiers on attributes",
            entities: """
                <entity name="Person" versionHashModifier="11066">
                    <attribute name="ageType" attributeType="Integer 16"/>
                    <relationship name="associatedFaceGroup" optional="YES" maxCount="1"
                        destinationEntity="DetectedFaceGroup" inverseName="associatedPerson"
                        inverseEntity="DetectedFaceGroup"/>
                    <attribute name="cloudDeleteState" attributeType="Integer 16" preserveAfterDeletion="YES"/>
                    <attribute name="cloudLocalState" attributeType="Integer 16"/>
                    <attribute name="cloudVerifiedType" optional="YES" attributeType="Integer 32"/>
                    <relationship name="clusterRejectedFaces" optional="YES" toMany="YES"
                        destinationEntity="DetectedFace" inverseName="clusterRejectedPersons"
                        inverseEntity="DetectedFace"/>
                    <attribute name="contactMatchingDictionary" optional="YES" attributeType="Transformable"/>
                    <relationship name="detectedFaces" optional="YES" toMany="YES" destinationEntity="DetectedFace"
                        inverseName="person" inverseEntity="DetectedFace"/>
                    <attribute name="displayName" optional="YES" attributeType="String"/>
                    <attribute name="faceCount" versionHashModifier="2016113001" attributeType="Integer 32"/>
                    <relationship name="faceCrops" optional="YES" toMany="YES" destinationEntity="FaceCrop"
                        inverseName="person" inverseEntity="FaceCrop"/>
                    <attribute name="fullName" optional="YES" attributeType="String"/>
                    <attribute name="genderType" attributeType="Integer 16"/>
                    <attribute name="inPersonNamingModel" attributeType="Boolean"/>
                    <relationship name="invalidMergeCandidates" optional="YES" toMany="YES"
                        destinationEntity="Person" inverseName="invalidMergeCandidates" inverseEntity="Person"/>
                    <relationship name="keyFace" optional="YES" maxCount="1" destinationEntity="DetectedFace"
                        inverseName="personBeingKeyFace" inverseEntity="DetectedFace"/>
                    <attribute name="keyFacePickSource" attributeType="Integer 16"/>
                    <attribute name="manualOrder" attributeType="Integer 32"/>
                    <relationship name="mergeCandidates" optional="YES" toMany="YES" destinationEntity="Person"
                        inverseName="mergeCandidates" inverseEntity="Person"/>
                    <relationship name="mergeSourcePersons" optional="YES" toMany="YES" destinationEntity="Person"
                        inverseName="mergeTargetPerson" inverseEntity="Person"/>
                    <relationship name="mergeTargetPerson" optional="YES" maxCount="1" destinationEntity="Person"
                        inverseName="mergeSourcePersons" inverseEntity="Person"/>
                    <relationship name="personReferences" optional="YES" toMany="YES"
                        destinationEntity="PersonReference" inverseName="person" inverseEntity="PersonReference"/>
                    <attribute name="personUUID" optional="YES" attributeType="String" preserveAfterDeletion="YES"/>
                    <attribute name="personUri" optional="YES" attributeType="String"/>
                    <attribute name="questionType" attributeType="Integer 16"/>
                    <relationship name="rejectedFaces" optional="YES" toMany="YES" destinationEntity="DetectedFace"
                        inverseName="rejectedPersons" inverseEntity="DetectedFace"/>
                    <relationship name="rejectedFacesNeedingFaceCrops" optional="YES" toMany="YES"
                        destinationEntity="DetectedFace" inverseName="rejectedPersonsNeedingFaceCrops"
                        inverseEntity="DetectedFace"/>
                    <attribute name="type" versionHashModifier="2016092101" attributeType="Integer 32"/>
                    <attribute name="verifiedType" attributeType="Integer 32"/>
                </entity>
                """,
            hashes: [
                "Person": "ZgFnxai3jAQ506gsEof+2O9hxPKAiXodKILWgKuvifM="
            ]),
    ]
}
