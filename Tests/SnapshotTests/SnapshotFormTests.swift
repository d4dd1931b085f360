import FerryBase
import FerrySnapshot
import Foundation
import TestSupport
import Testing

/// Runs the other tests, which use the preferred form, with each form of the build.
@Suite("The forms of snapshots")
struct SnapshotFormTests {
    private let folder: TemporaryFolder
    private let files = FileLayer()
    private let store: SnapshotStore

    init() throws {
        folder = try TemporaryFolder()
        store = SnapshotStore(folder: folder.file("App.sqlite.snapshots"), files: files)
    }

    private func create(
        _ source: MemorySource, _ form: SnapshotForm, level: Int = 1, created: Int64 = 1_795_169_700,
        frameBytes: Int64 = 64 << 10, unitBytes: Int64 = 64 << 10, processors: Int = 2
    ) throws -> Snapshot {
        var options = SnapshotOptions(fingerprint: "a")
        options.form = form
        options.level = level
        (options.frameBytes, options.unitBytes, options.processors) = (frameBytes, unitBytes, processors)
        return try store.create(
            from: source,
            description: SnapshotDescription(
                created: created, store: "App.sqlite", version: "Model2", tool: "ferry test"),
            options: options)
    }

    private func restored(_ snapshot: Snapshot) throws -> [UInt8] {
        let path = folder.file("back.sqlite")
        try files.removeIfPresent(path)
        try store.restore(snapshot, to: path, externalFolder: nil)
        return try files.read(path, limit: 1 << 30)
    }

    @Test(
        "A snapshot of each form verifies and restores", arguments: SnapshotForm.known,
        [0, 1, 65_536, 262_144, 300_001, 1_100_000])
    func roundTrip(form: SnapshotForm, count: Int) throws {
        let source = MemorySource(count: count)
        let snapshot = try create(source, form)
        #expect(snapshot.form == form && snapshot.archivePath.hasSuffix(form.ending) && snapshot.problem == nil)
        #expect(try store.list().map(\.archivePath) == [snapshot.archivePath])
        #expect(try store.snapshot(snapshot.archivePath).name == snapshot.name)
        #expect(try files.list(store.folder).count == 2 && store.unfinished().isEmpty)
        try store.verify(snapshot)
        #expect(try restored(snapshot) == source.bytes)
    }

