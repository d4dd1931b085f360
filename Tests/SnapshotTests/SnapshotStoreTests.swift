import FerryBase
import FerrySQLite
import FerrySnapshot
import Foundation
import TestSupport
import Testing

/// Content in memory, which fails at a given offset.
struct MemorySource: PageSource {
    struct Failure: Error {}

    var bytes: [UInt8]
    var failsFrom: Int64 = .max

    /// Makes bytes that compress somewhat, as a database does.
    init(count: Int, seed: UInt64 = 1) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        bytes = (0..<count).map { index in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return index % 64 < 40 ? UInt8(index / 64 % 7) : UInt8(truncatingIfNeeded: state)
        }
    }

    var byteCount: Int64 { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws {
        if offset + Int64(buffer.count) > failsFrom { throw Failure() }
        buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
    }
}

@Suite("Snapshots")
struct SnapshotStoreTests {
    let folder: TemporaryFolder
    let files = FileLayer()
    let store: SnapshotStore

    init() throws {
        folder = try TemporaryFolder()
        store = SnapshotStore(folder: folder.file("App.sqlite.snapshots"), files: files)
    }

    private func description(
        created: Int64 = 1_795_169_700, version: String? = "Model2", externalFolder: String? = nil
    ) -> SnapshotDescription {
        SnapshotDescription(
            created: created, store: "App.sqlite", version: version, versionHashes: ["Book": [1, 2, 255]],
            rows: ["Book": 4], tool: "ferry test", externalFolder: externalFolder)
    }

    private func options(frameBytes: Int64 = 64 << 10, fingerprint: String? = "a") -> SnapshotOptions {
        var options = SnapshotOptions(fingerprint: fingerprint)
        (options.frameBytes, options.unitBytes) = (frameBytes, frameBytes)
        return options
    }

