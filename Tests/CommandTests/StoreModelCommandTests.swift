internal import FerryBase
internal import FerryModel
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// Stores on the command line in the place of models.
@Suite("Stores as models on the command line")
struct StoreModelCommandTests {
    private let folder: TemporaryFolder

    /// Two stores of two versions, made from a bundle that is then gone.
    init() throws {
        folder = try TemporaryFolder()
        let bundle = folder.file("App.xcdatamodeld")
        for (name, extra) in [
            ("App", ""), ("App 2", #"<attribute name="motto" optional="YES" attributeType="String"/>"#),
        ] {
            let path = "\(bundle)/\(name).xcdatamodel"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try """
            <?xml version="1.0" encoding="UTF-8"?><model userDefinedModelVersionIdentifier="">
            <entity name="Team"><attribute name="name" optional="YES" attributeType="String"/>\(extra)</entity></model>
            """.write(toFile: path + "/contents", atomically: true, encoding: .utf8)
        }
        for (name, version) in [("old", "App"), ("new", "App 2")] {
            let words = ["generate", "\(bundle):\(version)", "--rows", "5", "--output", folder.file("\(name).sqlite")]
            #expect(Captured.run(words).exitCode == .success)
        }
        try FileManager.default.removeItem(atPath: bundle)
    }

    private func file(_ name: String) -> String { folder.file(name) }

    @Test("plan and migrate take NAME=STORE, say which layout is taken, and where the store's own model comes from")
    func names() throws {
        let models = ["--models", "Next=\(file("new.sqlite"))"]
        let plan = Captured.run(["plan", file("old.sqlite")] + models)
        #expect(plan.exitCode == .success, "\(plan)")
        for text in ["old.sqlite → Next", "Layout   like \(file("new.sqlite"))", "the one in the store"] {
            #expect(plan.output.contains(text), "\(plan.output)")
        }
        let json = Captured.run(["plan", file("old.sqlite")] + models, isJSON: true).output
        #expect(json.contains("\"isOwnModel\": true") && json.contains("\"layoutStore\": \"\(file("new.sqlite"))\""))
        let report = Captured.run(["migrate", file("old.sqlite"), "--snapshot", "none"] + models)
        #expect(report.exitCode == .success && report.output.contains("Layout        like \(file("new.sqlite"))"))
        let verified = Captured.run(["verify", file("old.sqlite")] + models)
        #expect(verified.exitCode == .success, "\(verified)")
    }

    @Test("A store that is given as its own model is not newer by its file's name")
    func ownModel() throws {
        let (own, bundle) = (file("zzz.sqlite"), file("Made.xcdatamodeld"))
        try FileManager.default.moveItem(atPath: file("old.sqlite"), toPath: own)
        #expect(Captured.run(["model", "export", file("new.sqlite"), "--output", bundle]).exitCode == .success)
        for models in [[own, bundle], ["Z=\(own)", bundle], [own, file("new.sqlite"), "--to", "new.sqlite"]] {
            let plan = Captured.run(["plan", own, "--models"] + models)
            #expect(plan.exitCode == .success && plan.output.hasPrefix("Runs."), "\(plan)")
        }
    }

    @Test("A file whose name has the sign is a path; a name before anything but a store is refused")
    func signs() throws {
        try FileManager.default.copyItem(atPath: file("new.sqlite"), toPath: file("a=b.sqlite"))
        let path = Captured.run(["plan", file("old.sqlite"), "--models", file("a=b.sqlite")])
        #expect(path.exitCode == .success && path.output.contains("→ a=b.sqlite"), "\(path)")
        let absent = Captured.run(["plan", file("old.sqlite"), "--models", "Next=\(file("none.sqlite"))"])
        #expect(absent.exitCode == .refused && absent.diagnostics.contains("There is no model at"))
        let other = Captured.run(["plan", file("old.sqlite"), "--models", "Next=\(folder.path)"])
        #expect(other.exitCode != .success && other.diagnostics.contains("is not a store"), "\(other)")
    }

    @Test("ferry.json names stores from its own folder")
    func config() throws {
        try #"{ "models": ["Next=new.sqlite"] }"#.write(
            toFile: file("ferry.json"), atomically: true, encoding: .utf8)
        let plan = Captured.run(["plan", file("old.sqlite"), "--config", file("ferry.json")])
        #expect(plan.exitCode == .success && plan.output.contains("→ Next"), "\(plan)")
        let made = Captured.run([
            "config", "init", "--models", "Next=\(file("new.sqlite"))", "--output", file("made.json"),
        ])
        #expect(made.exitCode == .success)
        #expect(try String(contentsOfFile: file("made.json"), encoding: .utf8).contains("Next=\(file("new.sqlite"))"))
    }

