import FerryBase
import FerryModel
import Foundation
import TestSupport
import Testing

/// Small models and property lists that would take much time or memory.
@Suite("Hostile models")
struct HostileModelTests {
    private func model(_ body: String) -> [UInt8] { Array("<model>\(body)</model>".utf8) }

    @Test("A model in invalid UTF-8 is refused")
    func notUTF8() {
        let error = #expect(throws: FerryError.self) {
            try SourceModel.read(Array("<model ".utf8) + [0xFF] + Array("=\"1\"/>".utf8), path: "contents")
        }
        #expect(error?.code == .badModel && error?.message.contains("UTF-8") == true)
    }

    @Test(
        "A name that is not one is refused, wherever it is",
        arguments: [
            "my-name", "x varchar; delete from zother; commit; --", "a.b", "a b", "a\"b", "a'b", "", "a\u{7F}",
        ],
        [
            "<entity name=\"%\"/>", "<entity name=\"A\"><attribute name=\"%\" attributeType=\"String\"/></entity>",
            "<entity name=\"A\"><relationship name=\"%\" destinationEntity=\"A\"/></entity>",
            "<entity name=\"A\"><fetchIndex name=\"%\"/></entity>",
            "<entity name=\"A\"/><composite name=\"C\"><attribute name=\"%\" attributeType=\"String\"/></composite>",
        ])
    func names(_ name: String, _ body: String) throws {
        let escaped = name.replacingOccurrences(of: "\"", with: "&quot;")
        let bytes = model(body.replacingOccurrences(of: "%", with: escaped))
        let error = #expect(throws: FerryError.self) { try SourceModel.read(bytes, path: "contents") }
        #expect(error?.code == .badModel && error?.message.contains("name") == true, "\(error?.message ?? "")")
        for right in ["größe_2", "_x9", "名前"] {
            _ = try SourceModel.read(model(body.replacingOccurrences(of: "%", with: right)), path: "contents")
        }
    }

    @Test("A chain of 20,000 entities is refused at once, also an endless one", arguments: [false, true])
    func chains(isCircle: Bool) throws {
        let count = 20_000
        let entities = (0..<count).map { number in
            Entity(name: "E\(number)", superentity: !isCircle && number == count - 1 ? nil : "E\((number + 1) % count)")
        }
        let text = entities.map { "<entity name=\"\($0.name)\" parentEntity=\"\($0.superentity ?? "")\"/>" }.joined()
        let bytes = model(text)
        var error: FerryError?
        let time = ProcessorTime.measure {
            error = #expect(throws: FerryError.self) { try SourceModel.read(bytes, path: "contents") }
        }
        #expect(error?.code == .badModel && error?.message.contains("ancestor") == true)
        // Queries of a model that is made in code are as fast.
        let made = ManagedObjectModel(versionIdentifiers: [], entities: Array(entities[..<2_000]))
        #expect(made.lineageNames(of: "E0").count <= 102)
        // The reading takes a fraction of this time.
        #expect(time < .seconds(20), "\(time)")
    }

    @Test(
        "Inheritance of 100 ancestors is read, of 101 is refused, and a small cycle is named",
        arguments: [(100, nil as String?), (101, "ancestors"), (-3, "its own ancestor")])
    func depth(_ ancestors: Int, _ problem: String?) throws {
        let count = abs(ancestors)
        var text = (0..<count).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 + 1)\"/>" }.joined()
        text += ancestors < 0 ? "<entity name=\"E\(count)\" parentEntity=\"E0\"/>" : "<entity name=\"E\(count)\"/>"
        guard let problem else {
            let model = try SourceModel.read(model(text), path: "contents")
            #expect(model.lineageNames(of: "E0").count == ancestors + 1 && model.root(of: "E0") == "E\(count)")
            return
        }
        let error = #expect(throws: FerryError.self) { try SourceModel.read(model(text), path: "contents") }
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test("Elements that are nested too deep, and too many of them, are refused")
    func elements() {
        for body in [
            String(repeating: "<a>", count: 100) + String(repeating: "</a>", count: 100),
            String(repeating: "<a/>", count: 200_001),
        ] {
            let error = #expect(throws: FerryError.self) { try SourceModel.read(model(body), path: "contents") }
            #expect(error?.code == .badModel && error?.message.contains("elements") == true)
        }
    }

    /// Arrays that each hold the next one many times: 30 arrays represent 14³⁰ objects.
    private static let sharedArrays: [UInt8] = {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for level in 0..<30 {
            offsets.append(bytes.count)
            bytes += [0xAE] + [UInt8](repeating: UInt8(level + 1), count: 14)
        }
        offsets.append(bytes.count)
        bytes += [0x51, 0x61]
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 0xFF)] }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [offsets.count, 0, table] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) }
        }
        return bytes
    }()

    @Test("A small property list that represents billions of objects is refused, also beside a model")
    func sharing() throws {
        #expect(Self.sharedArrays.count < 600)
        let error = #expect(throws: FerryError.self) { try PropertyTree(binary: Self.sharedArrays) }
        #expect(error?.code == .badArchive)
        let folder = try TemporaryFolder()
        let bundle = folder.file("M.xcdatamodeld")
        let files = FileLayer()
        try files.createDirectory(bundle + "/M.xcdatamodel")
        try files.replace(bundle + "/M.xcdatamodel/contents", with: model("<entity name=\"A\"/>"))
        for list in [
            Self.sharedArrays, Array("<plist><dict><key>a</key></dict></plist>".utf8), Array("<plist".utf8) + [0xC3],
            Array("<plist>\(String(repeating: "<array>", count: 5_000))".utf8), Array("{ a = b; }".utf8),
        ] {
            try files.replace(bundle + "/.xccurrentversion", with: list)
            let error = #expect(throws: FerryError.self) { try ModelCatalog(paths: [bundle]) }
            #expect(error?.code == .badModel && error?.message.contains(".xccurrentversion") == true)
        }
    }

    @Test("The current version is read from both forms of property lists")
    func currentVersion() throws {
        let folder = try TemporaryFolder()
        let bundle = folder.file("M.xcdatamodeld")
        let files = FileLayer()
        for name in ["A", "B"] {
            try files.createDirectory("\(bundle)/\(name).xcdatamodel")
            try files.replace("\(bundle)/\(name).xcdatamodel/contents", with: model("<entity name=\"\(name)\"/>"))
        }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict>
              <key>_XCCurrentVersionName</key><string>A.xcdatamodel</string>
              <key>other</key><array><integer>1</integer><real>1.5</real><true/><data>AAEC</data></array>
            </dict></plist>
            """
        let tree = PropertyTree.dictionary(["_XCCurrentVersionName": .string("A.xcdatamodel")])
        for list in [Array(text.utf8), tree.binary] {
            try files.replace(bundle + "/.xccurrentversion", with: list)
            #expect(try ModelCatalog(paths: [bundle]).currentVersion()?.name == "A")
        }
    }

    @Test("A compiled model with endless sharing of objects is refused")
    func sharedPredicates() throws {
        // Each predicate is a compound of the next one, twice; the validation of one attribute begins with the first.
        var objects: [PropertyTree] = [.string("$null")]
        func add(_ object: PropertyTree) -> PropertyTree {
            objects.append(object)
            return .uid(objects.count - 1)
        }
        func type(_ name: String) -> PropertyTree {
            add(.dictionary(["$classname": .string(name), "$classes": .array([.string(name), .string("NSObject")])]))
        }
        let (array, compound) = (type("NSArray"), type("NSCompoundPredicate"))
        var predicate = add(.dictionary(["$class": type("NSTruePredicate")]))
        func list(_ elements: [PropertyTree]) -> PropertyTree {
            add(.dictionary(["$class": array, "NS.objects": .array(elements)]))
        }
        for _ in 0..<40 {
            predicate = add(
                .dictionary([
                    "$class": compound, "NSCompoundPredicateType": .integer(1),
                    "NSSubpredicates": list([predicate, predicate]),
                ]))
        }
        let attribute = add(
            .dictionary([
                "$class": type("NSAttributeDescription"), "NSPropertyName": add(.string("a")),
                "NSAttributeType": .integer(700), "NSValidationPredicates": list([predicate]),
            ]))
        func dictionary(_ key: String, _ value: PropertyTree) -> PropertyTree {
            add(
                .dictionary([
                    "$class": type("NSDictionary"), "NS.keys": .array([add(.string(key))]),
                    "NS.objects": .array([value]),
                ]))
        }
        let entity = add(
            .dictionary([
                "$class": type("NSEntityDescription"), "NSEntityName": add(.string("A")),
                "NSProperties": dictionary("a", attribute),
            ]))
        let root = add(.dictionary(["$class": type("NSManagedObjectModel"), "NSEntities": dictionary("A", entity)]))
        let archive = PropertyTree.dictionary([
            "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
            "$top": .dictionary(["root": root]), "$objects": .array(objects),
        ]).binary
        let error = #expect(throws: FerryError.self) { try ArchivedModel.decode(KeyedArchive(archive)) }
        #expect(error?.code == .badArchive)
    }
}
