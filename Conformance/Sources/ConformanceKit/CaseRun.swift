import Foundation

/// One result of a case.
public struct Finding: Sendable, Hashable, CustomStringConvertible {
    public var check: String
    /// The failure; nil on success.
    public var problem: String?

    public var description: String { problem.map { "✘ \(check): \($0)" } ?? "✔ \(check)" }
}

/// Runs one case in a folder of its own.
public struct CaseRun {
    let one: ConformanceCase
    let ferry: FerryProgram
    /// Nil where the system has no Core Data: then only Ferry's half runs.
    let coreData: (any CoreDataSide)?
    let folder: URL

    public init(_ one: ConformanceCase, ferry: FerryProgram, coreData: (any CoreDataSide)?, folder: URL) {
        self.one = one
        self.ferry = ferry
        self.coreData = coreData
        self.folder = folder
    }

    /// - Throws: When the case cannot run to its end.
    public func findings() throws -> [Finding] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let source = folder.appendingPathComponent("source.sqlite")
        try ferry.demand(ferry.generate(one, to: source.path))
        let before = try coreData?.record(store: source, of: one.source, in: one)

        let migrated = folder.appendingPathComponent("ferry.sqlite")
        let output: Data
        switch one.mode {
        case .output: output = try ferry.demand(ferry.migrate(one, store: source.path, output: migrated.path))
        case .inPlace:
            try Self.copy(source, to: migrated)
            output = try ferry.demand(ferry.migrate(one, store: migrated.path, output: nil))
        }
        let migration = try ferry.migration(output)
        var findings = [
            Finding(
                check: "Ferry migrates \(one.source) to \(one.destination)",
                problem: migration.outcome == "migrated" && migration.to == one.destination
                    ? nil : "outcome \(migration.outcome), version \(migration.to ?? "unknown")")
        ]
        if let coreData, let before {
            findings += try compare(source, migrated, before, coreData)
        }
        let verification = try ferry.run(ferry.verify(one, store: migrated.path))
        findings.append(
            Finding(
                check: coreData == nil ? "Ferry finds nothing wrong" : "Ferry finds nothing wrong after the change",
                problem: verification.exitCode == 0 ? nil : "verify ended with \(verification.exitCode)"))
        return findings
    }

    private func compare(
        _ source: URL, _ migrated: URL, _ before: StoreRecord, _ coreData: any CoreDataSide
    ) throws -> [Finding] {
        let ours = try coreData.record(store: migrated, of: one.destination, in: one)
        var findings = [
            Finding(check: "Core Data opens the store and finds objects", problem: ours.objects.isEmpty ? "none" : nil),
            Finding(
                check: "Every relationship leads to an object",
                problem: ours.danglingLinks.isEmpty ? nil : ours.danglingLinks.prefix(5).joined(separator: ", ")),
        ]
        if one.keepsKeys {
            findings.append(
                Finding(
                    check: "Every object keeps its key",
                    problem: ours.keys == before.keys ? nil : "the keys are not those of the source"))
        }
        let copy = folder.appendingPathComponent("original.sqlite")
        try Self.copy(source, to: copy)
        let theirs = folder.appendingPathComponent("coredata.sqlite")
        try coreData.migrate(copy, to: theirs, in: one)
        let expected = try coreData.record(store: theirs, of: one.destination, in: one)
        let comparison = StoreComparison(ours, expected)
        findings.append(
            Finding(
                check: "The store holds what NSMigrationManager makes of it",
                problem: comparison.differences.isEmpty
                    ? nil : comparison.differences.map(\.description).joined(separator: "; ")))
        let saved = try coreData.change(store: migrated, of: one.destination, in: one)
        let after = try coreData.record(store: migrated, of: one.destination, in: one)
        findings.append(
            Finding(
                check: "Core Data saves changes to the store",
                problem: saved == 0 ? "nothing was saved" : after == ours ? nil : "the store is not as before"))
        return findings
    }

    /// Copies a store with its companion files.
    private static func copy(_ store: URL, to other: URL) throws {
        let files = FileManager.default
        for ending in ["", "-wal", "-shm"] where files.fileExists(atPath: store.path + ending) {
            try files.copyItem(atPath: store.path + ending, toPath: other.path + ending)
        }
        let support = support(of: store)
        if files.fileExists(atPath: support.path) { try files.copyItem(at: support, to: Self.support(of: other)) }
    }

    private static func support(of store: URL) -> URL {
        store.deletingLastPathComponent()
            .appendingPathComponent(".\(store.deletingPathExtension().lastPathComponent)_SUPPORT")
    }
}