    @Test("inspect, hashes, graph, diff, generate and mapping check take stores")
    func otherCommands() throws {
        let (old, new) = (file("old.sqlite"), file("new.sqlite"))
        #expect(Captured.run(["inspect", old, "--models", "First=\(old)"]).output.contains("Version    First"))
        #expect(Captured.run(["inspect", new, "--hashes"]).output.contains("new.sqlite  \(new)"))
        #expect(Captured.run(["graph", old, new, "--format", "dot"]).output.contains("new.sqlite"))
        #expect(Captured.run(["diff", old, new]).output.contains("motto"))
        let map = file("map.json")
        #expect(Captured.run(["mapping", "init", old, new, "--output", map]).exitCode == .success)
        let check = Captured.run(["mapping", "check", map, "--models", old, new])
        #expect(check.exitCode == .success, "\(check)")
        let generated = Captured.run(["generate", new, "--rows", "0", "--output", file("made.sqlite")])
        #expect(generated.exitCode == .success && generated.output.contains("new.sqlite"), "\(generated)")
    }

    @Test("model export writes a bundle from stores, names a known version, and tells where nothing was written")
    func export() throws {
        let bundle = file("Made.xcdatamodeld")
        func export(_ store: String, _ more: [String] = [], isJSON: Bool = false) -> Captured {
            Captured.run(["model", "export", file(store), "--output", bundle] + more, isJSON: isJSON)
        }
        let first = export("old.sqlite")
        #expect(first.exitCode == .success && first.output.contains("Made.xcdatamodel: 1 entity"), "\(first)")
        let second = export("new.sqlite", isJSON: true)
        #expect(second.output.contains("\"version\": \"Made 2\"") && second.output.contains("\"written\": true"))
        let again = export("old.sqlite")
        #expect(again.exitCode == .success && again.output.contains("'Made'. Nothing was written"), "\(again)")
        #expect(export("old.sqlite", ["--name", "../x"]).exitCode == .usage)
        let catalog = try ModelCatalog(paths: [bundle])
        #expect(catalog.currentVersion()?.name == "Made 2" && catalog.versions.count == 2)
        // The exported bundle is a bundle of models like any other: the store's version is found in it.
        let plan = Captured.run(["plan", file("old.sqlite"), "--models", bundle])
        #expect(plan.exitCode == .success && plan.output.contains("Made → Made 2"), "\(plan)")
        // A source model is copied as it is.
        let copied = Captured.run([
            "model", "export", "\(bundle):Made", "--output", file("Copy.xcdatamodeld"), "--name", "One",
        ])
        #expect(copied.exitCode == .success, "\(copied)")
        let bytes = try ["Made.xcdatamodeld/Made", "Copy.xcdatamodeld/One"].map {
            try Data(contentsOf: URL(fileURLWithPath: file("\($0).xcdatamodel/contents")))
        }
        #expect(bytes[0] == bytes[1])
        #expect(Captured.run(["model", "export", file("old.sqlite"), "--output", file("x.mom")]).exitCode == .usage)
    }
}
