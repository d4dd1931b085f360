import FerryBase
import TestSupport
import Testing

@Suite("Copies of files")
struct FileCopyTests {
    enum Fault: CaseIterable {
        /// The operation and all after it fail.
        case failure
        /// As `failure`, and unsynced changes are lost, all of them or any part.
        case powerCut, tornPowerCut
    }

    private let files = FileLayer()
    private static let content = [UInt8]((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    private static let other = [UInt8](repeating: 7, count: 1_000)

    /// Makes a folder with a file, and an old copy if the test replaces one.
    private func stage(isReplacing: Bool) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try files.createDirectory(folder.file("there"))
        try files.replace(folder.file("source"), with: Self.content)
        if isReplacing { try files.replace(folder.file("there/copy"), with: Self.other) }
        return folder
    }

    @Test(
        "After any failure a copy has whole content, and the next call leaves no other file",
        arguments: [(true, false), (false, false), (true, true), (false, true)], Fault.allCases)
    func survivesFaults(_ form: (hasLinks: Bool, isReplacing: Bool), _ fault: Fault) throws {
        func copy(_ folder: TemporaryFolder, _ plan: FaultPlan) throws {
            let files = FileLayer(faults: plan)
            try files.copy(
                folder.file("source"), to: folder.file("there/copy"), allowsLink: true, isReplacing: form.isReplacing)
            try files.syncFolder(folder.file("there"))
        }
        let count = FaultPlan(hasLinks: form.hasLinks)
        try copy(stage(isReplacing: form.isReplacing), count)
        #expect(count.count >= 4)
        for operation in 1...count.count {
            let folder = try stage(isReplacing: form.isReplacing)
            let disk = try SimulatedDisk(folder)
            #expect(throws: FerryError.self) {
                try copy(folder, FaultPlan(trigger: operation, witness: disk.witness, hasLinks: form.hasLinks))
            }
            switch fault {
            case .failure: break
            case .powerCut: try disk.cutPower(.everything)
            case .tornPowerCut: try disk.cutPower(.some(seed: UInt64(operation)))
            }
            let path = folder.file("there/copy")
            let found = try files.exists(path) ? files.read(path) : nil
            #expect(
                found == Self.content || found == (form.isReplacing ? Self.other : nil), "\(fault) at \(operation)")
            if found != Self.content {
                try files.copy(folder.file("source"), to: path, allowsLink: true, isReplacing: form.isReplacing)
            }
            #expect(try files.read(path) == Self.content)
            try files.removeUnfinishedCopies(in: folder.file("there"))
            #expect(try files.list(folder.file("there")).map(\.name) == ["copy"], "\(fault) at \(operation)")
        }
    }

    @Test("An existing file is replaced by a copy only on request")
    func replaces() throws {
        let folder = try stage(isReplacing: true)
        let (source, copy) = (folder.file("source"), folder.file("there/copy"))
        #expect { try files.copy(source, to: copy) } throws: { ($0 as? FerryError)?.systemError?.isExisting == true }
        #expect(try files.read(copy) == Self.other)
        try files.copy(source, to: copy, allowsLink: true, isReplacing: true)
        try files.copy(source, to: copy, allowsLink: true, isReplacing: true)
        #expect(try files.read(copy) == Self.content)
        #expect(try files.list(folder.file("there")).count == 1)
    }

    @Test(
        "Two files are equal, one is cut off, or they differ",
        arguments: [
            (0, nil, FileLayer.Comparison.cutOff), (699_999, nil, .cutOff), (300_000, nil, .cutOff),
            (700_000, nil, .same), (700_000, 699_999, .different), (131_072, 5, .different), (700_001, nil, .different),
        ] as [(Int, Int?, FileLayer.Comparison)])
    func compares(count: Int, changed: Int?, result: FileLayer.Comparison) throws {
        let folder = try stage(isReplacing: false)
        var bytes = Array((Self.content + [1]).prefix(count))
        if let changed { bytes[changed] ^= 16 }
        try files.replace(folder.file("other"), with: bytes)
        #expect(try files.compare(folder.file("other"), with: folder.file("source")) == result)
    }

    @Test("A lock is not taken through a symbolic link, which would empty the link's destination")
    func locksNoLink() throws {
        let folder = try stage(isReplacing: false)
        try folder.makeLink("lock", to: "source")
        #expect(throws: FerryError.self) { _ = try files.lock(folder.file("lock")) == nil }
        #expect(try files.read(folder.file("source")) == Self.content)
        #expect(try files.isSymbolicLink(folder.file("lock")) && !files.isSymbolicLink(folder.file("source")))
    }
}