    @Test("Incompressible bytes fit too", arguments: SnapshotForm.known, [1, 9])
    func random(form: SnapshotForm, level: Int) throws {
        var source = MemorySource(count: 700_000)
        var random = SplitMix(seed: 3)
        for place in source.bytes.indices { source.bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
        let snapshot = try create(source, form, level: level, frameBytes: 512 << 10)
        #expect(try restored(snapshot) == source.bytes)
    }

    @Test("An archive is the same for any number of threads", arguments: SnapshotForm.known)
    func sameBytes(form: SnapshotForm) throws {
        let source = MemorySource(count: 1_100_000)
        let archives = try [1, 2, 7].map { processors in
            try files.read(
                create(source, form, frameBytes: 16 << 10, unitBytes: 256 << 10, processors: processors).archivePath)
        }
        #expect(archives[0] == archives[1] && archives[0] == archives[2])
        #expect(try restored(#require(store.list().first)) == source.bytes)
    }

    @Test("A unit of many frames becomes durable as a whole", arguments: SnapshotForm.known)
    func units(form: SnapshotForm) throws {
        var source = MemorySource(count: 300_000)
        source.failsFrom = 200_000
        #expect(throws: FerryError.self) { try create(source, form, frameBytes: 16 << 10, unitBytes: 128 << 10) }
        #expect(try store.unfinished().first?.contentOffset == 131_072)
        source.failsFrom = .max
        let snapshot = try create(source, form, frameBytes: 16 << 10, unitBytes: 128 << 10)
        #expect(try restored(snapshot) == source.bytes)
    }

    @Test("The manifest names the form", arguments: SnapshotForm.known)
    func manifest(form: SnapshotForm) throws {
        let snapshot = try create(MemorySource(count: 10_000), form)
        let object = try JSONSerialization.jsonObject(with: Data(files.read(snapshot.manifestPath))) as? [String: Any]
        let archive = try #require(object?["archive"] as? [String: Any])
        #expect(archive["form"] as? String == form.rawValue)
        #expect(archive["file"] as? String == FileLayer.name(of: snapshot.archivePath))
    }

    @Test(
        "gzip -d decodes an archive of many members",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/gzip"), "gzip is not installed"))
    func stockTool() throws {
        let source = MemorySource(count: 1_000_003)
        let snapshot = try create(source, .gzip)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-d", "-k", snapshot.archivePath]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try files.read(store.folder + "/" + snapshot.name + ".sqlite") == source.bytes)
    }

    @Test("A flipped bit anywhere in a gzip archive is found and not restored")
    func flippedBits() throws {
        let snapshot = try create(MemorySource(count: 40_000), .gzip, frameBytes: 16 << 10)
        let whole = try files.read(snapshot.archivePath)
        for place in Array(stride(from: 0, to: whole.count, by: max(1, whole.count / 40))) + [whole.count - 1] {
            var damaged = whole
            damaged[place] ^= 1 << UInt8(place % 8)
            try files.replace(snapshot.archivePath, with: damaged)
            #expect { try store.verify(snapshot) } throws: { ($0 as? FerryError)?.code == .snapshotDamaged }
            #expect { _ = try restored(snapshot) } throws: { ($0 as? FerryError)?.code == .badSnapshot }
            #expect(try !files.exists(folder.file("back.sqlite")) && !files.exists(folder.file("back.sqlite.partial")))
        }
    }

    @Test("An interrupted snapshot continues behind its last whole unit", arguments: SnapshotForm.known)
    func resumes(form: SnapshotForm) throws {
        var source = MemorySource(count: 300_000)
        source.failsFrom = 200_000
        #expect(throws: FerryError.self) { try create(source, form) }
        let done = try #require(try store.unfinished().first).contentOffset
        #expect(done == 196_608)
        source.failsFrom = .max
        // The finished part is not read again.
        for place in 0..<Int(done) { source.bytes[place] ^= 0xFF }
        let snapshot = try create(source, form)
        var bytes = source.bytes
        for place in 0..<Int(done) { bytes[place] ^= 0xFF }
        try store.verify(snapshot)
        #expect(try restored(snapshot) == bytes)
        #expect(try store.unfinished().isEmpty && files.list(store.folder).count == 2)
    }

    @Test("An interrupted snapshot of another form stays unchanged", arguments: SnapshotForm.known)
    func otherForm(form: SnapshotForm) throws {
        guard let other = SnapshotForm.known.first(where: { $0 != form }) else { return }
        var source = MemorySource(count: 300_000)
        source.failsFrom = 200_000
        #expect(throws: FerryError.self) { try create(source, form) }
        source.failsFrom = .max
        let snapshot = try create(source, other)
        #expect(try restored(snapshot) == source.bytes)
        #expect(try store.unfinished().count == 1)
        try store.verify(snapshot)
    }

    @Test("Both forms share a folder, in the order of their creation, and are pruned by one rule")
    func together() throws {
        var made: [Snapshot] = []
        for turn in 0..<6 {
            let form = SnapshotForm.known[turn % SnapshotForm.known.count]
            made.append(try create(MemorySource(count: 1_000 + turn), form, created: Int64(turn) * 86_400))
        }
        #expect(try store.list().map(\.name) == made.reversed().map(\.name))
        let pruned = try store.prune(Retention(newest: 2, minimumAge: 0), now: 9 * 86_400)
        #expect(Set(pruned.removed.map(\.name)) == Set(made[..<4].map(\.name)))
        #expect(try files.list(store.folder).count == 4)
        for snapshot in pruned.kept { try store.verify(snapshot) }
    }

    @Test("A level that the form does not have is refused")
    func levels() {
        #expect {
            _ = try create(MemorySource(count: 1), .gzip, level: 10)
        } throws: { ($0 as? FerryError)?.code == .usage }
        #expect {
            try SnapshotMemory.check(level: 10, form: .gzip, within: MemoryBudget(limit: 64 << 20))
        } throws: { ($0 as? FerryError)?.remedy == "Use one from 1 to 9." }
        #expect(throws: Never.self) {
            try SnapshotMemory.check(level: 9, form: .gzip, within: MemoryBudget(limit: MemoryBudget.least))
        }
    }

    /// Changes the text of a snapshot's manifest, with a correct hash.
    private func rewrite(_ snapshot: Snapshot, _ change: (String) -> String) throws {
        let text = change(String(decoding: try files.read(snapshot.manifestPath), as: UTF8.self))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(2)
        let body = lines.joined(separator: "\n") + "\n"
        let hash = SHA256.hash(Array(body.utf8)).hexadecimal
        try files.replace(snapshot.manifestPath, with: Array((body + "\"sha256\":\"\(hash)\"}\n").utf8))
    }

    @Test("A snapshot of an unknown form is listed with its problem, and refused")
    func unknownForm() throws {
        let snapshot = try create(MemorySource(count: 1_000), .gzip)
        try rewrite(snapshot) { $0.replacingOccurrences(of: "\"form\":\"gzip\"", with: "\"form\":\"later\"") }
        let listed = try #require(try store.list().first)
        #expect(listed.problem?.code == .unsupported && listed.archivePath == snapshot.archivePath)
    }

    #if Zstandard
        @Test("A manifest without a form means Zstandard, as in earlier versions")
        func earlier() throws {
            let source = MemorySource(count: 100_000)
            let snapshot = try create(source, .zstandard)
            try rewrite(snapshot) { $0.replacingOccurrences(of: "\"form\":\"zstd\",", with: "") }
            let read = try store.snapshot(snapshot.name)
            #expect(read.problem == nil && read.form == .zstandard)
            try store.verify(read)
            #expect(try restored(read) == source.bytes)
        }
    #else
        @Test("A build without Zstandard lists its snapshots, and refuses to read them")
        func withoutZstandard() throws {
            let made = try create(MemorySource(count: 1_000), .gzip)
            try rewrite(made) {
                $0.replacingOccurrences(of: "\"form\":\"gzip\"", with: "\"form\":\"zstd\"")
                    .replacingOccurrences(of: ".sqlite.gz", with: ".sqlite.zst")
            }
            try files.rename(made.archivePath, to: store.folder + "/" + made.name + SnapshotForm.zstandard.ending)
            let snapshot = try #require(try store.list().first)
            #expect(snapshot.form == .zstandard && snapshot.problem == nil)
            let refused: (any Error) -> Bool = {
                ($0 as? FerryError)?.code == .unsupported && ($0 as? FerryError)?.remedy.isEmpty == false
            }
            #expect { try store.verify(snapshot) } throws: { refused($0) }
            #expect { _ = try restored(snapshot) } throws: { refused($0) }
            #expect { _ = try create(MemorySource(count: 1), .zstandard) } throws: { refused($0) }
        }
    #endif
}
