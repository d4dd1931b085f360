import FerryBase
import TestSupport
import Testing

@Suite("Copies of files")
struct FileCopyTests {
    enum Fault: CaseIterable {
        /// The operation and all after it fail.
        case failure
        /// The same, and what was not synced is lost, all of it or any part.
        case powerCut, tornPowerCut
    }

    private let files = FileLayer()
    private static let content = [UInt8]((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    private static let other = [UInt8](repeating: 7, count: 1_000)

    /// A folder with a file, and another one in the place of its copy where one is to be replaced.
    private func stage(isReplacing: Bool) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try files.createDirectory(folder.file("there"))
        try files.replace(folder.file("source"), with: Self.content)
        if isReplacing { try files.replace(folder.file("there/copy"), with: Self.other) }
        return folder
    }

    @Test(
        "Whatever fails, what stands under the name of a copy is whole, and the next call leaves nothing else",
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

    @Test("What stands at the place of a copy is replaced only where that is asked for")
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
        "Two files are the same, one is cut off, or they are different",
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

    @Test("A lock is not taken through a symbolic link, which would empty what it leads to")
    func locksNoLink() throws {
        let folder = try stage(isReplacing: false)
        try folder.makeLink("lock", to: "source")
        #expect(throws: FerryError.self) { _ = try files.lock(folder.file("lock")) == nil }
        #expect(try files.read(folder.file("source")) == Self.content)
        #expect(try files.isSymbolicLink(folder.file("lock")) && !files.isSymbolicLink(folder.file("source")))
    }
}
