internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import FerryCommand

/// Models, mapping files and stores for a test of the program, in one folder.
struct RouteFolder {
    let folder: TemporaryFolder
    /// Whether each command line is a process of its own, as tests of locks and hooks need.
    private let inProcesses: Bool

    init(inProcesses: Bool = false) throws {
        folder = try TemporaryFolder()
        self.inProcesses = inProcesses
    }

    /// Writes one version of a bundle; entities as XML.
    func model(_ bundle: String, _ version: String, _ entities: String) throws {
        try write(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                + "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">\(entities)</model>",
            to: "\(bundle).xcdatamodeld/\(version).xcdatamodel/contents")
    }

    func current(_ bundle: String, _ version: String) throws {
        try write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\(version).xcdatamodel</string></dict></plist>
            """, to: "\(bundle).xcdatamodeld/.xccurrentversion")
    }

    func write(_ text: String, to file: String) throws {
        let url = URL(fileURLWithPath: folder.file(file))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// Returns an entity with optional attributes: `title` is a string, `pages:Integer 32` has that type, `title<-name`
    /// has a renaming identifier; a part that begins with `<` is inserted unchanged.
    static func entity(_ name: String, _ parts: String...) -> String {
        let properties = parts.map { part in
            if part.hasPrefix("<") { return part }
            let (left, type) = split(part, ":")
            let (name, identifier) = split(left, "<-")
            let renamed = identifier.map { " elementID=\"\($0)\"" } ?? ""
            return "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type ?? "String")\"\(renamed)/>"
        }
        return "<entity name=\"\(name)\">\(properties.joined())</entity>"
    }

    /// Returns an optional relationship, for a part of an entity.
    static func link(
        _ name: String, _ entity: String, _ inverse: String?, toMany: Bool = true, isOrdered: Bool = false
    ) -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" \(toMany ? "toMany=\"YES\"" : "maxCount=\"1\"")"
            + (isOrdered ? " ordered=\"YES\"" : "") + " deletionRule=\"Nullify\" destinationEntity=\"\(entity)\""
            + (inverse.map { " inverseName=\"\($0)\" inverseEntity=\"\(entity)\"" } ?? "") + "/>"
    }

    /// Returns a uniqueness constraint of one attribute, for a part of an entity.
    static func unique(_ attribute: String) -> String {
        "<uniquenessConstraints><uniquenessConstraint><constraint value=\"\(attribute)\"/></uniquenessConstraint>"
            + "</uniquenessConstraints>"
    }

    private static func split(_ text: String, _ separator: String) -> (String, String?) {
        guard let range = text.range(of: separator) else { return (text, nil) }
        return (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
    }

    /// Generates a store of a version, with the given number of rows of each entity.
    func generate(_ bundle: String, _ version: String, rows: Int = 4, as store: String = "App.sqlite") throws {
        let made = Captured.run([
            "generate", folder.file("\(bundle).xcdatamodeld"), "--version", version, "--rows", "\(rows)", "--output",
            folder.file(store),
        ])
        try #require(made.exitCode == .success, "\(made.diagnostics)")
    }

    func run(_ words: String...) throws -> FerryBinary.Outcome { try run(words) }

    func run(_ words: [String]) throws -> FerryBinary.Outcome {
        try inProcesses ? FerryBinary.run(words, in: folder.path) : FerryBinary.runHere(words, in: folder.path)
    }

    /// Runs a command line as an ordinary user if this process runs as root, who may ignore permissions.
    func runUnprivileged(_ words: [String]) throws -> FerryBinary.Outcome {
        guard getuid() == 0 else { return try run(words) }
        let program = try #require(BuiltProgram.path, "the program ferry stands beside the test bundle")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        let copy = folder.file("ferry")
        if !FileManager.default.fileExists(atPath: copy) {
            try FileManager.default.copyItem(atPath: program, toPath: copy)
        }
        return try FerryBinary.run(
            ["--reuid=65534", "--regid=65534", "--clear-groups", copy] + words, in: folder.path,
            program: "/usr/bin/setpriv")
    }

    /// Runs a command line that must be refused and leave the store unchanged, byte for byte.
    @discardableResult
    func refused(_ words: String..., store: String = "App.sqlite", location: SourceLocation = #_sourceLocation) throws
        -> FerryBinary.Outcome
    {
        let before = try bytes(of: store)
        let outcome = try run(words)
        #expect(outcome.exitCode == 2, "\(outcome.output)\(outcome.diagnostics)", sourceLocation: location)
        #expect(try bytes(of: store) == before, sourceLocation: location)
        #expect(
            !FileManager.default.fileExists(atPath: folder.file(store) + ".ferry"), sourceLocation: location)
        return outcome
    }

    /// Runs a command line that must succeed.
    @discardableResult
    func done(_ words: String..., location: SourceLocation = #_sourceLocation) throws -> FerryBinary.Outcome {
        let outcome = try run(words)
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.diagnostics)", sourceLocation: location)
        return outcome
    }

    private func bytes(of store: String) throws -> [Data?] {
        ["", "-wal", "-journal"].map { try? Data(contentsOf: URL(fileURLWithPath: folder.file(store) + $0)) }
    }

    func execute(_ sql: String, on store: String = "App.sqlite") throws {
        let connection = try Connection(path: folder.file(store), mode: .readWrite)
        connection.allowSchemaWrites()
        try connection.execute(sql)
    }

    /// Leaves the store as a program does that is killed while it writes.
    func interruptWriter(_ store: String = "App.sqlite") throws {
        let path = folder.file(store)
        do {
            let writer = try Connection(path: path, mode: .readWrite)
            try writer.execute("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN")
            try writer.execute("UPDATE ZNOTE SET ZTITLE = hex(randomblob(40000))")
            for ending in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: path + ending, toPath: path + ending + ".copy")
            }
        }
        for ending in ["", "-journal"] {
            try? FileManager.default.removeItem(atPath: path + ending)
            try FileManager.default.moveItem(atPath: path + ending + ".copy", toPath: path + ending)
        }
    }

    func count(_ sql: String, in store: String = "App.sqlite") throws -> Int64 {
        try Connection(path: folder.file(store), mode: .readOnly).integer(sql) ?? -1
    }
}