    @Test("A snapshot has its store's content, verifies and restores", arguments: [0, 1, 65_536, 300_001, 1_500_000])
    func roundTrip(count: Int) throws {
        let source = MemorySource(count: count)
        let snapshot = try store.create(from: source, description: description(), options: options())
        #expect(snapshot.name == "20261120T101500Z-Model2")
        #expect(snapshot.problem == nil && snapshot.bytes == Int64(count))
        #expect(snapshot.version == "Model2" && !snapshot.hasExternalData)
        let manifest = try #require(
            try JSONSerialization.jsonObject(with: Data(files.read(snapshot.manifestPath))) as? [String: Any])
        #expect(manifest["versionHashes"] as? [String: String] == ["Book": Data([1, 2, 255]).base64EncodedString()])
        #expect(manifest["rows"] as? [String: Int] == ["Book": 4] && manifest["store"] as? String == "App.sqlite")
        #expect(try store.list().map(\.name) == [snapshot.name])
        #expect(try files.list(store.folder).count == 2)
        #expect(try store.unfinished().isEmpty)
        try store.verify(snapshot)
        try store.restore(snapshot, to: folder.file("back.sqlite"), externalFolder: nil)
        #expect(try files.read(folder.file("back.sqlite"), limit: 1 << 30) == source.bytes)
        #expect {
            try store.restore(snapshot, to: folder.file("back.sqlite"), externalFolder: nil)
        } throws: { ($0 as? FerryError)?.code == .outputExists }
    }

    @Test("The manifest is JSON that ends with the SHA-256 of its own preceding bytes")
    func manifest() throws {
        let snapshot = try store.create(from: MemorySource(count: 100_000), description: description())
        let bytes = try files.read(snapshot.manifestPath)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(object["created"] as? String == "2026-11-20T10:15:00Z")
        #expect(object["versionHashes"] as? [String: String] == ["Book": "AQL/"])
        let archive = try #require(object["archive"] as? [String: Any])
        let archiveBytes = try files.read(snapshot.archivePath)
        #expect(archive["sha256"] as? String == SHA256.hash(archiveBytes).hexadecimal)
        #expect(archive["bytes"] as? Int == archiveBytes.count)
        let lastLine = try #require(bytes.dropLast().lastIndex(of: UInt8(ascii: "\n"))) + 1
        #expect(object["sha256"] as? String == SHA256.hash(Array(bytes[..<lastLine])).hexadecimal)
    }

    @Test(
        "Stock zstd decodes the archive",
        .enabled(
            if: SnapshotForm.preferred == .zstandard && FileManager.default.isExecutableFile(atPath: "/usr/bin/zstd"),
            "zstd is not installed, or not built in"))
    func stockTool() throws {
        let source = MemorySource(count: 1_000_003)
        let snapshot = try store.create(from: source, description: description(), options: options())
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/zstd")
        process.arguments = ["-q", "-d", snapshot.archivePath, "-o", folder.file("stock.sqlite")]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try files.read(folder.file("stock.sqlite")) == source.bytes)
    }

    @Test(
        "A store with content in its -wal is restored as a checkpoint of a copy leaves it",
        .enabled(if: Fixtures.areExpected, Comment(rawValue: Fixtures.skipReason)),
        arguments: ["wibosco-posts/CoreDataMigration_Example_WAL.sqlite", "objcio-bookmigration/Model1.sqlite"])
    func realStore(name: String) throws {
        let stores =
            name.hasPrefix("objcio") ? Fixtures.stores.filter { $0.hasPrefix("objcio-bookmigration/") } : [name]
        for name in stores {
            let inner = try TemporaryFolder()
            let path = try Fixtures.copyStore(name, into: inner, as: "live.sqlite")
            let copy = try Fixtures.copyStore(name, into: inner, as: "copy.sqlite")
            if try files.attributesIfPresent(copy + "-wal")?.size ?? 0 > 0 {
                let connection = try Connection(path: copy, mode: .readWrite)
                try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            }
            let snapshot = try {
                let connection = try Connection(path: path, mode: .readWrite)
                connection.keepWriteAheadLogOnClose()
                try connection.execute("BEGIN IMMEDIATE")
                return try store.create(from: PageReader(connection), description: description())
            }()
            try store.restore(snapshot, to: inner.file("back.sqlite"), externalFolder: nil)
            #expect(try files.read(inner.file("back.sqlite")) == files.read(copy))
        }
    }

    @Test("A flipped bit anywhere in archive or manifest is found and not restored")
    func flippedBits() throws {
        let snapshot = try store.create(
            from: MemorySource(count: 40_000), description: description(), options: options(frameBytes: 16 << 10))
        for path in [snapshot.archivePath, snapshot.manifestPath] {
            let whole = try files.read(path)
            // The flipped bits spread over the file, its first and last bytes included.
            for place in Array(stride(from: 0, to: whole.count, by: max(1, whole.count / 40))) + [whole.count - 1] {
                var damaged = whole
                damaged[place] ^= 1 << UInt8(place % 8)
                try files.replace(path, with: damaged)
                #expect(throws: FerryError.self) { try store.verify(snapshot) }
                #expect {
                    try store.verify(try store.snapshot(snapshot.name))
                } throws: { ($0 as? FerryError)?.code == .snapshotDamaged }
                #expect {
                    try store.restore(snapshot, to: folder.file("back"), externalFolder: nil)
                } throws: { ($0 as? FerryError)?.code == .badSnapshot }
                #expect(try !files.exists(folder.file("back")) && !files.exists(folder.file("back.partial")))
            }
            try files.replace(path, with: Array(whole.dropLast()))
            if path == snapshot.archivePath {
                #expect(try store.list().first?.problem?.code == .snapshotDamaged)
                #expect(throws: FerryError.self) { try store.verify(snapshot) }
            }
            try files.replace(path, with: whole)
        }
        try store.verify(snapshot)
        try files.remove(snapshot.archivePath)
        #expect { try store.verify(snapshot) } throws: { ($0 as? FerryError)?.code == .snapshotDamaged }
        #expect(try store.list().first?.problem != nil)
    }

    private func makeExternalData() throws -> String {
        let support = folder.file(".App_SUPPORT")
        try files.createDirectory(support + "/_EXTERNAL_DATA")
        for number in 1...3 {
            try files.replace(
                support + "/_EXTERNAL_DATA/0000-\(number) ü\"", with: MemorySource(count: 50_000 * number).bytes)
        }
        return support
    }

    @Test("External data is kept, verified and restored")
    func externalData() throws {
        let support = try makeExternalData()
        let snapshot = try store.create(
            from: MemorySource(count: 1000), description: description(externalFolder: support), options: options())
        #expect(snapshot.hasExternalData)
        try store.verify(snapshot)
        // The snapshot keeps the files that the app removes later.
        let original = try files.read(support + "/_EXTERNAL_DATA/0000-2 ü\"")
        try files.removeTree(support)
        let back = folder.file(".back_SUPPORT")
        try store.restore(snapshot, to: folder.file("back.sqlite"), externalFolder: back)
        #expect(try files.list(back + "/_EXTERNAL_DATA").count == 3)
        #expect(try files.read(back + "/_EXTERNAL_DATA/0000-2 ü\"") == original)

        let kept = snapshot.externalPath + "/_EXTERNAL_DATA/0000-1 ü\""
        var damaged = try files.read(kept)
        damaged[100] ^= 1
        try files.replace(kept, with: damaged)
        #expect { try store.verify(snapshot) } throws: { ($0 as? FerryError)?.code == .snapshotDamaged }
        try files.remove(kept)
        #expect { try store.verify(snapshot) } throws: { ($0 as? FerryError)?.code == .snapshotDamaged }
        #expect {
            try store.restore(snapshot, to: folder.file("other.sqlite"), externalFolder: folder.file(".other_SUPPORT"))
        } throws: { ($0 as? FerryError)?.code == .badSnapshot }
    }

    @Test(
        "A failure at any operation leaves no apparently finished snapshot, and the next call makes the same archive",
        arguments: [true, false])
    func resumes(hasLinks: Bool) throws {
        let support = try makeExternalData()
        let source = MemorySource(count: 150_000)
        let given = description(externalFolder: support)
        let undisturbed = try store.create(from: source, description: given, options: options())
        let expected = try files.read(undisturbed.archivePath)

        var trigger = 1
        var resumed = 0
        while true {
            let inner = folder.file("try-\(trigger)")
            let faults = FaultPlan(trigger: trigger, hasLinks: hasLinks)
            var isDone = false
            do {
                _ = try SnapshotStore(folder: inner, files: FileLayer(faults: faults)).create(
                    from: source, description: given, options: options())
                isDone = true
            } catch let error as FerryError {
                #expect(error.code == .snapshotFailed)
            }
            let store = SnapshotStore(folder: inner, files: files)
            // Each listed snapshot is finished.
            for snapshot in try store.list() { try store.verify(snapshot) }
            if try store.unfinished().contains(where: { $0.contentOffset > 0 }) { resumed += 1 }

            let snapshot = try store.create(from: source, description: given, options: options())
            try store.verify(snapshot)
            #expect(try files.read(snapshot.archivePath) == expected)
            #expect(try store.unfinished().isEmpty)
            let external = snapshot.externalPath + "/_EXTERNAL_DATA"
            #expect(
                try files.list(external).map(\.name).sorted()
                    == files.list(support + "/_EXTERNAL_DATA").map(\.name).sorted(), "failed at operation \(trigger)")
            if isDone { break }
            #expect(try store.list().count == 1, "failed at operation \(trigger)")
            // Archive, manifest and external data, and no leftovers; these would be two folders with other names.
            #expect(try files.list(inner).count == 3, "failed at operation \(trigger)")
            // The two modes differ only in links or copies of the external files.
            trigger += hasLinks ? 1 : 4
        }
        #expect(trigger > 50 && resumed > (hasLinks ? 10 : 2))
    }

    @Test("A snapshot is continued only for the same state of the store")
    func otherState() throws {
        var source = MemorySource(count: 300_000)
        source.failsFrom = 200_000
        #expect {
            try store.create(from: source, description: description(), options: options(fingerprint: "a"))
        } throws: { error in
            (error as? FerryError)?.code == .snapshotFailed && (error as? FerryError)?.cause is MemorySource.Failure
        }
        let unfinished = try #require(try store.unfinished().first)
        #expect(unfinished.contentOffset == 3 * 65536 && unfinished.fingerprint == "a")
        #expect(try store.list().isEmpty)

        let other = MemorySource(count: 300_000, seed: 2)
        let snapshot = try store.create(from: other, description: description(), options: options(fingerprint: "b"))
        #expect(snapshot.name == "20261120T101500Z-Model2-2")
        try store.restore(snapshot, to: folder.file("back"), externalFolder: nil)
        #expect(try files.read(folder.file("back")) == other.bytes)
        #expect(try store.unfinished().count == 1)
    }

    @Test("A partial archive with later damage is restarted")
    func damagedPartial() throws {
        var source = MemorySource(count: 300_000)
        source.failsFrom = 200_000
        #expect(throws: FerryError.self) {
            try store.create(from: source, description: description(), options: options())
        }
        let path = store.folder + "/20261120T101500Z-Model2\(SnapshotForm.preferred.ending).partial"
        var bytes = try files.read(path)
        bytes[1000] ^= 1
        try files.replace(path, with: bytes)
        source.failsFrom = .max
        let snapshot = try store.create(from: source, description: description(), options: options())
        try store.verify(snapshot)
        try store.restore(snapshot, to: folder.file("back"), externalFolder: nil)
        #expect(try files.read(folder.file("back")) == source.bytes)
    }

    @Test("A stop request ends between units, and the next call continues")
    func stopping() throws {
        let source = MemorySource(count: 300_000)
        var options = options()
        let stop = StopRequest()
        let seen = Locked<[Int64]>([])
        options.stop = stop
        options.progress = { update in
            seen.withLock { $0.append(update.done) }
            if update.done >= 131_072 { stop.request(FerryError(.interrupted, "Stopped.")) }
        }
        let stopping = options
        #expect {
            try store.create(from: source, description: description(), options: stopping)
        } throws: { ($0 as? FerryError)?.code == .interrupted }
        #expect(try store.unfinished().first?.contentOffset == 131_072)
        options.stop = StopRequest()
        try store.verify(try store.create(from: source, description: description(), options: options))
        #expect(seen.withLock { $0 } == [65_536, 131_072, 196_608, 262_144, 300_000])
    }

    @Test("Names are unique and contain the version in the form of a file name")
    func names() throws {
        let source = MemorySource(count: 10)
        let given: [(String?, String)] = [
            ("A/B: v1", "A_B_ v1"), (nil, "unknown"),
            (String(repeating: "é", count: 300), String(repeating: "é", count: 75)),
        ]
        for (version, name) in given {
            for ending in ["", "-2", "-3"] {
                let snapshot = try store.create(from: source, description: description(version: version))
                #expect(snapshot.name == "20261120T101500Z-" + name + ending)
                #expect(try store.snapshot(snapshot.archivePath).name == snapshot.name)
                #expect(try store.snapshot(snapshot.manifestPath).name == snapshot.name)
            }
        }
        #expect { try store.snapshot("none") } throws: { ($0 as? FerryError)?.code == .noSnapshot }
        for (seconds, stamp) in [
            (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (4_107_542_399, "21000228T235959Z"),
            (-1, "19691231T235959Z"),
        ] as [(Int64, String)] {
            #expect(
                try store.create(from: source, description: description(created: seconds)).name == stamp + "-Model2")
        }
    }

    @Test("Pruning keeps the newest, the recent, and always one that verifies")
    func pruning() throws {
        for day in 1...5 as ClosedRange<Int64> {
            _ = try store.create(from: MemorySource(count: 1000), description: description(created: day * 86400))
        }
        let now: Int64 = 6 * 86400
        #expect(try store.prune(Retention(newest: 4, minimumAge: 10 * 86400), now: now).removed.isEmpty)
        #expect(try store.prune(Retention(newest: 4, minimumAge: 0), now: now).removed.map(\.created) == [86400])
        let recent = Retention(newest: 1, minimumAge: 3 * 86400)
        #expect(
            try store.prune(recent, now: now, isTrial: true).removed.map(\.created) == [3 * 86400, 2 * 86400])
        #expect(try store.prune(recent, now: now).removed.map(\.created) == [3 * 86400, 2 * 86400])
        // The two newest snapshots are left; both are equally old, and the damage of the newest does not change its
        // size.
        let newest = try #require(try store.list().first)
        var bytes = try files.read(newest.archivePath)
        bytes[bytes.count / 2] ^= 4
        try files.replace(newest.archivePath, with: bytes)
        let pruned = try store.prune(Retention(newest: 1, minimumAge: 0), now: now)
        #expect(pruned.removed.isEmpty && pruned.kept.map(\.created) == [5 * 86400, 4 * 86400])
        #expect(try store.prune(Retention(newest: 0, minimumAge: 0), now: now).removed.map(\.created) == [5 * 86400])
        #expect(try store.prune(Retention(newest: 0, minimumAge: 0), now: now).removed.isEmpty)
        #expect(try files.list(store.folder).count == 2)
    }

    @Test("The last snapshot is the newest, independent of the clock, and snapshots without a number are older")
    func order() throws {
        let year: Int64 = 365 * 86400
        var made: [Snapshot] = []
        for created in [50 * year, 51 * year, 50 * year + 60] {
            made.append(try store.create(from: MemorySource(count: 1000), description: description(created: created)))
        }
        #expect(made.map(\.sequence) == [1, 2, 3])
        #expect(try store.list().map(\.created) == [50 * year + 60, 51 * year, 50 * year])
        // Manifests of earlier versions: without the number.
        for snapshot in made[..<2] { try removeSequence(of: snapshot) }
        #expect(try store.list().map(\.problem?.message) == [nil, nil, nil])
        #expect(try store.list().map(\.created) == [50 * year + 60, 51 * year, 50 * year])
        #expect(try store.list().map(\.sequence) == [3, nil, nil])
        for snapshot in try store.list() { try store.verify(snapshot) }
        let next = try store.create(from: MemorySource(count: 1000), description: description(created: 1))
        #expect(try next.sequence == 4 && store.list().first?.name == next.name)
    }

    private func removeSequence(of snapshot: Snapshot) throws {
        var lines = try String(decoding: files.read(snapshot.manifestPath), as: UTF8.self).split(separator: "\n")
        lines[0] = lines[0].replacing(#","sequence":\#(snapshot.sequence ?? 0)"#, with: "")[...]
        let head = lines.dropLast().joined(separator: "\n") + "\n"
        let text = head + #""sha256":"\#(SHA256.hash(Array(head.utf8)).hexadecimal)"}"# + "\n"
        try files.replace(snapshot.manifestPath, with: Array(text.utf8))
        #expect(try store.snapshot(snapshot.name).sequence == nil)
    }

    @Test("Pruning keeps snapshots that are protected by name, and those of unknown age")
    func pruningProtected() throws {
        var made: [Snapshot] = []
        for day in 1...4 as ClosedRange<Int64> {
            made.append(
                try store.create(from: MemorySource(count: 1000), description: description(created: day * 86400)))
        }
        let wayBack = FileLayer.name(of: made[0].archivePath)
        try files.replace(made[1].manifestPath, with: [1, 2, 3])
        let pruned = try store.prune(Retention(newest: 1, minimumAge: 0), now: 9 * 86400, protecting: [wayBack])
        #expect(pruned.removed.map(\.name) == [made[2].name])
        #expect(Set(pruned.kept.map(\.name)) == [made[0].name, made[1].name, made[3].name])
        // With a clock before all snapshots, none is old.
        #expect(try store.prune(Retention(newest: 1, minimumAge: 0), now: .min).removed.isEmpty)
    }

    @Test("An unknown level is a usage error")
    func levels() throws {
        var options = options()
        options.level = 99
        let given = options
        #expect {
            try store.create(from: MemorySource(count: 1), description: description(), options: given)
        } throws: { ($0 as? FerryError)?.code == .usage }
    }
}
