internal import FerryBase
internal import Foundation
internal import TestSupport
internal import Testing

/// Every command that a remedy prints, run as it stands there.
@Suite("A command in a remedy can be pasted")
struct PastedCommandsTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        try app.model("App", "v1", RouteFolder.entity("Note", "title", "author") + RouteFolder.entity("Tag", "name"))
        try app.model(
            "App", "v2",
            "<entity name=\"Note\"><attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
                + RouteFolder.unique("title") + "</entity>" + RouteFolder.entity("Tag", "name", "color"))
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 6)
        try app.execute("UPDATE ZNOTE SET ZTITLE = 'n' || Z_PK, ZAUTHOR = 'a'")
    }

    /// Refusals whose remedies print commands.
    enum Refusal: String, CaseIterable {
        case loss, losses, duplicates, policies, target, snapshotName, damagedSnapshot, backward
        case missing, unknown, unfinished, journal
    }

    @Test("and does what the remedy says", arguments: Refusal.allCases)
    func pastes(_ refusal: Refusal) throws {
        let refused = try app.run(try words(for: refusal))
        #expect(refused.exitCode == (refusal == .missing ? 3 : 2), "\(refused)")
        let commands = Self.commands(in: refused.output + refused.diagnostics)
        #expect(
            commands.count == ([.policies, .target, .unfinished].contains(refusal) ? 2 : 1), "\(refused.diagnostics)")
        #expect(Set(commands).count == commands.count)
        for command in commands {
            let outcome = try app.run(Self.words(of: command))
            #expect(outcome.exitCode == 0, "\(command): \(outcome)")
        }
        // What is written goes into files of its own.
        let outputs = commands.compactMap { command in
            let words = Self.words(of: command)
            return words.firstIndex(of: "--output").map { words[$0 + 1] }
        }
        #expect(Set(outputs).count == outputs.count)
        for file in outputs { #expect(FileManager.default.fileExists(atPath: app.folder.file(file)), "\(file)") }
    }

    private func words(for refusal: Refusal) throws -> [String] {
        let migrate = ["migrate", "App.sqlite", "--models", "App.xcdatamodeld"]
        switch refusal {
        case .loss: return migrate
        case .losses:
            // Not the plan alone knows what is lost.
            try app.execute("ALTER TABLE ZTAG ADD COLUMN ZCOLOR VARCHAR; UPDATE ZTAG SET ZCOLOR = 'left'")
            return migrate
        case .duplicates:
            try app.execute("UPDATE ZNOTE SET ZTITLE = 'n', ZAUTHOR = NULL")
            return migrate
        case .policies:
            for (file, entity, policy) in [("Notes", "Note", "NotePolicy"), ("Tags", "Tag", "TagPolicy")] {
                try app.write(
                    """
                    { "source": "v1", "destination": "v2", "entityMappings": [
                      { "name": "\(entity)", "source": "\(entity)", "destination": "\(entity)", "policy": "\(policy)" } ] }
                    """, to: "\(file) of the app.json")
            }
            return [
                "plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "Notes of the app.json",
                "Tags of the app.json",
            ]
        case .target:
            try app.model(
                "Other", "w1", RouteFolder.entity("Note", "title", "author") + RouteFolder.entity("Tag", "name"))
            try app.model(
                "Other", "w2", RouteFolder.entity("Note", "title", "author", "text") + RouteFolder.entity("Tag", "name")
            )
            try app.current("Other", "w2")
            return [
                "plan", "App.sqlite", "--models", "App.xcdatamodeld", "Other.xcdatamodeld", "--accept-loss",
            ]
        case .snapshotName:
            try app.done("snapshot", "create", "App.sqlite")
            return ["rollback", "App.sqlite", "None", "--output", "New.sqlite"]
        case .damagedSnapshot:
            try app.done("snapshot", "create", "App.sqlite")
            let folder = app.folder.file("App.sqlite.snapshots")
            let archive = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder).first {
                    $0.hasSuffix(".zst") || $0.hasSuffix(".gz")
                })
            try FileManager.default.removeItem(atPath: "\(folder)/\(archive)")
            return ["rollback", "App.sqlite"]
        case .backward:
            try app.done(migrate + ["--accept-loss"])
            return migrate + ["--to", "v1"]
        case .missing:
            try app.execute("ALTER TABLE ZTAG DROP COLUMN ZNAME")
            return migrate + ["--to", "v1"]
        case .unknown:
            try app.execute("CREATE VIEW authors AS SELECT ZAUTHOR FROM ZNOTE")
            return migrate + ["--accept-loss"]
        case .unfinished:
            try app.execute("ALTER TABLE ZTAG ADD COLUMN ZCOLOR VARCHAR; UPDATE ZTAG SET ZCOLOR = 'left'")
            return migrate + ["--lose", "Note.author"]
        case .journal:
            try app.interruptWriter()
            return migrate
        }
    }

    /// Command lines on lines of their own, and those in backticks that name a store.
    private static func commands(in text: String) -> [String] {
        var commands: [String] = []
        var isOpen = false
        for line in text.split(separator: "\n") {
            let words = line.trimmingCharacters(in: .whitespaces)
            let isContinued = words.hasSuffix("\\")
            let part = isContinued ? String(words.dropLast()).trimmingCharacters(in: .whitespaces) : words
            if isOpen {
                commands[commands.count - 1] += " " + part
            } else if words.hasPrefix("ferry "), !words.hasPrefix("ferry: ") {
                commands.append(part)
            } else {
                let quoted = words.split(separator: "`", omittingEmptySubsequences: false)
                for (place, part) in quoted.enumerated() where place % 2 == 1 && part.hasPrefix("ferry ") {
                    commands.append(String(part))
                }
                continue
            }
            isOpen = isContinued
        }
        return commands
    }

    /// The words after `ferry`, as a shell splits them.
    private static func words(of command: String) -> [String] {
        var words: [String] = []
        var (word, isQuoted, isBegun) = ("", false, false)
        for character in command {
            switch character {
            case "'":
                isQuoted.toggle()
                isBegun = true
            case " " where !isQuoted:
                if isBegun { words.append(word) }
                (word, isBegun) = ("", false)
            default:
                word.append(character)
                isBegun = true
            }
        }
        if isBegun { words.append(word) }
        return Array(words.dropFirst())
    }

    @Test("What no option allows is told before the losses")
    func otherRefusalFirst() throws {
        try app.model(
            "App", "v2",
            "<entity name=\"Note\"><attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/></entity>"
                + "<entity name=\"Tag\" isAbstract=\"YES\"></entity>")
        let words = ["App.sqlite", "--models", "App.xcdatamodeld"]
        let refused = try app.run(["migrate"] + words)
        let places = ["is abstract", "--lose Tag"].map { refused.diagnostics.range(of: $0)?.lowerBound }
        #expect(refused.exitCode == 2 && !places.contains(nil), "\(refused)")
        if let first = places[0], let second = places[1] { #expect(first < second, "\(refused)") }
        #expect(Self.commands(in: refused.diagnostics).isEmpty, "\(refused)")
        let allowed = try app.run(["migrate"] + words + ["--accept-loss"])
        #expect(allowed.exitCode == 2 && allowed.diagnostics.contains("is abstract"), "\(allowed)")
    }

    @Test("Two stores that are exchanged are called so")
    func exchanged() throws {
        try FileManager.default.copyItem(atPath: app.folder.file("App.sqlite"), toPath: app.folder.file("Old.sqlite"))
        try app.done("migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--accept-loss")
        let outcome = try app.run("verify", "Old.sqlite", "--models", "App.xcdatamodeld", "--source", "App.sqlite")
        #expect(outcome.exitCode == 2 && outcome.diagnostics.contains("swapped"), "\(outcome)")
        #expect(!outcome.diagnostics.contains("--to") && !outcome.diagnostics.contains("--allow-downgrade"))
    }

    @Test("A column that two properties need is named with both", arguments: [true, false])
    func clashes(_ isOfCoreData: Bool) throws {
        let link =
            "<relationship name=\"\(isOfCoreData ? "_ent" : "Title")\" optional=\"YES\" maxCount=\"1\" "
            + "destinationEntity=\"Tag\"/>"
        try app.model("App", "v2", RouteFolder.entity("Note", "title", link) + RouteFolder.entity("Tag", "name"))
        let outcome = try app.run("plan", "App.sqlite", "--models", "App.xcdatamodeld")
        let sentence =
            isOfCoreData
            ? "its column Z_ENT is also one of Core Data's own" : "its column ZTITLE is also that of Note.title"
        #expect(outcome.exitCode == 2 && outcome.output.contains(sentence), "\(outcome)")
    }
}
