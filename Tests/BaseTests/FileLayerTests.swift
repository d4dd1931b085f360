import FerryBase
import TestSupport
import Testing

@Suite("The file layer")
struct FileLayerTests {
    let folder: TemporaryFolder
    let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    private func write(_ text: String, to path: String) throws {
        var output = try files.create(path)
        try output.write(text)
        try output.close()
    }

    private func text(_ path: String) throws -> String { String(decoding: try files.read(path), as: UTF8.self) }

    @Test("A file can be made, read, renamed, linked and removed, and its attributes read")
    func lifeOfAFile() throws {
        let path = folder.file("one")
        #expect(try !files.exists(path))
        try write("hello", to: path)
        let attributes = try files.attributes(path)
        #expect(attributes.size == 5 && attributes.isRegularFile && !attributes.isDirectory)
        try files.rename(path, to: folder.file("two"))
        try files.link(folder.file("two"), to: folder.file("three"))
        #expect(try files.attributes(folder.file("three")).inode == attributes.inode)
        #expect(try files.attributes(folder.file("three")).links == 2)
        try files.remove(folder.file("two"))
        #expect(try files.list(folder.path).map(\.name) == ["three"])
        #expect(try text(folder.file("three")) == "hello")
        #expect(try files.removeIfPresent(folder.file("three")))
        #expect(try !files.removeIfPresent(folder.file("three")))
    }

