internal import FerryBase
internal import FerryModel
internal import TestSupport
internal import Testing

@Suite("The model catalog")
struct ModelCatalogTests {
    private let folder: TemporaryFolder
    private let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    private func write(_ path: String, _ text: String) throws {
        let path = folder.file(path)
        try files.createDirectory(FileLayer.parent(of: path))
        try files.replace(path, with: Array(text.utf8))
    }

    /// Writes a source model with one entity, whose number of attributes is the version's number.
    private func write(version path: String, attributes: Int, identifier: String = "") throws {
        let listed = (0..<attributes).map { #"<attribute name="a\#($0)" attributeType="String"/>"# }.joined()
        try write(
            path + "/contents",
            #"<model userDefinedModelVersionIdentifier="\#(identifier)"><entity name="E">\#(listed)</entity></model>"#)
    }

    private func write(current name: String, of bundle: String) throws {
        try write(
            bundle + "/.xccurrentversion",
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\(name).xcdatamodel</string></dict></plist>
            """)
    }

    @Test("Versions of a bundle are in natural order, the version with the bundle's name first")
    func order() throws {
        for (name, count) in [("Model 10", 10), ("Model 2", 2), ("model 3", 3), ("Model", 1), ("A", 4)] {
            try write(version: "Model.xcdatamodeld/\(name).xcdatamodel", attributes: count)
        }
        try write(current: "Model 2", of: "Model.xcdatamodeld")
        let catalog = try ModelCatalog(paths: [folder.file("Model.xcdatamodeld")])
        #expect(catalog.versions.map(\.name) == ["Model", "A", "Model 2", "model 3", "Model 10"])
        #expect(catalog.currentVersion()?.name == "Model 2")
        #expect(catalog.versions[0].bundle == "Model")
    }

    @Test("Whole-number identifiers order the versions if every version has its own")
    func identifierOrder() throws {
        try write(version: "M.xcdatamodeld/A.xcdatamodel", attributes: 1, identifier: "3")
        try write(version: "M.xcdatamodeld/B.xcdatamodel", attributes: 2, identifier: "1")
        try write(version: "N.xcdatamodeld/C.xcdatamodel", attributes: 3, identifier: "2")
        let paths = [folder.file("M.xcdatamodeld"), folder.file("N.xcdatamodeld")]
        #expect(try ModelCatalog(paths: paths).versions.map(\.name) == ["B", "C", "A"])
        try write(version: "M.xcdatamodeld/B.xcdatamodel", attributes: 2, identifier: "3")
        #expect(try ModelCatalog(paths: paths).versions.map(\.name) == ["A", "B", "C"])
    }

    @Test("A folder is searched one level down, bundles in natural order of path")
    func folderOfModels() throws {
        try write(version: "Model10.xcdatamodeld/V.xcdatamodel", attributes: 1)
        try write(version: "Model9.xcdatamodeld/V.xcdatamodel", attributes: 2)
        try write(version: "Lone.xcdatamodel", attributes: 3)
        try write(version: "deeper/Hidden.xcdatamodel", attributes: 4)
        try write("notes.txt", "no model")
        let catalog = try ModelCatalog(paths: [folder.path + "/"])
        #expect(catalog.versions.map(\.qualifiedName) == ["Lone", "Model9/V", "Model10/V"])
        #expect(catalog.versions.map(catalog.displayName(of:)) == ["Lone", "Model9/V", "Model10/V"])
    }

    @Test("A version is found by name, qualified name or the end of its path")
    func names() throws {
        for bundle in ["A", "B"] {
            try write(version: "\(bundle).xcdatamodeld/V1.xcdatamodel", attributes: bundle == "A" ? 1 : 2)
        }
        try write(version: "B.xcdatamodeld/V1.5.xcdatamodel", attributes: 3)
        let catalog = try ModelCatalog(paths: [folder.path])
        for name in ["A/V1", "A.xcdatamodeld/V1.xcdatamodel", "Project/A.xcdatamodeld/V1.xcdatamodel"] {
            #expect(try catalog.version(named: name).qualifiedName == "A/V1")
        }
        for name in ["V1.5", "B/V1.5", "V1.5.xcdatamodel", "Renamed.xcdatamodeld/V1.5.xcdatamodel"] {
            #expect(try catalog.version(named: name).qualifiedName == "B/V1.5")
        }
        #expect(try catalog.version(named: catalog.versions[0].path).path == catalog.versions[0].path)

        let ambiguous = #expect(throws: FerryError.self) { try catalog.version(named: "V1") }
        #expect(ambiguous?.code == .ambiguousVersion)
        #expect(ambiguous?.message.contains("'A/V1', 'B/V1'") == true)
        let missing = #expect(throws: FerryError.self) { try catalog.version(named: "V7") }
        #expect(missing?.code == .noSuchVersion)
        #expect(missing?.remedy.description.contains("'V1.5'") == true)
        #expect(throws: FerryError.self) { try catalog.version(named: "C/V1.5") }
    }

    @Test("Versions are found by their hashes, or the nearest one with what differs")
    func hashes() throws {
        try write(version: "M.xcdatamodeld/V1.xcdatamodel", attributes: 1)
        try write(version: "M.xcdatamodeld/V2.xcdatamodel", attributes: 2)
        try write(version: "M.xcdatamodeld/V3.xcdatamodel", attributes: 2, identifier: "same hashes")
        let catalog = try ModelCatalog(paths: [folder.file("M.xcdatamodeld")])
        #expect(catalog.versions(matching: catalog.versions[0].hashes).map(\.name) == ["V1"])
        #expect(catalog.versions(matching: catalog.versions[1].hashes).map(\.name) == ["V2", "V3"])
        var hashes = catalog.versions[0].hashes
        hashes["New"] = Array(repeating: 0, count: 32)
        #expect(catalog.versions(matching: hashes).isEmpty)
        let nearest = try #require(catalog.nearest(to: hashes))
        #expect(nearest.version.name == "V1")
        #expect(nearest.differs == ["New"])
        #expect(catalog.nearest(to: ["Other": []]) == nil)
    }

    @Test("The default target is the last bundle's current version, or the only version")
    func currentVersion() throws {
        try write(version: "A.xcdatamodeld/V1.xcdatamodel", attributes: 1)
        #expect(try ModelCatalog(paths: [folder.path]).currentVersion()?.name == "V1")
        try write(current: "V1", of: "A.xcdatamodeld")
        try write(version: "B.xcdatamodeld/W1.xcdatamodel", attributes: 2)
        try write(version: "B.xcdatamodeld/W2.xcdatamodel", attributes: 3)
        #expect(try ModelCatalog(paths: [folder.path]).currentVersion() == nil)
        try write(current: "W1", of: "B.xcdatamodeld")
        #expect(try ModelCatalog(paths: [folder.path]).currentVersion()?.name == "W1")
        // A version that is given by its own path still reads its bundle's current version.
        let lone = try ModelCatalog(paths: [folder.file("B.xcdatamodeld/W1.xcdatamodel")])
        #expect(lone.versions[0].isCurrent && lone.versions[0].bundle == "B")
    }

    @Test("Bundles are in the order of mapping models' links, the others in path order; identifiers have precedence")
    func bundlesAlongLinks() throws {
        for (bundle, count) in [("A", 1), ("B", 2), ("C", 3)] {
            try write(version: "\(bundle).xcdatamodeld/V.xcdatamodel", attributes: count)
            try write(current: "V", of: "\(bundle).xcdatamodeld")
        }
        var catalog = try ModelCatalog(paths: [folder.path])
        let (a, b, c) = (catalog.versions[0], catalog.versions[1], catalog.versions[2])
        catalog.orderBundles(along: [(b, c)])
        #expect(catalog.versions.map(\.bundle) == ["A", "B", "C"] && catalog.order == .names)
        catalog.orderBundles(along: [(c, a)])
        #expect(catalog.versions.map(\.bundle) == ["B", "C", "A"] && catalog.order == .bundlesAsMapped)
        #expect(catalog.currentVersion()?.bundle == "A")
        #expect(catalog.isBefore(c, a) && !catalog.isBefore(a, b))
        // A cycle gives no order.
        catalog = try ModelCatalog(paths: [folder.path])
        catalog.orderBundles(along: [(c, a), (a, c)])
        #expect(catalog.versions.map(\.bundle) == ["A", "B", "C"])
        for (bundle, count) in [("A", 1), ("B", 2), ("C", 3)] {
            try write(version: "\(bundle).xcdatamodeld/V.xcdatamodel", attributes: count, identifier: "\(count)")
        }
        catalog = try ModelCatalog(paths: [folder.path])
        catalog.orderBundles(along: [(catalog.versions[2], catalog.versions[0])])
        #expect(catalog.versions.map(\.bundle) == ["A", "B", "C"] && catalog.order == .identifiers)
    }

    @Test("A version given twice is kept once")
    func duplicates() throws {
        try write(version: "A.xcdatamodeld/V1.xcdatamodel", attributes: 1)
        try write(version: "copy/A.xcdatamodeld/V1.xcdatamodel", attributes: 1)
        try write(version: "other/A.xcdatamodeld/V1.xcdatamodel", attributes: 2)
        let bundles = ["A.xcdatamodeld", "copy/A.xcdatamodeld", "other/A.xcdatamodeld"].map { folder.file($0) }
        #expect(try ModelCatalog(paths: [bundles[0], bundles[1], bundles[0] + "/V1.xcdatamodel"]).versions.count == 1)
        let catalog = try ModelCatalog(paths: bundles)
        #expect(catalog.versions.count == 2)
        #expect(catalog.displayName(of: catalog.versions[1]) == bundles[2] + "/V1.xcdatamodel")
    }

    @Test("A version in the old binary form is named on request, and does not hide the others")
    func oldForm() throws {
        try write("M.xcdatamodeld/Old.xcdatamodel/elements", "binary")
        let alone = #expect(throws: FerryError.self) { try ModelCatalog(paths: [folder.file("M.xcdatamodeld")]) }
        #expect(alone?.code == .badModel)
        #expect(alone?.message.contains("Old.xcdatamodel") == true)
        #expect(alone?.remedy.isEmpty == false)
        try write(version: "M.xcdatamodeld/New.xcdatamodel", attributes: 1)
        let catalog = try ModelCatalog(paths: [folder.file("M.xcdatamodeld")])
        #expect(catalog.versions.map(\.name) == ["New"])
        #expect(catalog.unreadable.map(\.name) == ["Old"])
        #expect(catalog.currentVersion() == nil)
        let named = #expect(throws: FerryError.self) { try catalog.version(named: "Old") }
        #expect(named?.code == .badModel)
        let lone = #expect(throws: FerryError.self) {
            try ModelCatalog(paths: [folder.file("M.xcdatamodeld/Old.xcdatamodel")])
        }
        #expect(lone?.code == .badModel)
    }

    @Test("A path without a model is refused with a remedy")
    func refusals() throws {
        try files.createDirectory(folder.file("Empty.xcdatamodeld"))
        try files.createDirectory(folder.file("Empty.momd"))
        try files.createDirectory(folder.file("No contents.xcdatamodel"))
        try files.createDirectory(folder.file("nothing"))
        try write("broken.mom", "bplist00 and no more")
        try write("plain.txt", "text")
        try write("Broken.xcdatamodel/contents", "<model")
        try write("M.xcdatamodeld/.xccurrentversion", "no property list")
        try write(version: "M.xcdatamodeld/V.xcdatamodel", attributes: 1)
        for (path, code) in [
            ("absent", FerryError.Code.notFound), ("nothing", .notFound), ("Empty.xcdatamodeld", .badModel),
            ("Empty.momd", .badModel), ("No contents.xcdatamodel", .badModel), ("broken.mom", .badModel),
            ("plain.txt", .badModel), ("Broken.xcdatamodel", .badModel), ("M.xcdatamodeld", .badModel),
        ] {
            let error = #expect(throws: FerryError.self) { try ModelCatalog(paths: [folder.file(path)]) }
            #expect(error?.code == code, "\(path)")
            #expect(error?.message.contains(path) == true, "\(path): \(String(describing: error?.message))")
            #expect(error?.remedy.isEmpty == false, "\(path)")
        }
        #expect(try ModelCatalog(paths: []).versions.isEmpty)
    }

    @Test(
        "Natural order compares numbers by value",
        arguments: [
            ["Model", "Model 2", "Model 10"], ["v1.9", "v1.10", "v1.10.1", "v2"], ["a1", "a01", "A2", "b1"],
            ["2.9", "2.18446744073709551616", "2.18446744073709551617"],
        ])
    func naturalOrdering(names: [String]) {
        #expect(names.reversed().sorted(by: naturalOrder) == names.sorted(by: naturalOrder))
        #expect(zip(names, names.dropFirst()).allSatisfy { !naturalOrder($1, $0) || $0.lowercased() == "a1" })
    }
}
