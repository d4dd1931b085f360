import FerryBase
import FerryModel
import FerryStore

private let modelWords = [
    "<entity name=\"A\" parentEntity=\"B\">", "</entity>", "<attribute name=\"a\" attributeType=\"Integer 64\"/>",
    "<relationship name=\"r\" destinationEntity=\"A\" inverseName=\"r\" inverseEntity=\"A\" toMany=\"YES\"/>",
    "<composite name=\"C\">", "<attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/>", "</composite>",
    "<fetchIndex name=\"i\">", "<fetchIndexElement property=\"a\" type=\"RTree\" order=\"descending\"/>",
    "</fetchIndex>",
    "<uniquenessConstraints><uniquenessConstraint><constraint value=\"a\"/>",
    "<userInfo><entry key=\"k\" value=\"v\"/>",
    " parentEntity=\"A\"", " elementID=\"A\"", " optional=\"YES\"", " derived=\"YES\" derivationExpression=\"now()\"",
    " minCount=\"9223372036854775807\"", " maxCount=\"-1\"", " defaultValueString=\"1e400\"",
    " attributeType=\"Decimal\"",
    " usesScalarValueType=\"YES\"", "YES", "NO", "A", "B", "<!--", "-->", "<![CDATA[", "]]>", "&lt;", "&#xD800;",
    "&#0;",
    "&#x10FFFF;", "&amp;", "<!DOCTYPE model [", "<!ENTITY a \"b\">", "]>",
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
    "<?pi", "xmlns:x=\"u\"", "<x:y/>", "\u{FFFD}", "\u{0}",
]