    @Test("A missing path is notFound, and an obstacle is fileFailed")
    func errors() throws {
        let path = folder.file("none")
        #expect { try files.attributes(path) } throws: { ($0 as? FerryError)?.code == .notFound }
        #expect { try files.read(path) } throws: { ($0 as? FerryError)?.code == .notFound }
        #expect { try files.remove(path) } throws: { ($0 as? FerryError)?.code == .notFound }
        try write("", to: path)
        #expect {
            let output = try files.create(path)
            _ = consume output
        } throws: {
            let error = $0 as? FerryError
            return error?.code == .fileFailed && error?.systemError?.isExisting == true
                && error?.message.contains(path) == true && error?.remedy.isEmpty == false
        }
        #expect { try files.read(path + "/below") } throws: { ($0 as? FerryError)?.code == .notFound }
    }

    /// Simulates FUSE: a file that is removed while it is open gets a hidden name.
    private func hidingFiles(_ count: Int) -> FileLayer {
        let left = Locked(count)
        return FileLayer(
            faults: FaultPlan(witness: { change in
                guard case .removes(let path) = change, let number = Self.lessOne(left),
                    (try? FileLayer().attributes(path).isRegularFile) == true
                else { return }
                let hidden = FileLayer.parent(of: path) + "/.hidden\(number)"
                try? FileLayer().link(path, to: hidden)
            }))
    }

    private static func lessOne(_ count: Locked<Int>) -> Int? {
        count.withLock { count in
            count -= 1
            return count >= 0 ? count : nil
        }
    }

    @Test("A tree with files under hidden names is removed once these stay away, else it is an error")
    func hiddenNames() throws {
        for (count, isRemoved) in [(3, true), (10_000, false)] {
            let top = folder.file("tree\(count)")
            try files.createDirectory(top)
            try write("", to: top + "/open")
            let hiding = hidingFiles(count)
            if isRemoved {
                try hiding.removeTree(top)
            } else {
                #expect {
                    try hiding.removeTree(top)
                } throws: { ($0 as? FerryError)?.code == .fileFailed && ($0 as? FerryError)?.remedy.isEmpty == false }
            }
            #expect(try files.exists(top) != isRemoved)
        }
    }

    @Test("A tree with more names than one read returns is removed")
    func manyNames() throws {
        let top = folder.file("many")
        try files.createDirectory(top + "/below")
        for number in 0..<1_100 { try files.createDirectory(top + "/\(number)") }
        try files.removeTree(top)
        #expect(try !files.exists(top))
    }

    @Test("A tree of folders is made and removed, without following symbolic links")
    func trees() throws {
        let top = folder.file("a")
        try files.createDirectory(top + "/b/c")
        try files.createDirectory(top + "/b/c")
        try write("kept", to: folder.file("kept"))
        for number in 0..<1100 { try write("", to: "\(top)/b/c/\(number)") }
        try files.link(folder.file("kept"), to: top + "/b/second")
        #expect(try files.list(top + "/b/c").count == 1100)
        try files.removeTree(top)
        #expect(try !files.exists(top))
        #expect(try text(folder.file("kept")) == "kept")
        try files.removeTree(top)
    }

    @Test("Replacing leaves the old content or the new one after any failure", arguments: 1...8)
    func replacing(trigger: Int) throws {
        let path = folder.file("state.json")
        try files.replace(path, with: Array("old".utf8))
        let faults = FaultPlan(trigger: trigger, keepsNames: true)
        do {
            try FileLayer(faults: faults).replace(path, with: Array("new".utf8))
            #expect(try text(path) == "new")
            #expect(faults.count < trigger)
        } catch let error as FerryError {
            #expect(error.code == .fileFailed)
            #expect(["old", "new"].contains(try text(path)))
        }
        // The rest of a failed attempt does not block the next one.
        try files.replace(path, with: Array("newest".utf8))
        #expect(try text(path) == "newest")
        #expect(try files.list(folder.path).count == 1)
    }

    @Test("Every operation is counted and traced")
    func counting() throws {
        let faults = FaultPlan(keepsNames: true)
        let collected = Collected()
        let files = FileLayer(faults: faults, trace: { collected.add($0.text) })
        try files.replace(folder.file("x"), with: [1])
        let verbs = faults.names.map { $0.split(separator: " ")[0] }
        #expect(verbs == ["remove", "create", "write", "sync", "close", "rename", "sync"])
        // Removing a missing file failed, and the trace leaves out failures.
        #expect(collected.texts.count == 6)
    }

    @Test("An output file is appended to, truncated and continued")
    func appending() throws {
        let path = folder.file("log")
        try write("one two three", to: path)
        var output = try files.append(to: path)
        #expect(output.offset == 13)
        try output.truncate(to: 4)
        try output.write("2")
        #expect(output.offset == 5)
        try output.sync()
        try output.close()
        #expect(try text(path) == "one 2")
    }

    @Test("An input file is read at any offset, and a read is short only at the end")
    func reading() throws {
        let path = folder.file("data")
        try write("0123456789", to: path)
        let input = try files.open(path)
        #expect(try input.size() == 10)
        #expect(try input.read(count: 3, at: 4) == Array("456".utf8))
        #expect(try input.read(count: 5, at: 8) == Array("89".utf8))
        #expect(try input.read(count: 5, at: 20) == [])
        #expect { try files.read(path, limit: 9) } throws: { ($0 as? FerryError)?.code == .fileFailed }
    }

    @Test("A copy has the content and permissions, by either way to copy", arguments: [false, true])
    func copying(allowsLink: Bool) throws {
        let source = folder.file("source")
        let content = [UInt8]((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try files.replace(source, with: content)
        try files.setMode(0o640, of: source)
        try files.copy(source, to: folder.file("copy"), allowsLink: allowsLink)
        #expect(try files.read(folder.file("copy")) == content)
        #expect(try files.attributes(folder.file("copy")).mode == 0o640)
        let isSame = try files.attributes(folder.file("copy")).inode == files.attributes(source).inode
        #expect(!isSame || allowsLink)
        #expect { try files.copy(source, to: folder.file("copy")) } throws: { ($0 as? FerryError)?.code == .fileFailed }
    }

    @Test("Permissions and extended attributes are copied from one file to another")
    func metadata() throws {
        let (old, new) = (folder.file("old"), folder.file("new"))
        try write("", to: old)
        try write("", to: new)
        try files.setMode(0o604, of: old)
        var carries = true
        do {
            try files.setExtendedAttribute("user.ferry", of: old, to: [1, 2, 3])
        } catch {
            // The volume of the temporary folder may not support extended attributes.
            carries = false
        }
        try files.copyMetadata(from: old, to: new)
        #expect(try files.attributes(new).mode == 0o604)
        #expect(try files.extendedAttribute("user.ferry", of: new) == (carries ? [1, 2, 3] : nil))
    }

    @Test("A lock is held once, names its process, and is free again after its last reference")
    func locking() throws {
        let path = folder.file("lock")
        #expect(try files.lockHolder(path) == nil)
        do {
            let first = try files.lock(path)
            let isHeld = first != nil
            #expect(isHeld)
            let isHeldTwice = try files.lock(path) != nil
            #expect(!isHeldTwice)
            #expect(try files.lockHolder(path) != nil)
            _ = consume first
        }
        let isHeldAgain = try files.lock(path) != nil
        #expect(isHeldAgain)
    }

    @Test("A volume has a number and free space")
    func volumes() throws {
        try write("", to: folder.file("x"))
        #expect(try files.freeBytes(at: folder.path) > 0)
        #expect(try files.volume(of: folder.path) == files.volume(of: folder.file("x")))
        #expect(try files.realPath(folder.path + "/./x") == folder.file("x"))
        #expect { try files.realPath(folder.file("y")) } throws: { ($0 as? FerryError)?.code == .notFound }
    }

    @Test(
        "Paths are split as by dirname and basename",
        arguments: [
            ("/a/b", "/a", "b"), ("a", ".", "a"), ("/a", "/", "a"), ("a/b/", "a", "b"), ("/", "/", ""),
        ])
    func paths(path: String, parent: String, name: String) {
        #expect(FileLayer.parent(of: path) == parent)
        #expect(FileLayer.name(of: path) == name)
    }

    @Test(
        "A name ends at its last dot, and a leading dot begins no extension",
        arguments: [
            ("/a.b/c.XCDataModelD/", "c", "xcdatamodeld"), ("Model 1.2.mom", "Model 1.2", "mom"), ("a.b/c", "c", ""),
            (".json", ".json", ""), ("c.", "c", ""),
        ])
    func partsOfNames(path: String, stem: String, ending: String) {
        let parts = FileLayer.parts(of: path)
        #expect(parts.stem == stem && parts.extension == ending)
    }
}

/// Texts that a hook has collected.
private final class Collected: Sendable {
    private let storage = Locked<[String]>([])

    func add(_ text: String) { storage.withLock { $0.append(text) } }
    var texts: [String] { storage.withLock { $0 } }
}