private let plainModel = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="1">
    <entity name="Base" isAbstract="YES"><attribute name="id" attributeType="UUID" optional="YES"/></entity>
    <entity name="Book" parentEntity="Base" elementID="Text"><attribute name="title" attributeType="String" \
    defaultValueString="x"/><attribute name="price" attributeType="Decimal" defaultValueString="1.5"/>
    <relationship name="authors" toMany="YES" ordered="YES" minCount="1" maxCount="9" destinationEntity="Author" \
    inverseName="books" inverseEntity="Author"/></entity>
    <entity name="Author"><attribute name="born" attributeType="Date" defaultDateTimeInterval="0"/>
    <relationship name="books" toMany="YES" destinationEntity="Book" inverseName="authors" inverseEntity="Book"/>
    </entity><configuration name="C"><memberEntity name="Book"/></configuration></model>
    """

struct SourceModelReader: FuzzReader {
    static let name = "source-model"
    static let shape = Shape.text(modelWords)
    let seeds: [[UInt8]]

    init(folder: String, corpus: Corpus) {
        seeds = [Array(plainModel.utf8)] + corpus.files { $0.hasSuffix(".xcdatamodel/contents") }
    }

    func read(_ input: [UInt8]) throws {
        let model = try SourceModel.read(input, path: "contents")
        _ = VersionHash.hashes(of: model)
        // A valid model must also give a layout and its own archive.
        let layout = try StoreLayout.canonical(for: model, foundTriggers: .assumed)
        precondition(layout.tablesInOrder.count <= model.entities.count)
        _ = try ArchivedModel.decode(KeyedArchive(ArchivedModel.encode(model)))
    }
}

/// `.xccurrentversion` and `VersionInfo.plist`, in both forms of property lists.
final class BundleListReader: FuzzReader {
    static let name = "bundle-list"
    static let shape = Shape.text([
        "<dict>", "</dict>", "<array>", "</array>", "<key>_XCCurrentVersionName</key>", "<string>", "</string>",
        "<data>", "</data>", "AAAA", "<integer>", "</integer>", "<real>", "</real>", "<true/>", "<false/>", "<date>",
        "<!ENTITY", "<plist version=\"1.0\">", "</plist>", "9223372036854775808", "bplist00",
    ])
    let seeds: [[UInt8]]
    private let bundle: String
    private let files = FileLayer()

    init(folder: String, corpus: Corpus) throws {
        bundle = folder + "/M.xcdatamodeld"
        try files.createDirectory(bundle + "/M.xcdatamodel")
        try files.replace(bundle + "/M.xcdatamodel/contents", with: Array(plainModel.utf8))
        let text = """
            <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>_XCCurrentVersionName</key>
            <string>M.xcdatamodel</string><key>d</key><dict><key>h</key><data>AAECAw==</data></dict></dict></plist>
            """
        let tree = PropertyTree.dictionary([
            "_XCCurrentVersionName": .string("M.xcdatamodel"), "list": .array([.integer(1), .array([.real(2)])]),
        ])
        seeds =
            [Array(text.utf8), tree.binary]
            + corpus.files {
                $0.hasSuffix(".xccurrentversion") || $0.hasSuffix("VersionInfo.plist")
            }
    }

    func read(_ input: [UInt8]) throws {
        try write(input, to: bundle + "/.xccurrentversion")
        _ = try ModelCatalog(paths: [bundle])
    }
}

struct CompiledModelReader: FuzzReader {
    static let name = "compiled-model"
    static let shape = Shape.propertyList
    let seeds: [[UInt8]]

    init(folder: String, corpus: Corpus) throws {
        let model = try SourceModel.read(Array(plainModel.utf8), path: "contents")
        seeds = [try ArchivedModel.encode(model)] + corpus.files { $0.hasSuffix(".mom") }
    }

    func read(_ input: [UInt8]) throws {
        let model = try ArchivedModel.decode(try KeyedArchive(input), path: "model")
        _ = VersionHash.hashes(of: model)
        _ = try StoreLayout.canonical(for: model, foundTriggers: .assumed)
    }
}

struct PropertyListReader: FuzzReader {
    static let name = "property-list"
    static let shape = Shape.propertyList
    let seeds: [[UInt8]]

    init(folder: String, corpus: Corpus) throws {
        var nested = PropertyTree.array([.string("a"), .string("a")])
        for _ in 0..<8 { nested = .array([nested, nested, .integer(1 << 40)]) }
        let tree = PropertyTree.dictionary([
            "NSStoreModelVersionHashes": .dictionary(["Book": .data([UInt8](repeating: 7, count: 32))]),
            "text": .string("ä𝄞"), "number": .integer(-1), "real": .real(0.5), "date": .date(1), "uid": .uid(3),
            "set": .set([.bool(true)]), "null": .null,
        ])
        seeds =
            [tree.binary, nested.binary]
            + corpus.files { $0.hasSuffix(".plist") || $0.hasSuffix(".mom") }
            .filter(PropertyList.isBinary)
    }

    func read(_ input: [UInt8]) throws {
        let tree = try PropertyTree(binary: input)
        // Writing and reading again gives an equal tree.
        let again = try PropertyTree(binary: tree.binary)
        precondition(again.binary == tree.binary, "A property list does not survive being written.")
    }
}

struct KeyedArchiveReader: FuzzReader {
    static let name = "keyed-archive"
    static let shape = Shape.propertyList
    let seeds: [[UInt8]]

    init(folder: String, corpus: Corpus) throws {
        seeds = try CompiledModelReader(folder: folder, corpus: corpus).seeds + [CompiledMappingReader.archive]
    }

    func read(_ input: [UInt8]) throws {
        var left = 2_000
        try walk(try KeyedArchive(input).root, &left)
    }

    /// Reads every object, within the archive's own limits and a bound.
    private func walk(_ object: ArchivedObject, _ left: inout Int) throws {
        left -= 1
        guard left > 0 else { return }
        _ = (try object.className, try object.text, object.integer, object.real, object.flag)
        _ = (try object.data, try object.date, try object.isNull)
        for (key, value) in try object.entries ?? [] {
            try walk(key, &left)
            try walk(value, &left)
        }
        for element in try object.elements ?? [] { try walk(element, &left) }
        for key: StaticString in ["NSEntities", "NSProperties", "NSSuperentity", "NSUserInfo", "NSValueExpression"] {
            if let part = try object.object(key) { try walk(part, &left) }
        }
    }
}
